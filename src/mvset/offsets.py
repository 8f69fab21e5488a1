"""Step 4: held-out scores → one offset per mass.

The offset of mass β on one split is its k-th largest held-out score, with k the least rank whose share k/m of the m
held-out rows reaches β. Averaged over splits rank by rank, these offsets are a decreasing table, and everything about
mass is read off that table: the offset of any mass, and the level of any score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def offsets_by_rank(held_out_scores: ArrayLike) -> NDArray[np.float64]:
    """Mean over splits of the k-th largest held-out score, for k = 1…m. Input: one row per split."""
    descending = -np.sort(-np.atleast_2d(np.asarray(held_out_scores, dtype=np.float64)), axis=1)
    return np.asarray(descending.mean(axis=0))


def offset_at(ranked: NDArray[np.float64], mass: ArrayLike) -> NDArray[np.float64]:
    r"""Offset per mass: on each split the largest ρ with :math:`P_{test}(f \ge \rho) \ge \beta`, then the mean.

    Paper: Fig. 2, inner loop, and the average in Fig. 3. Difference: an order statistic replaces the bisection; the
    result is the same set.
    """
    shares = np.arange(1, len(ranked) + 1) / len(ranked)
    return np.asarray(ranked[np.searchsorted(shares, mass, side="left")])


def level_at(ranked: NDArray[np.float64], scores: ArrayLike) -> NDArray[np.float64]:
    """Smallest mass whose set holds a point of this score; 1 for scores below every offset.

    The offset jumps just after each share k/m, so the smallest mass is the next floating-point number after it:
    ``level <= mass`` then holds exactly when ``score >= offset``.
    """
    rank = np.searchsorted(-ranked, -np.asarray(scores, dtype=np.float64), side="left")
    return np.where(rank == 0, 0.0, np.minimum(np.nextafter(rank / len(ranked), 2.0), 1.0))
