"""Step 5: held-out scores → one offset per mass.

On one split, with m held-out scores s_1 >= … >= s_m, the set of mass β must hold the k best of them, where k is the
least rank with k/m >= β. Any offset in (s_{k+1}, s_k] does; we take the middle. Averaged over splits rank by rank,
these offsets are a decreasing table, and everything about mass is read off it: the offset of any mass, the level of
any score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_SLACK = 1e-12  # relative
_ROUNDING = 1e-12  # np.linspace(0, 1, 101)[15] is 0.15, and must mean fifteen of a hundred rows


def offsets_by_rank(held_out_scores: ArrayLike) -> NDArray[np.float64]:
    """Offset that holds the k best held-out scores, for k = 1…m, one row per split, as the scores given.

    The upper end s_k of the interval of offsets is too high for new rows, which fall below it with probability
    1 - k/(m+1); the lower end is too low. For k = m there is no lower end, and s_m is the offset. Rows repeated many
    times have offsets equal to their own score up to the order of a sum: the slack keeps them inside.
    """
    descending = -np.sort(-np.atleast_2d(np.asarray(held_out_scores, dtype=np.float64)), axis=1)
    middle = np.hstack([0.5 * (descending[:, :-1] + descending[:, 1:]), descending[:, -1:]])
    return np.asarray(middle - _SLACK * np.abs(middle))


def order_statistics(scores: ArrayLike) -> NDArray[np.float64]:
    """Offset that is the k-th best score itself, for k = 1…m, as one row: what finite-sample promises are about."""
    descending = -np.sort(-np.asarray(scores, dtype=np.float64))
    return np.asarray(descending - _SLACK * np.abs(descending))[np.newaxis]


def shares_held(n_ranks: int) -> NDArray[np.float64]:
    """Share of the held-out rows in the set of rank k = 1…m: the mass it claims, unless more is promised."""
    return np.asarray(np.arange(1, n_ranks + 1) / n_ranks)


def _least_masses(claims: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least mass whose set needs rank k: above what rank k-1 claims, by more than the rounding errors of a mass."""
    return np.append(0.0, claims[:-1] + _ROUNDING)


def offset_at(
    ranked: NDArray[np.float64], mass: ArrayLike, claims: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    r"""Offset per mass: on each split :math:`P_{test}(f \ge \rho) \ge \beta` with no row to spare, then the mean.

    Paper: Fig. 2, inner loop, and the average in Fig. 3. Difference: its bisection stops anywhere in the interval of
    offsets that hold the same rows; an order statistic finds its middle.
    """
    claims = shares_held(len(ranked)) if claims is None else claims
    return np.asarray(ranked[np.searchsorted(_least_masses(claims), mass, side="right") - 1])


def level_at(
    ranked: NDArray[np.float64], scores: ArrayLike, claims: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Smallest mass whose set holds a point of this score; 1 for scores below every offset.

    ``level <= mass`` holds exactly when ``score >= offset``.
    """
    rank = np.searchsorted(-ranked, -np.asarray(scores, dtype=np.float64), side="left")
    claims = shares_held(len(ranked)) if claims is None else claims
    return np.append(_least_masses(claims), 1.0)[rank]
