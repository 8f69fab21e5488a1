"""Rows of a table as rows of numbers for the kernel: missing values are filled, categories become zeros and ones."""

from dataclasses import dataclass, field
from numbers import Integral

import numpy as np

from mvset.rows.categories import Categories
from mvset.rows.imputation import Imputation
from mvset.rows.layout import ColumnLayout
from mvset.values import Array, ArrayValue, cached_property
from mvset.wording import counted


@dataclass(frozen=True, eq=False)
class RowEncoding(ArrayValue):
    """The category columns of a table with `n_columns`, and how missing values are filled, if they are.

    Rows of the table have codes in place of categories, and NaN for missing values.
    """

    n_columns: int
    categories: Categories = field(default_factory=Categories)
    imputation: Imputation | None = None

    def _check(self) -> None:
        typed = isinstance(self.categories, Categories) and isinstance(self.imputation, Imputation | None)
        self._require(typed, " has parts of the wrong type.")
        widths = {self.n_columns}
        widths |= {self.categories.n_columns} if self.categories else set()
        widths |= {self.imputation.donors.shape[1]} if self.imputation is not None else set()
        sized = len(widths) == 1 and isinstance(self.n_columns, Integral)
        self._require(sized, " has parts of different sizes.")
        if self.categories and self.imputation is not None:
            donors = self.imputation.donors
            filled = zip(self.categories.indices, self.categories.values, strict=True)
            known = all(np.isin(donors[:, j], np.arange(len(values))).all() for j, values in filled)
            self._require(known, " fills categories with codes that they do not have.")

    def __bool__(self) -> bool:
        return bool(self.categories) or self.imputation is not None

    @property
    def layout(self) -> ColumnLayout:
        """Where the columns are in encoded rows."""
        return self._completed_categories.layout if self._completed_categories else ColumnLayout(self.n_columns)

    def answerable(self, X: Array) -> Array:
        """Return validated rows; refuse rows without any value, because they have no answer."""
        if self.imputation is None:
            return X
        empty = ~self.categories.answered(X, imputes=True)
        if empty.any():
            raise ValueError(
                f"Input X has no value at all in {counted(int(empty.sum()), 'row')}, the first of them row "
                f"{int(empty.argmax())}: there is nothing to impute from. Drop such rows."
            )
        return X

    def completed(self, X: Array) -> Array:
        """Rows of the table without missing values."""
        return X if self.imputation is None else self.imputation.completed(X)[:, : self.n_columns]

    def encoded(self, X: Array) -> Array:
        """Rows as the kernel takes them."""
        return self._completed_categories.encoded(X if self.imputation is None else self.imputation.completed(X))

    def decoded(self, encoded: Array) -> Array:
        """Rows of the table from encoded ones; of a category, the value whose code is the largest."""
        folded = self._completed_categories.folded(encoded, lambda block: block.argmax(axis=1).astype(np.float64))
        return folded[:, : self.n_columns]

    def by_column(self, encoded: Array) -> Array:
        """Return one value per column of the table from the encoded columns: the length of each block."""
        folded = self._completed_categories.folded(encoded, lambda block: np.linalg.norm(block, axis=1))
        columns = folded[:, : self.n_columns]
        if self.imputation is not None:  # an indicator belongs to its column
            for k, j in enumerate(self.imputation.indicators.astype(np.intp)):
                columns[:, j] += np.where(columns[:, j] < 0, -1.0, 1.0) * folded[:, self.n_columns + k]
        return columns

    def units(self, encoded: Array) -> Array:
        """Return the unit of distance of each column of the table from the units of encoded columns."""
        return self._completed_categories.folded(encoded[np.newaxis], lambda block: block[:, 0])[0, : self.n_columns]

    @cached_property
    def _completed_categories(self) -> Categories:
        """The category columns of completed rows: categories of the table, and indicators of missing values."""
        if self.imputation is None:
            return self.categories
        return self.imputation.extended(self.categories, self.n_columns)
