"""Step 9 where volumes cannot be measured: the mass-volume curves averaged over random subsets of the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mvset.bandwidth.choice import select_bandwidth
from mvset.bandwidth.ranking import Candidate, Ranking, rank_bandwidths
from mvset.parallel import Map
from mvset.volume.sampler import SUFFICIENT, VolumeSampler

_SIZE = 5  # columns: the largest number at which the volumes of sets of any shape are measured well
_N_SUBSETS = 20


def points_are_too_few(ranking: Ranking, source: VolumeSampler) -> bool:
    """Whether all points that could be drawn do not suffice to choose, and there are columns to leave out."""
    size = ranking.selection.effective_sample_size
    automatic = source.method == "auto" and len(ranking.curves) > 1
    return automatic and size < SUFFICIENT and source.X.shape[1] > _SIZE


def rank_on_subsets(
    ranking: Ranking,
    solve: Callable[[NDArray[np.float64], NDArray[np.float64]], Sequence[Candidate]],
    masses: NDArray[np.float64],
    source: VolumeSampler,
    n_independent_splits: float,
    run: Map,
) -> Ranking:
    """Choose by the mean over column subsets of the mean log volume, in place of that in all columns.

    `solve` gives the candidates of bandwidths for rows of fewer columns. Distances grow with the root of the number of
    columns, and with them the bandwidths compared. N. Goix, "How to evaluate the quality of unsupervised anomaly
    detection algorithms?", 2016, averages over subsets in this way to compare detectors.
    """
    X, rng = source.X, source.rng
    sigmas = np.array([curve.sigma for curve in ranking.curves])
    shrink = np.sqrt(_SIZE / X.shape[1])
    means, by_split = [], []
    for _ in range(_N_SUBSETS):
        columns = rng.choice(X.shape[1], _SIZE, replace=False)
        part = np.ascontiguousarray(X[:, columns])
        points = VolumeSampler("auto", part, source.n_points, rng)
        curves = rank_bandwidths(solve(part, shrink * sigmas), masses, points, n_independent_splits, run).curves
        means.append([curve.mean_log_volume for curve in curves])
        by_split.append([curve.split_log_volumes for curve in curves])
    averaged = [
        replace(curve, mean_log_volume=float(mean), split_log_volumes=splits)
        for curve, mean, splits in zip(ranking.curves, np.mean(means, axis=0), np.mean(by_split, axis=0), strict=True)
    ]
    best = select_bandwidth(averaged, n_independent_splits, unmeasured_are_small=False)
    size = float(ranking.curves[best].effective_sample_sizes[-1])
    reason = (
        f"Of {len(sigmas)} bandwidths, the widest whose sets are as small as the smallest in the mean over "
        f"{_N_SUBSETS} random subsets of {_SIZE} columns: in all columns the effective sample size is {size:.0f}, and "
        f"{SUFFICIENT} are needed to compare volumes."
    )
    selection = replace(ranking.selection, criterion="feature subsets", reason=reason, effective_sample_size=size)
    return replace(ranking, best=best, selection=selection)
