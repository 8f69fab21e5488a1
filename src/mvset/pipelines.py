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

from mvset.nested_sets import NestedSetsMixin


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
        """Names of the columns that the nested sets see."""
        return self.feature_names if self.before is None else [str(n) for n in self.before.get_feature_names_out()]

    def restored(self, prepared: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Rows as given, from rows as the nested sets take them; none where columns do not correspond."""
        if self.before is None:
            return prepared
        if self.prepared_names != self.feature_names or not hasattr(self.before, "inverse_transform"):
            return None
        return np.asarray(self.before.inverse_transform(prepared))


@contextmanager
def columns_in_order() -> Iterator[None]:
    """Let models fitted with names take plain arrays whose columns are known to be those, in their order."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield
