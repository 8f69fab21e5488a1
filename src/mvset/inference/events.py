r"""Episodes of unusual rows that chance does not explain, in rows in the order of time.

Each row bets against its p-value u: its evidence is the logarithm of a density that is large for small u, the mean of
:math:`\kappa u^{\kappa - 1}` over some κ. An episode is a run of rows with more evidence than any run
within, before or after it that could be added or cut off (W. Ruzzo, M. Tompa, "A linear time algorithm for finding all
maximal scoring subsequences", 1999). Among n normal rows the expected number of episodes with evidence
of at least S is at most

.. math:: n\, e^{-S},

because the product of the bets from any row on is a martingale, which ever reaches :math:`e^S` with probability
:math:`e^{-S}` at most (Ville). Where neighbouring rows are similar, so many rows count as one as did in the fit.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mvset.values import Array, Indices

_KAPPAS = np.array([0.1, 0.5])  # for few rows far out, and for many rows at the border
_COMPARABLE = 0.5  # p-values beyond are worth the same: in "cross" mode they are not comparable


@dataclass(frozen=True)
class Episode:
    """A run of blocks of rows, from the first to the last, whose evidence chance does not explain."""

    first: int
    last: int
    evidence: float
    by_chance: float  # expected number of such episodes in as many normal rows


def row_evidence(p_values: Array) -> Array:
    """Logarithm of the bet of each row against its p-value."""
    capped = np.minimum(p_values, _COMPARABLE)[..., np.newaxis]
    bets = np.mean(_KAPPAS * capped ** (_KAPPAS - 1.0), axis=-1)
    rest = (1.0 - np.mean(_COMPARABLE**_KAPPAS)) / (1.0 - _COMPARABLE)  # so that the density integrates to one
    return np.log(np.where(p_values < _COMPARABLE, bets, rest))


def find_episodes(
    evidence: Array, n_rows: Indices, rows_per_independent_row: float = 1.0, fdr: float = 0.01
) -> list[Episode]:
    """Find the episodes in blocks of rows, up to a rate of false discoveries.

    Parameters
    ----------
    evidence : ndarray of shape (n_blocks,)
        Sum of the evidence of the rows of each block, in order.
    n_rows : ndarray of shape (n_blocks,)
        Number of these rows.
    rows_per_independent_row : float, default=1
        How many neighbouring rows count as one.
    fdr : float, default=0.01
        Bound on the expected share of episodes by chance among those found.

    Returns
    -------
    episodes : list of Episode
        In their order.

    Examples
    --------
    >>> import numpy as np
    >>> from mvset.inference.events import find_episodes, row_evidence
    >>> p_values = np.random.default_rng(0).uniform(size=1000)
    >>> p_values[300:320] = 0.004
    >>> [(episode.first, episode.last) for episode in find_episodes(row_evidence(p_values), np.ones(1000, dtype=int))]
    [(300, 319)]
    """
    runs = _maximal_runs(evidence)
    strength = np.array([strength for _, _, strength in runs]) / rows_per_independent_row
    by_chance = np.sum(n_rows) * np.exp(-strength)
    order = np.argsort(by_chance, kind="stable")
    # Of the k strongest, as many are expected by chance as of the weakest among them.
    enough = np.flatnonzero(by_chance[order] <= fdr * np.arange(1, len(order) + 1))
    chosen = np.sort(order[: enough[-1] + 1]) if len(enough) else order[:0]
    return [Episode(runs[i][0], runs[i][1], float(strength[i]), float(by_chance[i])) for i in chosen]


def _maximal_runs(evidence: NDArray[np.float64]) -> list[tuple[int, int, float]]:
    """All maximal runs of positive sum: first and last block, and sum."""
    runs: list[tuple[int, int, float, float]] = []  # first, last, sum before the first, sum up to the last
    total = 0.0
    for i, value in enumerate(evidence.tolist()):
        before, total = total, total + value
        if value <= 0.0:
            continue
        first, start = i, before
        # The latest run that begins lower; if it also ends lower, both are parts of one.
        while True:
            k = next((k for k in range(len(runs) - 1, -1, -1) if runs[k][2] < start), None)
            if k is None or runs[k][3] >= total:
                break
            first, start = runs[k][0], runs[k][2]
            del runs[k:]
        runs.append((first, i, start, total))
    return [(first, last, end - start) for first, last, start, end in runs]
