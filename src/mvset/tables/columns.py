"""Columns that no model can make sense of, or not the sense that users expect: said before the fit."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mvset.tables.errors import TableError, excluding, listed

_SQUARABLE = 1e140  # float64 can square and sum such
_FEW = 20  # rows of which all may ascend by chance
_DWARFED = 20.0  # times that a standard deviation exceeds what quartiles say, where single values make it


def check_columns(rows: NDArray[np.float64], names: Sequence[str]) -> None:
    """Refuse what cannot be computed with, and name the columns that will not do what they seem to."""
    _refuse_wild(rows, names)
    constant = rows.min(axis=0) == rows.max(axis=0)
    if constant.all():
        raise TableError(f"All rows are equal: {listed(names)} never change, and leave nothing to learn from.")
    _tell(
        _named(constant, names),
        "never change here, and are left out of volumes; later changes are seen only where they are large beside 1",
    )
    _tell(_named(_count_upwards(rows), names), "only count upwards: new rows will all lie beyond them")
    _tell(
        _named(_dwarfed(rows) & ~constant, names),
        "have a few values so far out that these alone set their scale, and changes of the others go unseen; mend them",
    )


def _tell(found: list[str], what: str) -> None:
    if found:
        warnings.warn(f"{listed(found)}: {what}. To leave out: {excluding(found)}.", stacklevel=4)


def _named(chosen: NDArray[np.bool_], names: Sequence[str]) -> list[str]:
    return [name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen]


def _refuse_wild(rows: NDArray[np.float64], names: Sequence[str]) -> None:
    largest, extent = np.abs(rows).max(axis=0), 0.5 * rows.max(axis=0) - 0.5 * rows.min(axis=0)  # halves: no overflow
    wild = _named((largest > _SQUARABLE) | ((extent > 0) & (extent < 1 / _SQUARABLE)), names)
    if wild:
        raise TableError(f"{listed(wild)}: too large or too small to compute with. Rescale, or {excluding(wild)}.")


def _count_upwards(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which columns ascend from row to row: numbers of rows, times."""
    return np.asarray((np.diff(rows, axis=0) > 0).all(axis=0) & (len(rows) > _FEW))


def _dwarfed(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which columns have a standard deviation that a few values make."""
    low, high = np.quantile(rows, [0.25, 0.75], axis=0)
    return np.asarray((high > low) & (rows.std(axis=0) > _DWARFED * (high - low)))
