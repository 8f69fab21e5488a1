"""Select the columns of a table by their roles; check them before a fit: errors, and warnings if they mislead."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa

from mvset.app.tables.errors import TableError, exclude_option, quoted
from mvset.app.tables.formats import TableFile
from mvset.exceptions import MvsetWarning, warn
from mvset.values import Array, Flags

_MAX_MAGNITUDE = 1e140  # float64 can square such values and sum the squares
_MIN_INCREASING = 20  # fewer increasing rows may be a coincidence
_OUTLIER_RATIO = 20.0  # standard deviation over interquartile range: past it, a few outliers set the scale


@dataclass(frozen=True)
class ColumnRoles:
    """Which columns a model is fitted to, and which say something about the rows.

    Rows are put in the order of the column `time`; those with the same value of `group` stay on one side of every
    split; those with the same value of `strata` have an offset of their own. These columns are not fitted to unless
    they are named in `columns`.
    """

    columns: Sequence[str] = ()  # all if empty
    exclude: Sequence[str] = ()
    time: str | None = None
    group: str | None = None
    strata: str | None = None
    categories: Sequence[str] = ()  # category columns besides the text columns

    @property
    def about_rows(self) -> dict[str, str]:
        """The columns that say something about the rows, by role."""
        roles = {"time": self.time, "group": self.group, "strata": self.strata}
        return {role: name for role, name in roles.items() if name is not None}

    def fitted_columns(self, file: TableFile, others: Sequence[str] = ()) -> list[str]:
        """The columns of a table that the model is fitted to: those named, or all but dates and `others`."""
        for role, name in self.about_rows.items():
            existing_columns([name], file, f"--{role}")
        unfitted = set(self.about_rows.values()) - self._named(file, self.columns)
        left_out = [*self.exclude, *unfitted, *self.dates(file), *others]
        return selected_columns(file, self.columns, left_out)

    def category_columns(self, file: TableFile, names: Sequence[str]) -> list[str]:
        """Return the columns among `names` that contain categories: text columns, and columns named as categories."""
        named, schema = existing_columns(self.categories, file, "--categories"), file.schema
        return [name for name in names if name in named or _is_text(schema.field(name).type)]

    def check_unnamed(self, file: TableFile, too_many: Mapping[str, int]) -> None:
        """Fail if columns are named that have too many values for a category."""
        for name in sorted(self._named(file, [*self.columns, *self.categories]) & set(too_many)):
            raise TableError(
                f"Column {name!r} of {file.label} has {too_many[name]} values or more: too many for a category. "
                f"Exclude it with {exclude_option([name])}."
            )

    def dates(self, file: TableFile) -> list[str]:
        """Columns of dates and times, unless they are named: a set has no use for them."""
        return [field.name for field in self._unnamed(file) if pa.types.is_temporal(field.type)]

    def identifiers(self, file: TableFile) -> list[str]:
        """Columns of whole numbers that increase from row to row, unless they are named or there are no others."""
        unnamed, names = self._unnamed(file), file.schema.names
        numbers = [each for each in unnamed if _is_plain_number(each.type) and names.count(each.name) == 1]
        if self.columns or not numbers:
            return []
        first = next((batch for batch, _ in file.batches(pa.schema(numbers))), None)
        found = [each.name for each in numbers if first is not None and _counts_rows(first.column(each.name))]
        return found if len(found) < len(numbers) else []

    def _unnamed(self, file: TableFile) -> list[pa.Field]:
        """Columns that no option names; a column without a name is refused elsewhere."""
        named = self._named(file, [*self.columns, *self.categories, *self.exclude]) | set(self.about_rows.values())
        return [field for field in file.schema if field.name not in named]

    def _named(self, file: TableFile, options: Sequence[str]) -> set[str]:
        return set(split_names(options, file.schema.names))


def check_numeric(file: TableFile, schema: pa.Schema, features: Sequence[str]) -> None:
    """Fail if features are not numeric; the message names all of them."""
    if others := [name for name in features if not is_numeric(schema.field(name).type)]:
        kinds = ", ".join(f"{name!r} ({schema.field(name).type})" for name in others)
        raise TableError(
            f"{file.label}: not numeric: {kinds}. Exclude them from the fit with {exclude_option(others)}, or select "
            "numeric columns with --columns."
        )


def selected_columns(file: TableFile, columns: Sequence[str], exclude: Sequence[str]) -> list[str]:
    """Names of the columns to use: `columns`, or all columns of the file, without those in `exclude`."""
    names = file.schema.names
    wanted = existing_columns(columns, file, "--columns") or names
    excluded = set(existing_columns([each for each in exclude if each], file, "--exclude")) | ({""} & set(exclude))
    selected = [name for name in wanted if name not in excluded]
    if not selected:
        raise TableError(f"All columns of {file.label} are excluded. It has {quoted(names)}.")
    if "" in selected:  # often the index of a data frame
        raise TableError(f"{file.label} has a column without a name. Name it, or exclude it: {exclude_option([''])}.")
    return selected


def split_names(options: Sequence[str], names: Sequence[str]) -> list[str]:
    """Column names from repeated or comma-separated options; a name may itself contain a comma."""
    found: dict[str, None] = {}
    for option in options:
        for name in [option] if option in names else option.split(","):
            found[name if name in names else name.strip()] = None
    return list(found)


def existing_columns(options: Sequence[str], file: TableFile, option: str) -> list[str]:
    """The column names of an option; fails if the file does not have one of them."""
    names = file.schema.names
    found = split_names(options, names)
    if unknown := [name for name in found if name not in names]:
        raise TableError(f"{option}: {file.label} has no column {quoted(unknown)}. It has {quoted(names)}.")
    return found


def _is_text(kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_numeric(kind: Any) -> bool:
    """Whether a column of this type holds numbers."""
    others = (pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)
    return _is_plain_number(kind) or any(test(kind) for test in others)


def check_columns(
    rows: Array, names: Sequence[str], lowest: Array, highest: Array, categories: Collection[str] = ()
) -> None:
    """Raise for columns that cannot be computed with; warn about constant, increasing and outlier-dominated ones.

    `rows` may be a sample; `lowest` and `highest` are the extremes of all rows. Categories come as codes.
    """
    if empty := list(compress(names, ~(lowest <= highest))):
        raise TableError(f"There are no values in {quoted(empty)}. Exclude with {exclude_option(empty)}.")
    _check_magnitude(lowest, highest, names)
    constant = lowest == highest
    if constant.all():
        raise TableError(f"All rows are identical: there is nothing to fit in {quoted(names)}.")
    numeric = np.array([name not in categories for name in names])
    warnings = {
        "constant in the training rows. Volumes ignore constant columns, and any row in which one differs is "
        "flagged.": constant,
        "increasing from row to row, like a row number or a time stamp. All new rows will lie outside the range of the "
        "training rows.": _increases(rows) & numeric,
        "dominated by a few extreme values, which alone determine the standard deviation. Changes of the other values "
        "will go undetected. Correct the extreme values.": _has_dominant_outliers(rows) & ~constant & numeric,
    }
    _warn_about_sentinels(rows, names, numeric & ~constant)
    for said, mask in warnings.items():
        if found := list(compress(names, mask)):
            subject = f"Column {quoted(found)} is" if len(found) == 1 else f"Columns {quoted(found)} are"
            warn(f"{subject} {said} To exclude: {exclude_option(found)}.", MvsetWarning)


def _warn_about_sentinels(rows: Array, names: Sequence[str], numeric: Flags) -> None:
    """Warn about -999 and the like: one value, many times, farther from all others than these are from each other."""
    for j in np.flatnonzero(numeric).tolist():
        values, counts = np.unique(rows[np.isfinite(rows[:, j]), j], return_counts=True)
        if len(values) < 3:
            continue
        for value, count, others in ((values[0], counts[0], values[1:]), (values[-1], counts[-1], values[:-1])):
            apart = np.abs(others - value).min() > np.ptp(others)
            if count > 2 and apart and re.fullmatch(r"-?9{2,}(\.9+|\.0)?|-32768.0|65535.0", str(value)):
                warn(
                    f"{value:g} occurs {count} times in {names[j]!r}, far from all other values. If it stands for a "
                    f"missing value: --read na={value:g}.",
                    MvsetWarning,
                )


def _check_magnitude(lowest: Array, highest: Array, names: Sequence[str]) -> None:
    largest = np.maximum(np.abs(lowest), np.abs(highest))
    half_range = 0.5 * highest - 0.5 * lowest  # half: the range itself may overflow
    wrong = (largest > _MAX_MAGNITUDE) | ((half_range > 0) & (half_range < 1 / _MAX_MAGNITUDE))
    if found := list(compress(names, wrong)):
        raise TableError(
            f"{quoted(found)}: values too large or too small to compute with. Rescale, or exclude with "
            f"{exclude_option(found)}."
        )


def _increases(rows: Array) -> Flags:
    """Whether each column increases strictly from row to row, as row numbers and time stamps do."""
    return np.asarray((np.diff(rows, axis=0) > 0).all(axis=0) & (len(rows) > _MIN_INCREASING))


def _is_plain_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _counts_rows(column: pa.Array) -> bool:
    """Whether a column has whole numbers that increase from row to row."""
    values = column.to_numpy(zero_copy_only=False)
    whole = column.null_count == 0 and np.array_equal(values, np.floor(values))
    return bool(whole and _increases(values[:, None])[0])


def _has_dominant_outliers(rows: Array) -> Flags:
    """Whether a few outliers determine the standard deviation of each column."""
    rows = np.where(np.isnan(rows).all(axis=0), 0.0, rows)  # a sample may have no values where the table has some
    low, high = np.nanquantile(rows, [0.25, 0.75], axis=0)
    return np.asarray((high > low) & (np.nanstd(rows, axis=0) > _OUTLIER_RATIO * (high - low)))
