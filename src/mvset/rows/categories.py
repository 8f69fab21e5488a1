"""Category columns: their values in the rows of a fit, and rows in which numbers stand for these values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Self

import numpy as np

from mvset.rows.labels import distinct_labels
from mvset.rows.layout import ColumnLayout
from mvset.rows.validation import column_kinds, named_columns, table_names
from mvset.values import Array, ArrayValue, Flags, Indices, array_rule

MAX_VALUES = 256  # of a category column: more are names or free text
_ROWS_PER_VALUE = 2  # at least, on average
MISSING = "(missing)"  # the value of rows without one, if that is allowed
UNSEEN = -1.0  # stands for a value that is not in the rows of the fit


@dataclass(frozen=True, eq=False)
class Categories(ArrayValue):
    """Indices of the category columns among `n_columns`, and the values of each.

    The place of a value in its list is its code. `by_code` says that rows come with codes already.
    """

    # Whole numbers; float64 as every array in a model file.
    columns: Array = field(
        default_factory=lambda: np.empty(0), metadata=array_rule(1, length=lambda self: len(self.values))
    )
    values: list[list[str]] = field(default_factory=list)
    n_columns: int = 0
    by_code: bool = False

    def _check(self) -> None:
        indices = (self.columns == np.floor(self.columns)).all() and (np.diff(self.columns) > 0).all()
        self._require(indices, ".columns must be ascending indices.")
        numbered = isinstance(self.n_columns, Integral) and isinstance(self.by_code, bool)
        self._require(numbered, " must have a number of columns, and say whether rows come with codes.")
        within = not len(self.columns) or 0 <= self.columns[0] <= self.columns[-1] < self.n_columns
        self._require(within, ".columns must be less than the number of columns.")
        for values in self.values:
            distinct = values and len(set(values)) == len(values) and all(isinstance(each, str) for each in values)
            self._require(distinct, ".values must be lists of different texts.")

    def __bool__(self) -> bool:
        return bool(self.values)

    @classmethod
    def of(cls, X: Any, named: Any, *, missing: bool = False) -> Self:
        """The category columns of a table: those named, or those of text if `named` is "from_dtype".

        With `missing`, a missing value is a category, too.
        """
        columns = _columns_named(X, named)
        if not columns:
            return cls()
        n_rows, n_columns = _shape(X)
        if len(columns) == n_columns:
            raise ValueError("All columns of X are categories: at least one numeric column is needed for a volume.")
        values = []
        names = table_names(X)
        for column in columns:
            texts = set(distinct_labels(_column(X, column if names is None else names[column]))[0])
            found = {text for text in texts if text is not None}
            _check_category(named_columns(names, [column]).removeprefix("column "), in_order(found), n_rows)
            values.append(in_order(found | ({MISSING} if missing and None in texts else set())))
        return cls(np.array(columns, dtype=np.float64), values, n_columns)

    @classmethod
    def named(cls, names: Sequence[str], values: Mapping[str, Sequence[str]]) -> Self:
        """The categories of a table with these columns, from the values of those that are categories."""
        columns = [j for j, name in enumerate(names) if name in values]
        return cls(np.array(columns, dtype=np.float64), [list(values[names[j]]) for j in columns], len(names))

    @property
    def indices(self) -> Indices:
        """Indices of the category columns."""
        return np.asarray(self.columns.astype(np.intp))

    @property
    def numeric(self) -> Indices:
        """Indices of the other columns."""
        return np.setdiff1d(np.arange(self.n_columns), self.indices)

    @property
    def layout(self) -> ColumnLayout:
        """Where the columns are in encoded rows."""
        return ColumnLayout(self.n_columns - len(self.values), tuple(len(values) for values in self.values))

    def coded(self, X: Any, names: Any = None) -> Any:
        """The table with codes in place of values; `names` are those of the columns of the fit."""
        own = table_names(X)
        if not self.values or self.by_code or (own is None and np.shape(X)[1:] != (self.n_columns,)):
            return X  # an array of another shape will be refused
        columns = self.indices.tolist() if own is None else [(own if names is None else names)[j] for j in self.indices]
        found = {
            column: codes_of(_column(X, column), values)
            for column, values in zip(columns, self.values, strict=True)
            if own is None or column in own
        }
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

    def answered(self, X: Array, *, imputes: bool) -> Flags:
        """Return whether a model has an answer about each row with codes.

        All values of the row must be finite. If the model imputes, values may be missing, but not all of them.
        """
        if not imputes:
            return np.asarray(np.isfinite(X).all(axis=1))
        known = ~np.isnan(X)
        for j, values in zip(self.indices, self.values, strict=True):
            if MISSING in values:
                known[:, j] &= X[:, j] != values.index(MISSING)
        return np.asarray(known.any(axis=1) & ~np.isinf(X).any(axis=1))

    def unseen(self, X: Array) -> Flags:
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
    """Return the codes of the values of a column: `UNSEEN` for a value that is not among `values`.

    A missing value is NaN, unless `MISSING` is one of the values.
    """
    codes: dict[str | None, float] = {value: float(code) for code, value in enumerate(values)}
    codes[None] = codes.get(MISSING, np.nan)
    texts, rows = distinct_labels(column)
    return np.array([codes.get(text, UNSEEN) for text in texts], dtype=np.float64)[rows]


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


def _column(X: Any, column: Any) -> Any:
    """A column of a table by name, or of an array by index, as a list or an Arrow array."""
    if hasattr(X, "column_names"):
        return X.column(column)
    return np.asarray(X, dtype=object)[:, column].tolist() if table_names(X) is None else X[column].to_list()


def _with_columns(X: Any, columns: dict[Any, Array]) -> Any:
    """The table with other values in some columns."""
    if hasattr(X, "column_names"):
        for column, values in columns.items():
            X = X.set_column(X.column_names.index(column), column, [values])
        return X
    if hasattr(X, "with_columns"):  # polars
        return X.with_columns(**columns)
    replaced = X.copy(deep=False) if hasattr(X, "iloc") else np.array(X, dtype=object)
    for column, values in columns.items():
        replaced[column if hasattr(X, "iloc") else (slice(None), column)] = values
    return replaced if hasattr(X, "iloc") else replaced.astype(np.float64)
