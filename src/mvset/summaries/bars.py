"""Bars of a histogram of levels, and how high they are by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import betabinom, binom

Array = NDArray[np.float64]

_ROUNDING = 1e-13  # edges have rounding errors; a level past an edge is so by 1e-12 at least, see offsets.py


def bar_edges(n_bars: int, mass: float | None) -> Array:
    """Edges of bars on [0, 1], the mass one of them: as even as can be."""
    if n_bars < 2:
        raise ValueError(f"bins must be at least 2; got {n_bars!r}.")
    if mass is None:
        return np.linspace(0.0, 1.0, n_bars + 1)
    n_inside = min(max(round(n_bars * mass), 1), n_bars - 1)
    return np.append(np.linspace(0.0, mass, n_inside + 1), np.linspace(mass, 1.0, n_bars - n_inside + 1)[1:])


def bar_heights(levels: Array, edges: Array) -> Array:
    """Density of the levels; one equal to an edge counts below it, as a row whose level is the mass is inside."""
    up_to = np.searchsorted(np.sort(levels), edges + _ROUNDING, side="right")
    return np.asarray(np.diff(np.append(0, up_to[1:])) / (len(levels) * np.diff(edges)))


def chance_heights(n_rows: int, edges: Array, n_calibration: int | None, chance: float = 0.95) -> tuple[Array, Array]:
    """Least and greatest height of each bar, by itself, for rows like those of the fit.

    How many rows fall between two of m calibration scores is not binomial but beta-binomial: the true share between
    them is itself known up to the chance of these m rows only.
    """
    widths = np.diff(edges)
    if n_calibration is None:
        law = binom(n_rows, widths)
    else:
        law = betabinom(n_rows, n_calibration * widths, n_calibration * (1.0 - widths))
    scale = n_rows * widths
    return law.ppf(0.5 - 0.5 * chance) / scale, law.ppf(0.5 + 0.5 * chance) / scale
