"""The two-moons experiment of the paper against the loop one would write with scikit-learn and joblib.

n = 2000, 30 bandwidths in [0.01, 0.5], B = 25 splits, 10 000 points for the volumes; both on all cores, same splits and
points. The peer takes minutes.

    python benchmarks/two_moons.py
"""

from __future__ import annotations

import time

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import auc
from sklearn.svm import OneClassSVM

from mvset import MinimumVolumeSet
from mvset.bandwidth.curves import mass_grid
from mvset.calibration.offsets import offset_at, offsets_by_rank
from mvset.calibration.splits import random_splits
from mvset.datasets import two_moons
from mvset.volume.box import draw_box_sample

SIGMAS = np.linspace(0.01, 0.5, 30)
N_SPLITS = 25


def scores_of_one_split(X, split, sigma, points):
    svm = OneClassSVM(nu=0.4, gamma=0.5 / sigma**2).fit(X[split.train])
    return svm.score_samples(X[split.held_out]), svm.score_samples(points)


def scikit_learn_loop(X, splits, masses, sample):
    """Areas by sigma."""
    tasks = [(split, sigma) for sigma in SIGMAS for split in splits]
    results = Parallel(n_jobs=-1)(delayed(scores_of_one_split)(X, *task, sample.points) for task in tasks)
    areas = []
    box_volume = np.exp(sample.log_weights).sum()
    for i in range(len(SIGMAS)):
        held_out, points = zip(*results[i * N_SPLITS : (i + 1) * N_SPLITS], strict=True)
        offsets = offset_at(offsets_by_rank(held_out).mean(axis=0), masses)
        volumes = [box_volume * np.mean(np.mean(points, axis=0) >= offset) for offset in offsets]
        areas.append(auc(masses, volumes))
    return np.array(areas)


def main() -> None:
    X = two_moons(2000, random_state=0)
    settings = {"calibration": "paper", "volume_method": "box", "n_jobs": -1, "random_state": 0}
    model = MinimumVolumeSet(sigma=SIGMAS, splits=N_SPLITS, **settings)
    model.fit(X)  # compiles
    times = []
    for _ in range(3):
        began = time.perf_counter()
        model.fit(X)
        times.append(time.perf_counter() - began)
    print(f"mvset: {', '.join(f'{t:.2f}' for t in times)} s, sigma {model.sigma_:.3f}", flush=True)

    rng = np.random.RandomState(0)
    splits = random_splits(len(X), N_SPLITS, 0.2, rng)
    sample = draw_box_sample(X, 10_000, rng)
    began = time.perf_counter()
    areas = scikit_learn_loop(X, splits, mass_grid(0.95, 0.04, 10), sample)
    theirs = time.perf_counter() - began
    difference = np.abs(np.array([curve.area for curve in model.curves_]) / areas - 1).max()
    print(f"scikit-learn loop: {theirs:.1f} s; areas agree within {100 * difference:.4f} %")
    print(f"ratio: {theirs / np.median(times):.0f}× (median), {theirs / min(times):.0f}× (best)")


if __name__ == "__main__":
    main()
