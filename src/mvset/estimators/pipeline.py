"""A fitted model as it is deployed: an estimator of nested sets, alone or at the end of a Pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mvset.estimators.base import NestedSetsMixin
from mvset.estimators.minimum_volume_set import MinimumVolumeSet


@dataclass(frozen=True)
class FittedModel:
    """The two parts of a model: what is done to rows first, and the nested sets that then judge them."""

    before: Pipeline | None
    sets: Any

    @classmethod
    def of(cls, model: Any) -> FittedModel:
        """Take a model apart; refuse what has no nested sets at its end."""
        sets = model[-1] if isinstance(model, Pipeline) else model
        if not isinstance(sets, NestedSetsMixin):
            raise TypeError(
                f"A fitted MinimumVolumeSet is needed, or a Pipeline that ends in one; got {type(sets).__name__}."
            )
        check_is_fitted(model)
        steps = model.steps[:-1] if isinstance(model, Pipeline) else []
        steps = [(name, step) for name, step in steps if step not in (None, "passthrough")]
        return cls(Pipeline(steps) if steps else None, sets)

    @classmethod
    def of_minimum_volume_set(cls, model: Any) -> FittedModel:
        """The same, for those who need all answers of a MinimumVolumeSet."""
        fitted = cls.of(model)
        if not isinstance(fitted.sets, MinimumVolumeSet):
            raise TypeError(
                f"A MinimumVolumeSet is needed, alone or at the end of a Pipeline; got {type(fitted.sets).__name__}."
            )
        return fitted

    def prepared(self, X: Any) -> Any:
        """Rows as the nested sets take them."""
        return X if self.before is None else self.before.transform(X)

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of the rows, as given to `fit`; x0, x1, … where they had none."""
        first = self.sets if self.before is None else self.before
        names = getattr(first, "feature_names_in_", None)
        return [f"x{i}" for i in range(first.n_features_in_)] if names is None else [str(name) for name in names]

    @property
    def prepared_names(self) -> list[str]:
        """Names of the columns that the nested sets see; those of the rows where a step names none."""
        if self.before is None:
            return self.feature_names
        try:
            return [str(name) for name in self.before.get_feature_names_out()]
        except AttributeError:  # a FunctionTransformer, say
            n_columns = self.sets.n_features_in_
            same = n_columns == len(self.feature_names)
            return self.feature_names if same else [f"x{i}" for i in range(n_columns)]

    def restored(self, moved: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Points among the prepared rows as rows of the table; none where the steps cannot give `rows` themselves back.

        Some lose what they are given, and some claim to be undone by doing nothing.
        """
        if self.before is None:
            return moved
        if self.prepared_names != self.feature_names or not hasattr(self.before, "inverse_transform"):
            return None
        try:
            with columns_in_order():
                returned = np.asarray(self.before.inverse_transform(self.before.transform(rows)))
        except ValueError:  # imputers cannot
            return None
        exact = returned.shape == rows.shape and np.allclose(returned, rows, rtol=1e-6, atol=1e-6 * np.abs(rows).max())
        return np.asarray(self.before.inverse_transform(moved)) if exact else None


@contextmanager
def columns_in_order() -> Iterator[None]:
    """Let models fitted with names take plain arrays whose columns are known to be those, in their order."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield
