"""Pipelines that end in nested sets: what they answer on the columns of the table, and what they are made of."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import pipeline as sklearn_pipeline
from sklearn.utils.validation import check_is_fitted

from mvset.calibration.fitted_sets import FittedSets
from mvset.estimators.base import SetEstimator
from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.inference.monitor import DriftMonitor

Array = NDArray[np.float64]


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


@dataclass(frozen=True)
class FittedModel:
    """The parts of a fitted model: the steps before the nested sets, if any, and the estimator of the sets.

    Arrays are taken to have the columns of the fit, in that order: the parts are copies without feature names, so that
    scikit-learn does not warn about arrays where it has seen a table. Tables go to the model itself.
    """

    model: Any
    before: sklearn_pipeline.Pipeline | None
    estimator: Any
    feature_names: list[str]  # of the table; x0, x1, … if it had none
    prepared_names: list[str]  # of the columns that the nested sets see

    @classmethod
    def of(cls, model: Any) -> FittedModel:
        """Take a model apart; refuse one that does not end in nested sets."""
        estimator = _last_step(model)
        if not isinstance(estimator, SetEstimator):
            raise TypeError(
                f"A fitted MinimumVolumeSet is needed, or a Pipeline that ends in one; got {type(estimator).__name__}."
            )
        check_is_fitted(model)
        steps = model.steps[:-1] if isinstance(model, sklearn_pipeline.Pipeline) else []
        steps = [(name, step) for name, step in steps if step not in (None, "passthrough")]
        before = sklearn_pipeline.Pipeline(steps) if steps else None
        names = _feature_names(before or estimator)
        prepared_names = names if before is None else _prepared_names(before, names, estimator.n_features_in_)
        nameless = [(name, _without_names(step)) for name, step in steps]
        return cls(
            model,
            sklearn_pipeline.Pipeline(nameless) if nameless else None,
            _without_names(estimator),
            names,
            prepared_names,
        )

    @classmethod
    def of_minimum_volume_set(cls, model: Any) -> FittedModel:
        """The same, for those who need all answers of a MinimumVolumeSet."""
        estimator = _last_step(model)
        if not isinstance(estimator, MinimumVolumeSet):
            raise TypeError(
                f"A MinimumVolumeSet is needed, alone or at the end of a Pipeline; got {type(estimator).__name__}."
            )
        return cls.of(model)

    @property
    def sets(self) -> FittedSets:
        """The nested sets."""
        return self.estimator.sets_  # type: ignore[no-any-return]

    def prepared(self, X: Any) -> Any:
        """Rows as the nested sets take them."""
        if self.before is None:
            return X
        return (self.model[:-1] if hasattr(X, "columns") else self.before).transform(X)

    def scores(self, X: Any) -> Array:
        """Scores of rows of the table."""
        if hasattr(X, "columns"):
            return np.asarray(self.model.score_samples(X))
        return np.asarray(self.estimator.score_samples(self.prepared(X)))

    def restored(self, moved: Array, rows: Array) -> Array | None:
        """Points among the prepared rows as rows of the table; None if the steps cannot give `rows` themselves back.

        Some steps lose information, and some have an inverse that does nothing.
        """
        if self.before is None:
            return moved
        if self.prepared_names != self.feature_names or not hasattr(self.before, "inverse_transform"):
            return None
        try:
            returned = np.asarray(self.before.inverse_transform(self.before.transform(rows)))
        except ValueError:  # imputers cannot
            return None
        exact = returned.shape == rows.shape and np.allclose(returned, rows, rtol=1e-6, atol=1e-6 * np.abs(rows).max())
        return np.asarray(self.before.inverse_transform(moved)) if exact else None


def as_pipeline(model: Any) -> Any:
    """A scikit-learn Pipeline that ends in nested sets as ours; anything else as it is."""
    plain = type(model) is sklearn_pipeline.Pipeline and isinstance(model.steps[-1][1], SetEstimator)
    return Pipeline(model.steps, memory=model.memory, verbose=model.verbose) if plain else model


def _last_step(model: Any) -> Any:
    return model[-1] if isinstance(model, sklearn_pipeline.Pipeline) else model


def _feature_names(first: Any) -> list[str]:
    names = getattr(first, "feature_names_in_", None)
    return [f"x{i}" for i in range(first.n_features_in_)] if names is None else [str(name) for name in names]


def _prepared_names(before: sklearn_pipeline.Pipeline, names: list[str], n_columns: int) -> list[str]:
    """Names of the columns that the nested sets see; those of the table if a step names none."""
    try:
        return [str(name) for name in before.get_feature_names_out()]
    except AttributeError:  # a FunctionTransformer, say
        return names if n_columns == len(names) else [f"x{i}" for i in range(n_columns)]


def _without_names(step: Any) -> Any:
    """A shallow copy of a fitted step that knows no feature names."""
    nameless = copy.copy(step)
    vars(nameless).pop("feature_names_in_", None)
    return nameless
