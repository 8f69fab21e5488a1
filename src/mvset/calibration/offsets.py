"""Scores of calibration rows → one offset per mass.

With m scores s_1 >= … >= s_m, the set of rank k is {score >= s_k}. The offsets by rank are a decreasing table, and
everything about mass is read off it: the offset of any mass, the level of any score. `rank_masses` is the mass that
each rank stands for; see `guarantees`. In the paper's rule the set of mass β on one split must hold the k best scores,
where k is the least rank with k/m >= β; any offset in (s_{k+1}, s_k] does, and we take the middle.
"""

import numpy as np
from numpy.typing import ArrayLike

from mvset.values import Array

_SLACK = 1e-12  # relative
_ROUNDING = 1e-12  # np.linspace(0, 1, 101)[15] is 0.15, and must mean fifteen of a hundred rows


def offsets_by_rank(held_out_scores: ArrayLike) -> Array:
    """Offset that holds the k best held-out scores, for k = 1…m, with one row per split.

    The middle of the interval (s_{k+1}, s_k]. For k = m there is no lower end, and s_m is the offset. Rows repeated
    many times have offsets equal to their own score up to rounding: the slack keeps them inside.
    """
    descending = -np.sort(-np.atleast_2d(np.asarray(held_out_scores, dtype=np.float64)), axis=1)
    middle = np.hstack([0.5 * (descending[:, :-1] + descending[:, 1:]), descending[:, -1:]])
    return np.asarray(middle - _SLACK * np.abs(middle))


def order_statistics(scores: ArrayLike) -> Array:
    """Offset that is the k-th best score itself, for k = 1…m."""
    descending = -np.sort(-np.asarray(scores, dtype=np.float64))
    return np.asarray(descending - _SLACK * np.abs(descending))


def half_ranks(scores: ArrayLike) -> Array:
    """The k-th best scores, and the middle between each and the next: offsets of the ranks 1, 1½, 2, … m."""
    descending = -np.sort(-np.asarray(scores, dtype=np.float64))
    offsets = np.repeat(descending, 2)[:-1]
    offsets[1::2] = 0.5 * (descending[:-1] + descending[1:])
    return np.asarray(offsets - _SLACK * np.abs(offsets))


def shares_held(n_ranks: int) -> Array:
    """Share of the held-out rows in the set of rank k = 1…m."""
    return np.asarray(np.arange(1, n_ranks + 1) / n_ranks)


def _least_masses(rank_masses: Array) -> Array:
    """Least mass whose set needs rank k: above that of rank k-1, by more than the rounding errors of a mass."""
    return np.append(0.0, rank_masses[:-1] + _ROUNDING)


def offset_at(offsets: Array, mass: ArrayLike, rank_masses: Array | None = None) -> Array:
    r"""Offset of the set of each mass, from the offsets by rank (last axis): :math:`P_{test}(f \ge \rho) \ge \beta`.

    Paper: Fig. 2, inner loop. Difference: an order statistic, without a search. Its bisection ends in the interval of
    offsets that contain the same rows, at the upper end if no share is exactly β; ours is the middle.
    """
    rank_masses = shares_held(offsets.shape[-1]) if rank_masses is None else rank_masses
    return np.asarray(offsets[..., np.searchsorted(_least_masses(rank_masses), mass, side="right") - 1])


def level_at(offsets: Array, scores: ArrayLike, rank_masses: Array | None = None) -> Array:
    """Smallest mass whose set holds a point of this score; 1 for scores below every offset.

    ``level <= mass`` holds exactly when ``score >= offset``.
    """
    edges, levels = level_table(offsets, rank_masses)
    return levels[np.searchsorted(edges, -np.asarray(scores, dtype=np.float64), side="left")]


def level_table(offsets: Array, rank_masses: Array | None = None) -> tuple[Array, Array]:
    """Edges and levels: that of a score is the one at the number of edges below minus the score."""
    rank_masses = shares_held(len(offsets)) if rank_masses is None else rank_masses
    return -offsets, np.append(_least_masses(rank_masses), 1.0)
