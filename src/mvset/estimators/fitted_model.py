"""A fitted model taken apart: the steps before the nested sets, and the estimator of the sets."""

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import pipeline as sklearn_pipeline
from sklearn.utils.validation import check_is_fitted

from mvset.calibration.fitted_sets import FittedSets
from mvset.estimators.base import SetEstimator
from mvset.rows.columns import TableColumns
from mvset.rows.validation import checked_rows, column_names
from mvset.svm.score import Score
from mvset.values import Array, Flags, cached_property
from mvset.wording import Message

if TYPE_CHECKING:
    import pyarrow as pa

_LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True)
class Answers:
    """The answers of a model about rows."""

    inside: Flags
    score: Array
    level: Array
    p_value: Array  # NaN if the model has no calibration rows


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
    def of(cls, model: Any, kind: type[SetEstimator] = SetEstimator) -> Self:
        """Take a model apart; refuse one that does not end in nested sets of a kind."""
        estimator = _last_step(model)
        if not isinstance(estimator, kind):
            raise TypeError(
                f"A MinimumVolumeSet is needed, alone or at the end of a Pipeline; got {type(estimator).__name__}."
            )
        check_is_fitted(model)
        steps = model.steps[:-1] if isinstance(model, sklearn_pipeline.Pipeline) else []
        steps = [(name, step) for name, step in steps if step not in (None, "passthrough")]
        before = sklearn_pipeline.Pipeline(steps) if steps else None
        names = column_names(before or estimator)
        prepared_names = names if before is None else _prepared_names(before, names, estimator.n_features_in_)
        nameless = [(name, _without_names(step)) for name, step in steps]
        return cls(
            model,
            sklearn_pipeline.Pipeline(nameless) if nameless else None,
            _without_names(estimator),
            names,
            prepared_names,
        )

    @property
    def sets(self) -> FittedSets:
        """The nested sets."""
        return self.estimator.sets_  # type: ignore[no-any-return]

    @property
    def category_values(self) -> dict[str, list[str]]:
        """The values of each category column, whose places in the list are the codes that arrays have."""
        columns = self.estimator._encoding.categories
        return {self.feature_names[j]: values for j, values in zip(columns.indices, columns.values, strict=True)}

    def rows(self, X: Any) -> Array:
        """Rows of a table as numbers: codes of categories, and NaN where the model fills missing values."""
        return np.asarray(_last_step(self.model)._rows(X)) if self.before is None else checked_rows(X)

    def values_of(self, row: Array) -> dict[str, Any]:
        """The values of a row by column: categories as text, None where a value is missing or was not seen."""
        known = self.category_values

        def value(name: str, number: float) -> Any:
            if not np.isfinite(number) or (name in known and number < 0):
                return None
            return known[name][int(number)] if name in known else number

        return {name: value(name, number) for name, number in zip(self.feature_names, row.tolist(), strict=True)}

    @cached_property
    def imputes(self) -> bool:
        """Whether missing values are filled, by the estimator or by a step before it."""
        by_estimator = self.estimator._encoding.imputation is not None
        if self.before is None:
            return by_estimator
        try:
            filled = self.before.transform(np.full((1, len(self.feature_names)), np.nan))
        except ValueError:  # a step takes no missing values
            return False
        return by_estimator or bool(np.isfinite(np.asarray(filled, dtype=np.float64)).all())

    def strata_column(self, named: str | None = None) -> str | None:
        """Return the column of the strata, if the model has any: the column that is named, or the column of the fit."""
        if named is not None:
            self.sets.checked_strata()
        column: str | None = named or getattr(self.estimator, "strata_column_", None)
        if self.sets.strata is not None and column is None:
            raise ValueError(Message("The model has an offset for each stratum: name their column with {strata}."))
        return column

    def columns(self, strata: str | None = None) -> TableColumns:
        """Return the columns that the model takes from a table; `strata` names the column of the strata."""
        return TableColumns(self.feature_names, self.category_values, self.imputes, strata)

    def prepared(self, X: Any) -> Any:
        """Rows as the nested sets take them."""
        if self.before is None:
            return X
        if hasattr(X, "columns"):
            return self.model[:-1].transform(X)
        with np.errstate(over="ignore"):  # a step may take a finite row beyond float64: it stays finite, far outside
            return np.clip(np.asarray(self.before.transform(X), dtype=np.float64), -_LARGEST, _LARGEST)

    def scores(self, X: Any) -> Array:
        """Scores of rows of the table."""
        if hasattr(X, "columns"):
            return np.asarray(self.model.score_samples(X))
        return np.asarray(self.estimator.score_samples(self.prepared(X))) if len(X) else np.empty(0)

    def answers(self, scores: Array, strata: Any = None, mass: float | None = None) -> Answers:
        """Return all answers about rows of these scores and strata; `mass` decides which rows are inside."""
        level, p_value = np.empty(len(scores)), np.full(len(scores), np.nan)
        for calibration, rows in self.sets.by_stratum(strata, len(scores)):
            level[rows] = calibration.level(scores[rows])
            if calibration.is_calibrated:
                p_value[rows] = calibration.p_value(scores[rows])
        return Answers(level <= (self.sets.mass if mass is None else mass), scores, level, p_value)

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


def _last_step(model: Any) -> Any:
    return model[-1] if isinstance(model, sklearn_pipeline.Pipeline) else model


def _prepared_names(before: sklearn_pipeline.Pipeline, names: list[str], n_columns: int) -> list[str]:
    """Names of the columns that the nested sets see. If a step names none, the names of the table are used."""
    try:
        return [str(name) for name in before.get_feature_names_out()]
    except AttributeError:  # a FunctionTransformer, say
        return names if n_columns == len(names) else [f"x{i}" for i in range(n_columns)]


def _without_names(step: Any) -> Any:
    """A shallow copy of a fitted step that knows no feature names, and takes categories as codes."""
    nameless = copy.copy(step)
    vars(nameless).pop("feature_names_in_", None)
    sets = getattr(step, "sets_", None)
    if isinstance(sets, FittedSets) and isinstance(sets.function, Score):
        encoding = sets.function.encoding
        by_code = replace(encoding, categories=replace(encoding.categories, by_code=True))
        nameless.sets_ = replace(sets, function=replace(sets.function, encoding=by_code))
    return nameless


def with_nulls(values: NDArray[Any], answered: Flags) -> "pa.Array":
    """Return values of the rows that have an answer as an Arrow array of all rows; the others, and NaN, are null."""
    import pyarrow as pa

    spread = np.zeros(len(answered), dtype=values.dtype)
    spread[answered] = values
    null = ~answered | np.isnan(spread) if values.dtype.kind == "f" else ~answered
    return pa.array(spread, pa.string() if values.dtype == object else None, mask=null)
