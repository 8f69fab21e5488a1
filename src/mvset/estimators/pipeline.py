"""Pipelines that end in nested sets, and take rows in the units of the table."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import pipeline as sklearn_pipeline

from mvset.estimators.base import SetEstimator
from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.inference.monitor import DriftMonitor


def _forwarded(name: str) -> Callable[..., Any]:
    """Method of the last step, on rows that the steps before have transformed."""

    def method(self: Pipeline, X: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.steps[-1][1], name)(self.transform_before(X), *args, **kwargs)

    own = getattr(MinimumVolumeSet, name)
    method.__name__, method.__doc__ = name, own.__doc__
    return method


class Pipeline(sklearn_pipeline.Pipeline):
    """scikit-learn's Pipeline, with all answers of the nested sets that it ends in, on the columns of the table.

    Parameters, attributes and methods are those of :class:`sklearn.pipeline.Pipeline`. Besides, it has the methods of
    its last step: `level`, `p_value`, `detect`, `check_drift`, `drift_monitor`, `explain` and `decision_function` with
    a mass take the rows of the table; whatever takes no rows (`offset_`, `volume_`, `mass_interval`, …) is that of the
    last step. :func:`load` returns such a pipeline.

    See Also
    --------
    make_pipeline : The same from steps without names.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mvset import MinimumVolumeSet, make_pipeline
    >>> from mvset.datasets import boston
    >>> X = boston(standardize=False)
    >>> model = make_pipeline(StandardScaler(), MinimumVolumeSet(random_state=0)).fit(X)
    >>> bool(((model.level(X) <= 0.95) == (model.predict(X) == 1)).all())
    True
    """

    def transform_before(self, X: Any) -> Any:
        """Rows as the last step takes them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the table.

        Returns
        -------
        transformed : array-like
            What the steps before the last make of them.
        """
        return X if len(self.steps) == 1 else self[:-1].transform(X)

    level = _forwarded("level")
    p_value = _forwarded("p_value")
    detect = _forwarded("detect")
    check_drift = _forwarded("check_drift")
    explain = _forwarded("explain")
    decision_function = _forwarded("decision_function")

    def drift_monitor(
        self, *, false_alarm_rate: float = 0.01, random_state: int | np.random.RandomState | None = None
    ) -> DriftMonitor:
        """Watch over batches of rows of the table; see :meth:`MinimumVolumeSet.drift_monitor`."""
        monitor: DriftMonitor = self.steps[-1][1].drift_monitor(
            false_alarm_rate=false_alarm_rate, random_state=random_state
        )
        monitor.model = copy.deepcopy(self)
        return monitor

    def __getattr__(self, name: str) -> Any:
        """What takes no rows is asked of the last step."""
        steps = self.__dict__.get("steps")
        if name.startswith("__") or not steps:
            raise AttributeError(name)
        return getattr(steps[-1][1], name)


def make_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> Pipeline:
    """Pipeline from steps without names, as :func:`sklearn.pipeline.make_pipeline`.

    Parameters
    ----------
    *steps : list of estimators
        Transformers, and a MinimumVolumeSet or another estimator of nested sets at the end.
    memory : str or object with the joblib.Memory interface, default=None
        Cache of fitted transformers.
    verbose : bool, default=False
        Print the time of each step.

    Returns
    -------
    pipeline : Pipeline
        Not fitted yet.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mvset import MinimumVolumeSet, make_pipeline
    >>> list(make_pipeline(StandardScaler(), MinimumVolumeSet()).named_steps)
    ['standardscaler', 'minimumvolumeset']
    """
    named = sklearn_pipeline.make_pipeline(*steps).steps
    return Pipeline(named, memory=memory, verbose=verbose)


def as_pipeline(model: Any) -> Any:
    """A scikit-learn Pipeline that ends in nested sets as ours; anything else as it is."""
    plain = type(model) is sklearn_pipeline.Pipeline and isinstance(model.steps[-1][1], SetEstimator)
    return Pipeline(model.steps, memory=model.memory, verbose=model.verbose) if plain else model
