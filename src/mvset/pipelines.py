"""A fitted model as it is deployed: an estimator of nested sets, alone or at the end of a Pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
        return cls(model[:-1] if isinstance(model, Pipeline) and len(model) > 1 else None, sets)

    def prepared(self, X: Any) -> Any:
        """Rows as the nested sets take them."""
        return X if self.before is None else self.before.transform(X)

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of the rows, as given to `fit`; x0, x1, … where they had none."""
        first = self.sets if self.before is None else self.before
        names = getattr(first, "feature_names_in_", None)
        return [f"x{i}" for i in range(first.n_features_in_)] if names is None else [str(name) for name in names]
