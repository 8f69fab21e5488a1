"""Columns that never changed in the rows of the fit: a row in which one differs lies outside every set."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from mvset.values import Array, ArrayValue, Flags, Indices, array_rule

# A change that six significant digits do not show is no change: so much the reports print, and float32 keeps.
_PRECISION = 5e-6
# A constant column is zero once it is standardised, up to rounding: digits no longer count, only the change itself.
_ZERO = 1e-6


@dataclass(frozen=True, eq=False)
class ConstantColumns(ArrayValue):
    """Indices and values of the columns that never changed."""

    columns: Array = field(metadata=array_rule(1))  # whole numbers; float64 as every array in a model file
    values: Array = field(metadata=array_rule(1, length=lambda self: len(self.columns)))

    def _check(self) -> None:
        indices = (self.columns == np.floor(self.columns)).all() and (self.columns >= 0).all()
        self._require(indices, ".columns must be indices.")

    @classmethod
    def between(cls, lowest: Array, highest: Array) -> Self:
        """The constant columns of rows with this range."""
        constant = np.flatnonzero(lowest == highest)
        return cls(constant.astype(np.float64), lowest[constant])

    @property
    def indices(self) -> Indices:
        """Indices of the columns."""
        return self.columns.astype(np.intp)

    @property
    def tolerances(self) -> Array:
        """Differences up to which a value counts as the same."""
        return np.where(np.abs(self.values) > _ZERO, _PRECISION * np.abs(self.values), _ZERO)

    def changes(self, X: Array) -> Array:
        """How far each of these columns is from its value, zero where that does not show."""
        difference = X[:, self.indices] - self.values
        return np.where(np.abs(difference) > self.tolerances, difference, 0.0)

    def changed(self, X: Array) -> Flags:
        """Whether one of these columns differs, for every row."""
        return np.asarray(self.changes(X).any(axis=1))
