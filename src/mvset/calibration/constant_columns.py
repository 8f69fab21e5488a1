"""Columns that never changed in the rows of the fit: a row in which one differs lies outside every set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mvset.values import ArrayValue, checked_array

Array = NDArray[np.float64]

# A change that six significant digits do not show is no change: so much the reports print, and float32 keeps.
_PRECISION = 5e-6
# A constant column is zero once it is standardised, up to rounding: digits no longer count, only the change itself.
_ZERO = 1e-6


@dataclass(frozen=True, eq=False)
class ConstantColumns(ArrayValue):
    """Indices and values of the columns that never changed."""

    columns: Array  # whole numbers; float64 as every array in a model file
    values: Array

    def __post_init__(self) -> None:
        """Check the parts, also of what a file holds."""
        owner = type(self).__name__
        object.__setattr__(self, "columns", checked_array(owner, "columns", self.columns, 1))
        object.__setattr__(self, "values", checked_array(owner, "values", self.values, 1, length=len(self.columns)))
        if (self.columns != np.floor(self.columns)).any() or (self.columns < 0).any():
            raise ValueError(f"{owner}.columns must be indices.")

    @classmethod
    def of(cls, X: Array) -> ConstantColumns:
        """The constant columns of X."""
        return cls.between(X.min(axis=0), X.max(axis=0))

    @classmethod
    def between(cls, lowest: Array, highest: Array) -> ConstantColumns:
        """The constant columns of rows with this range."""
        constant = np.flatnonzero(lowest == highest)
        return cls(constant.astype(np.float64), lowest[constant])

    @property
    def indices(self) -> NDArray[np.intp]:
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

    def changed(self, X: Array) -> NDArray[np.bool_]:
        """Whether one of these columns differs, for every row."""
        return np.asarray(self.changes(X).any(axis=1))
