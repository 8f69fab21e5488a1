"""Pipelines that end in nested sets, and take rows in the units of the table."""

from __future__ import annotations

import copy
from functools import wraps
from typing import Any

import numpy as np
from sklearn import pipeline as sklearn_pipeline
from sklearn.utils.metaestimators import available_if

from mvset.estimators.base import SetEstimator
from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.inference.monitor import DriftMonitor
from mvset.validation import reject_masked


def _forwarded(name: str) -> Any:
    """Method of the last step, on rows that the steps before have transformed; missing if the last step has none."""
    documented = getattr(MinimumVolumeSet, name)

    @available_if(lambda pipeline: hasattr(pipeline._final_estimator, name))
    @wraps(documented)
    def method(self: Pipeline, X: Any, *args: Any, **kwargs: Any) -> Any:
        reject_masked(X)
        return getattr(self._final_estimator, name)(self.transform_before(X), *args, **kwargs)

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
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mvset import MinimumVolumeSet, make_pipeline
    >>> from mvset.datasets import boston
    >>> X = np.random.default_rng(0).permutation(boston(standardize=False))  # neighbours are of one town
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

    def fit(self, X: Any, y: Any = None, **params: Any) -> Pipeline:
        """Fit all steps.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the table.
        y : Ignored
            Present for API consistency.
        **params : dict
            As for :class:`sklearn.pipeline.Pipeline`.

        Returns
        -------
        self : Pipeline
            The fitted pipeline.
        """
        reject_masked(X)  # steps would drop the mask
        super().fit(X, y, **params)
        return self

    @available_if(lambda pipeline: hasattr(pipeline._final_estimator, "drift_monitor"))
    def drift_monitor(
        self, *, false_alarm_rate: float = 0.01, random_state: int | np.random.RandomState | None = None
    ) -> DriftMonitor:
        """Watch over batches of rows of the table; see :meth:`MinimumVolumeSet.drift_monitor`."""
        monitor: DriftMonitor = self._final_estimator.drift_monitor(
            false_alarm_rate=false_alarm_rate, random_state=random_state
        )
        monitor.model = copy.deepcopy(self)
        return monitor

    def __getattr__(self, name: str) -> Any:
        """What takes no rows is asked of the last step, if that is an estimator of nested sets."""
        steps = self.__dict__.get("steps")
        last = steps[-1][1] if steps else None
        if name.startswith("_") or hasattr(type(self), name) or not isinstance(last, SetEstimator | Pipeline):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(last, name)

    def __dir__(self) -> list[str]:
        last = self.steps[-1][1] if self.steps else None
        return sorted({*super().__dir__(), *(dir(last) if isinstance(last, SetEstimator) else [])})


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
    """A scikit-learn Pipeline that ends in nested sets, however deep, as ours; anything else as it is."""
    if type(model) is not sklearn_pipeline.Pipeline:
        return model
    *before, (name, last) = model.steps
    last = as_pipeline(last)
    if not isinstance(last, SetEstimator | Pipeline):
        return model
    return Pipeline(**{**model.get_params(deep=False), "steps": [*before, (name, last)]})
