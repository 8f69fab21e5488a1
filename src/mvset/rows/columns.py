"""Columns of a table as rows of numbers: the one rule for codes, strata and which rows have an answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvset.rows.categories import Categories, codes_of
from mvset.rows.labels import label_texts
from mvset.values import Array, Flags


@dataclass(frozen=True)
class CodedRows:
    """Rows of numbers, with codes in place of categories and NaN for missing values; their strata, if any."""

    values: Array
    strata: NDArray[np.object_] | None  # None where a label is missing
    answered: Flags  # whether a model has an answer about each row


@dataclass(frozen=True)
class TableColumns:
    """The columns that a model takes from a table, by name."""

    names: Sequence[str]
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)  # the values of each category column
    imputes: bool = False  # whether missing values are filled
    strata: str | None = None

    def read(self, columns: Mapping[str, Any]) -> CodedRows:
        """Return the rows of Arrow columns; columns that the model does not take are ignored."""
        n_rows = len(next(iter(columns.values()), ()))
        values = np.empty((n_rows, len(self.names)))
        for j, name in enumerate(self.names):
            known = self.categories.get(name)
            values[:, j] = _numbers(columns[name]) if known is None else codes_of(columns[name], known)
        answered = Categories.named(self.names, self.categories).answered(values, imputes=self.imputes)
        strata = None
        if self.strata is not None:
            strata = label_texts(columns[self.strata])
            answered = answered & np.array([label is not None for label in strata], dtype=bool)
        return CodedRows(values, strata, answered)


def _numbers(column: Any) -> Array:
    """Return an Arrow column as float64; NaN where it is null."""
    return np.asarray(column.cast("float64", safe=False).to_numpy(zero_copy_only=False))
