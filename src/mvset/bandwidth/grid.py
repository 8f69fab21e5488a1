"""Candidate bandwidths, from the data when the user gives none."""

from collections.abc import Sequence

import numpy as np
from sklearn.neighbors import NearestNeighbors

from mvset.values import Array

RATIO = 2.0 ** (1.0 / 3.0)  # between neighbours: the volume is flat around its minimum, a finer grid gains nothing
COARSE = RATIO**2  # at first; then neighbours of the best one are tried
_QUERIES = 1000  # rows whose nearest neighbour is searched; the median of so many is known to a few percent
_EXTENSION = 2  # candidates added at an edge, per round
_MAX_ROUNDS = 4  # an edge moves by at most a factor COARSE ** 8 = 40


def bandwidth_grid(X: Array, rng: np.random.RandomState) -> Array:
    """Geometric grid from the nearest-neighbour scale of the rows to their global scale, widest first.

    Below the former no kernel reaches another row, above the latter every kernel covers all rows. Duplicate rows are
    left out: they say nothing about scale.
    """
    # Centred: some neighbour searches expand |x - y|² and lose it far from the origin.
    distinct = np.unique(X - X.mean(axis=0), axis=0)
    global_scale = float(np.sqrt(distinct.var(axis=0).sum()))
    queries = distinct
    if len(distinct) > _QUERIES:
        queries = distinct[rng.choice(len(distinct), _QUERIES, replace=False)]
    distances, _ = NearestNeighbors(n_neighbors=2).fit(distinct).kneighbors(queries)
    local_scale = float(np.median(distances[:, 1]))
    if not (np.isfinite(global_scale) and local_scale > 0):
        raise ValueError(
            f"The rows are too far apart or too close for float64: their global scale is {global_scale:.3g}, the "
            f"median distance to the nearest neighbour {local_scale:.3g}. Rescale them."
        )
    steps = max(1, int(np.ceil(np.log(global_scale / local_scale) / np.log(COARSE))))
    return np.asarray(global_scale * COARSE ** -np.arange(steps + 1.0))


def narrower_bandwidths(sigma: float) -> Array:
    """The next candidates narrower than a bandwidth."""
    return np.asarray(sigma * COARSE ** -np.arange(1, _EXTENSION + 1))


def extend_grid(sigmas: Sequence[float], best: int, rounds: int) -> Array:
    """Candidates beyond the edge on which the best of the sorted bandwidths sits.

    None when it lies inside, or after enough rounds.
    """
    steps = np.arange(1, _EXTENSION + 1)
    if rounds < _MAX_ROUNDS and best == len(sigmas) - 1:
        return np.asarray(sigmas[-1] * COARSE**steps)
    if rounds < _MAX_ROUNDS and best == 0:
        return narrower_bandwidths(sigmas[0])
    return np.empty(0)
