"""Checks of the columns before a fit: errors for values that cannot be used, warnings for columns that mislead."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from mvset.exceptions import MvsetWarning, warn
from mvset.tables.errors import TableError, exclude_option, quoted

Array = NDArray[np.float64]

_MAX_MAGNITUDE = 1e140  # float64 can square such values and sum the squares
_MIN_INCREASING = 20  # fewer increasing rows may be a coincidence
_OUTLIER_RATIO = 20.0  # standard deviation over interquartile range: past it, a few outliers set the scale


def check_columns(
    rows: Array,
    names: Sequence[str],
    lowest: Array | None = None,
    highest: Array | None = None,
    categories: Collection[str] = (),
) -> None:
    """Raise for columns that cannot be computed with; warn about constant, increasing and outlier-dominated ones.

    `lowest` and `highest` are those of all rows if `rows` are a sample. Of categories, rows have codes.
    """
    if lowest is None or highest is None:
        lowest, highest = np.fmin.reduce(rows), np.fmax.reduce(rows)
    numeric = np.array([name not in categories for name in names])
    empty = _selected(~(lowest <= highest), names)
    if empty:
        raise TableError(f"There are no values in {quoted(empty)}. Exclude with {exclude_option(empty)}.")
    _check_magnitude(lowest, highest, names)
    constant = lowest == highest
    if constant.all():
        raise TableError(f"All rows are identical: there is nothing to fit in {quoted(names)}.")
    _warn_about(
        _selected(constant, names),
        "constant in the training rows",
        "Volumes ignore constant columns, and any row in which one differs is flagged.",
    )
    _warn_about(
        _selected(_increases(rows) & numeric, names),
        "increasing from row to row, like a row number or a time stamp",
        "All new rows will lie outside the range of the training rows.",
    )
    _warn_about(
        _selected(_has_dominant_outliers(rows) & ~constant & numeric, names),
        "dominated by a few extreme values, which alone determine the standard deviation",
        "Changes of the other values will go undetected. Correct the extreme values.",
    )


def _warn_about(found: list[str], what: str, consequence: str) -> None:
    if found:
        subject = f"Column {quoted(found)} is" if len(found) == 1 else f"Columns {quoted(found)} are"
        message = f"{subject} {what}. {consequence} To exclude: {exclude_option(found)}."
        warn(message, MvsetWarning)


def _selected(mask: NDArray[np.bool_], names: Sequence[str]) -> list[str]:
    return [name for name, is_selected in zip(names, mask, strict=True) if is_selected]


def _check_magnitude(lowest: Array, highest: Array, names: Sequence[str]) -> None:
    largest = np.maximum(np.abs(lowest), np.abs(highest))
    half_range = 0.5 * highest - 0.5 * lowest  # half: the range itself may overflow
    found = _selected((largest > _MAX_MAGNITUDE) | ((half_range > 0) & (half_range < 1 / _MAX_MAGNITUDE)), names)
    if found:
        raise TableError(
            f"{quoted(found)}: values too large or too small to compute with. Rescale, or exclude with "
            f"{exclude_option(found)}."
        )


def _increases(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each column increases strictly from row to row, as row numbers and time stamps do."""
    return np.asarray((np.diff(rows, axis=0) > 0).all(axis=0) & (len(rows) > _MIN_INCREASING))


def _has_dominant_outliers(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether a few outliers determine the standard deviation of each column."""
    rows = np.where(np.isnan(rows).all(axis=0), 0.0, rows)  # a sample may have no values where the table has some
    low, high = np.nanquantile(rows, [0.25, 0.75], axis=0)
    return np.asarray((high > low) & (np.nanstd(rows, axis=0) > _OUTLIER_RATIO * (high - low)))
