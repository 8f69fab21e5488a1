"""Histogram of levels, and the range of bar heights expected by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import betabinom, binom

Array = NDArray[np.float64]

_ROUNDING = 1e-13  # rounding error of the edges; distinct levels differ by at least 1e-12, see offsets.py


def bar_edges(n_bars: int, mass: float | None) -> Array:
    """Edges of bars on [0, 1], as evenly spaced as possible; the mass is one of them."""
    if n_bars < 2:
        raise ValueError(f"bins must be at least 2; got {n_bars!r}.")
    if mass is None:
        return np.linspace(0.0, 1.0, n_bars + 1)
    n_inside = min(max(round(n_bars * mass), 1), n_bars - 1)
    return np.append(np.linspace(0.0, mass, n_inside + 1), np.linspace(mass, 1.0, n_bars - n_inside + 1)[1:])


def bar_heights(levels: Array, edges: Array) -> Array:
    """Density of the levels; a level equal to an edge counts below it, since a row with level == mass is inside."""
    up_to = np.searchsorted(np.sort(levels), edges + _ROUNDING, side="right")
    return np.asarray(np.diff(np.append(0, up_to[1:])) / (len(levels) * np.diff(edges)))


def chance_heights(n_rows: int, edges: Array, n_calibration: int | None, chance: float = 0.95) -> tuple[Array, Array]:
    """Pointwise lower and upper bounds for the height of each bar, for rows from the distribution of the fit.

    The number of rows between two of m calibration scores is beta-binomial rather than binomial, because the true
    share between them is estimated from m rows.
    """
    widths = np.diff(edges)
    if n_calibration is None:
        counts = binom(n_rows, widths)
    else:
        counts = betabinom(n_rows, n_calibration * widths, n_calibration * (1.0 - widths))
    scale = n_rows * widths
    return counts.ppf(0.5 - 0.5 * chance) / scale, counts.ppf(0.5 + 0.5 * chance) / scale
