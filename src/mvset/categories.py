"""Category columns: their values in the rows of a fit, and rows in which numbers stand for these values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvset.column_layout import ColumnLayout
from mvset.validation import column_kinds, is_missing, label_text, named_columns
from mvset.values import ArrayValue, checked_array

Array = NDArray[np.float64]

MAX_VALUES = 256  # of a category column: more are names or free text
_ROWS_PER_VALUE = 2  # at least, on average
MISSING = "(missing)"  # the value of rows without one, if that is allowed
UNSEEN = -1.0  # stands for a value that is not in the rows of the fit


@dataclass(frozen=True, eq=False)
class Categories(ArrayValue):
    """Indices of the category columns among `n_columns`, and the values of each.

    The place of a value in its list is its code. `by_code` says that rows come with codes already.
    """

    columns: Array = field(default_factory=lambda: np.empty(0))  # whole numbers; float64 as every array in a model file
    values: list[list[str]] = field(default_factory=list)
    n_columns: int = 0
    by_code: bool = False

    def __post_init__(self) -> None:
        """Check the parts, also of what a file holds."""
        owner = type(self).__name__
        object.__setattr__(self, "columns", checked_array(owner, "columns", self.columns, 1, length=len(self.values)))
        if (self.columns != np.floor(self.columns)).any() or (np.diff(self.columns) <= 0).any():
            raise ValueError(f"{owner}.columns must be ascending indices.")
        if len(self.columns) and not 0 <= self.columns[0] <= self.columns[-1] < self.n_columns:
            raise ValueError(f"{owner}.columns must be less than the number of columns.")
        if not isinstance(self.n_columns, Integral) or not isinstance(self.by_code, bool):
            raise ValueError(f"{owner} must have a number of columns, and say whether rows come with codes.")
        for values in self.values:
            if not values or len(set(values)) < len(values) or not all(isinstance(value, str) for value in values):
                raise ValueError(f"{owner}.values must be lists of different texts.")

    def __bool__(self) -> bool:
        return bool(self.values)

    @classmethod
    def of(cls, X: Any, named: Any, *, missing: bool = False) -> Categories:
        """The category columns of a table: those named, or those of text if `named` is "from_dtype".

        With `missing`, a missing value is a category, too.
        """
        columns = _columns_named(X, named)
        if not columns:
            return NO_CATEGORIES
        n_rows, n_columns = _shape(X)
        if len(columns) == n_columns:
            raise ValueError("All columns of X are categories: at least one numeric column is needed for a volume.")
        values = []
        for column in columns:
            column_values = _column(X, column)
            found = {label_text(value) for value in column_values if not is_missing(value)}
            _check_category(_name(X, column), in_order(found), n_rows)
            if missing and any(is_missing(value) for value in column_values):
                found.add(MISSING)
            values.append(in_order(found))
        return cls(np.array(columns, dtype=np.float64), values, n_columns)

    @property
    def indices(self) -> NDArray[np.intp]:
        """Indices of the category columns."""
        return np.asarray(self.columns.astype(np.intp))

    @property
    def numeric(self) -> NDArray[np.intp]:
        """Indices of the other columns."""
        return np.setdiff1d(np.arange(self.n_columns), self.indices)

    @property
    def layout(self) -> ColumnLayout:
        """Where the columns are in encoded rows."""
        return ColumnLayout(self.n_columns - len(self.values), tuple(len(values) for values in self.values))

    def coded(self, X: Any, names: Any = None) -> Any:
        """The table with codes in place of values; `names` are those of the columns of the fit."""
        if not self.values or self.by_code:
            return X
        if not hasattr(X, "columns") and np.shape(X)[1:] != (self.n_columns,):
            return X  # it will be refused, for its shape
        by_name = names is not None and hasattr(X, "columns")
        columns = [names[j] if by_name else j for j in self.indices.tolist()]
        found = {}
        for column, values in zip(columns, self.values, strict=True):
            if _has(X, column):
                found[column] = codes_of(_column(X, column), values)
        return _with_columns(X, found)

    def encoded(self, X: Array) -> Array:
        """Rows with codes as encoded rows: numbers, then a block of zeros and ones per category column."""
        if not self.values:
            return X
        layout = self.layout
        rows = np.zeros((len(X), layout.n_numeric + layout.n_codes))
        rows[:, : layout.n_numeric] = X[:, self.numeric]
        for j, block in zip(self.indices, layout.blocks, strict=True):
            codes = X[:, j].astype(np.intp)
            seen = np.flatnonzero(codes >= 0)
            rows[seen, block.start + codes[seen]] = 1.0
        return rows

    def folded(self, encoded: Array, fold: Callable[[Array], Array]) -> Array:
        """Columns of the table from encoded ones: `fold` makes one column of a block."""
        if not self.values:
            return encoded
        layout, folded = self.layout, np.empty((len(encoded), self.n_columns))
        folded[:, self.numeric] = encoded[:, : layout.n_numeric]
        for j, block in zip(self.indices, layout.blocks, strict=True):
            folded[:, j] = fold(encoded[:, block])
        return folded

    def unseen(self, X: Array) -> NDArray[np.bool_]:
        """Whether each category column of rows with codes has a value that is not in the rows of the fit."""
        return np.asarray(X[:, self.indices] < 0)


NO_CATEGORIES = Categories()


def is_category(n_values: int, n_rows: int) -> bool:
    """Whether a column of rows has so few values that it can be a category."""
    return 0 < n_values <= min(MAX_VALUES, max(_ROWS_PER_VALUE, n_rows // _ROWS_PER_VALUE))


def _check_category(name: str, values: Sequence[str], n_rows: int) -> None:
    """Refuse a column of so many values that it is no category."""
    if not values:
        raise ValueError(f"Column {name} has no values: drop it.")
    if not is_category(len(values), n_rows):
        raise ValueError(
            f"Column {name} has {len(values)} different values in {n_rows} rows, such as {values[0]!r}: too many for a "
            f"category, which has {MAX_VALUES} at most, and {_ROWS_PER_VALUE} rows for each on average. Drop it, or "
            "turn it into numbers or fewer values."
        )


def codes_of(column: Any, values: Sequence[str]) -> Array:
    """Codes of the values of a column: `UNSEEN` for those that are not among `values`.

    A missing value is NaN, unless `MISSING` is one of the values.
    """
    by_text = {value: float(code) for code, value in enumerate(values)}
    missing = by_text.get(MISSING, np.nan)
    known: dict[Any, float] = {}  # text is made once for each value

    def code(value: Any) -> float:
        if value not in known:
            known[value] = missing if is_missing(value) else by_text.get(label_text(value), UNSEEN)
        return known[value]

    return np.array([code(value) for value in column], dtype=np.float64)


def in_order(values: Iterable[str]) -> list[str]:
    """Values of a category: numbers by size, then text."""
    return sorted(values, key=_order)


def _order(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def _columns_named(X: Any, named: Any) -> list[int]:
    """Indices of the columns that a user names as categories."""
    kinds = column_kinds(X)
    if isinstance(named, str) and named == "from_dtype":
        return [j for j, kind in enumerate(kinds.values()) if kind == "text"]
    if named is None:
        return []
    names, n_columns = list(kinds), _shape(X)[1]
    found = set()
    for each in [named] if isinstance(named, str) else list(named):
        if isinstance(each, str) and each in names:
            found.add(names.index(each))
        elif isinstance(each, int | np.integer) and not isinstance(each, bool) and 0 <= each < n_columns:
            found.add(int(each))
        else:
            columns = f"columns {', '.join(map(repr, names))}" if names else f"{n_columns} columns"
            raise ValueError(f"categorical_features: there is no column {each!r}; X has {columns}.")
    return sorted(found)


def _shape(X: Any) -> tuple[int, int]:
    shape = X.shape if hasattr(X, "shape") else np.asarray(X, dtype=object).shape
    if len(shape) != 2:
        raise ValueError(f"X must have rows and columns: expected 2D array, got an array of shape {tuple(shape)}.")
    return int(shape[0]), int(shape[1])


def _name(X: Any, column: int) -> str:
    names = list(column_kinds(X)) or None
    return named_columns(names, [column]).removeprefix("column ")


def _has(X: Any, column: Any) -> bool:
    return not isinstance(column, str) or column in (X.column_names if hasattr(X, "column_names") else X.columns)


def _column(X: Any, column: Any) -> Any:
    """A column of a frame of pandas or polars, a table of pyarrow or an array, by index or name, as a list."""
    if hasattr(X, "column_names"):
        return X.column(column).to_pylist()
    if hasattr(X, "iloc"):
        return (X[column] if isinstance(column, str) else X.iloc[:, column]).tolist()
    if hasattr(X, "get_column"):
        return (X.get_column(column) if isinstance(column, str) else X.to_series(column)).to_list()
    return np.asarray(X, dtype=object)[:, column].tolist()


def _with_columns(X: Any, columns: dict[Any, Array]) -> Any:
    """The table with other values in some columns."""
    if hasattr(X, "column_names"):
        import pyarrow as pa

        for column, values in columns.items():
            index = X.column_names.index(column) if isinstance(column, str) else int(column)
            X = X.set_column(index, X.column_names[index], pa.array(values))
        return X
    if hasattr(X, "iloc"):
        X = X.copy(deep=False)
        for column, values in columns.items():
            X[column if isinstance(column, str) else X.columns[column]] = values
        return X
    if hasattr(X, "get_column"):
        import polars

        named = {c if isinstance(c, str) else X.columns[c]: values for c, values in columns.items()}
        return X.with_columns(**{name: polars.Series(values) for name, values in named.items()})
    replaced = np.array(X, dtype=object)
    for column, values in columns.items():
        replaced[:, column] = values
    return replaced.astype(np.float64)
