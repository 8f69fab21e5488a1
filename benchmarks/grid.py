"""How long the paper's whole experiment takes: ours against the loop one would write with scikit-learn and joblib.

Two moons, n = 2000, 30 bandwidths in [0.01, 0.5], B = 25 splits, 10 000 points for the volumes; both on all cores, with
the same splits and points. The limit is that of the kernel values alone: one matrix of the rows and one of the points
for each bandwidth. The loop takes minutes; `--quick` takes 10 bandwidths and 5 splits.

    python benchmarks/grid.py [--quick]
"""

import os
import sys
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import auc
from sklearn.svm import OneClassSVM

from harness import COLOURS, axes, in_turn, limit, main
from mvset.bandwidth.curves import mass_grid
from mvset.calibration.offsets import offset_at, offsets_by_rank
from mvset.calibration.splits import random_splits
from mvset.paper import CalibratedOneClassSVM
from mvset.paper.datasets import two_moons
from mvset.volume.box import draw_box_sample

QUESTION = "How long does the paper's whole grid take?"
KEYS = ("bandwidths", "splits")
N_POINTS = 10_000
# A fit is short beside the loop: several before it and after it, as a busy moment would fall on one of them alone.
OURS = tuple(f"ours, {i}" for i in range(6))
N_BEFORE = len(OURS) // 2


def scores_of_one_split(X, split, sigma, points):
    svm = OneClassSVM(nu=0.4, gamma=0.5 / sigma**2).fit(X[split.train])
    return svm.score_samples(X[split.held_out]), svm.score_samples(points)


def scikit_learn_loop(X, sigmas, n_splits):
    """Areas by sigma."""
    rng = np.random.RandomState(0)
    splits, sample = random_splits(len(X), n_splits, 0.2, rng), draw_box_sample(X, N_POINTS, rng)
    masses = mass_grid(0.95, 0.04, 10)
    tasks = [(split, sigma) for sigma in sigmas for split in splits]
    results = Parallel(n_jobs=-1)(delayed(scores_of_one_split)(X, *task, sample.points) for task in tasks)
    areas = []
    box_volume = np.exp(sample.log_weights).sum()
    for i in range(len(sigmas)):
        held_out, points = zip(*results[i * n_splits : (i + 1) * n_splits], strict=True)
        offsets = offset_at(offsets_by_rank(held_out).mean(axis=0), masses)
        volumes = [box_volume * np.mean(np.mean(points, axis=0) >= offset) for offset in offsets]
        areas.append(auc(masses, volumes))
    return np.array(areas)


def measure(options):
    X = two_moons(2000, random_state=0)
    for n_sigmas, n_splits in ((10, 5),) if options.quick else ((10, 5), (30, 25)):
        sigmas = np.linspace(0.01, 0.5, n_sigmas)
        model = CalibratedOneClassSVM(sigmas=sigmas, n_splits=n_splits, n_jobs=-1, random_state=0).fit(X)  # compiles
        areas = []
        calls = dict.fromkeys(OURS[:N_BEFORE], partial(model.fit, X))
        calls["theirs"] = lambda sigmas=sigmas, n=n_splits, areas=areas: areas.append(scikit_learn_loop(X, sigmas, n))
        calls |= dict.fromkeys(OURS[N_BEFORE:], partial(model.fit, X))
        found = in_turn(calls, 2 if n_sigmas > 10 else 3, warm_up=False)
        ours = np.concatenate([found[name].seconds for name in OURS])
        kernel_values = n_sigmas * (len(X) ** 2 / 2 + len(X) * N_POINTS)
        yield {
            "bandwidths": n_sigmas,
            "splits": n_splits,
            "mvset, s": float(np.median(ours)),
            "spread": float(np.ptp(ours) / 2 / np.median(ours)),
            "scikit-learn loop, s": found["theirs"].median,
            "ratio": found["theirs"].median / float(np.median(ours)),
            "limit, s": limit(kernel_values, X.shape[1], cores=os.cpu_count() or 1),
            "largest difference of areas": float(
                np.abs(np.array([curve.area for curve in model.curves_]) / areas[0] - 1).max()
            ),
        }


def draw(rows):
    figure, (panel,) = axes(1)
    names = [f"{row['bandwidths']} bandwidths,\n{row['splits']} splits" for row in rows]
    shown = {"mvset, s": "mvset", "scikit-learn loop, s": "loop of scikit-learn", "limit, s": "limit"}
    for i, (field, label) in enumerate(shown.items()):
        heights = np.arange(len(rows)) + 0.26 * (1 - i)
        panel.barh(heights, [row[field] for row in rows], 0.24, color=(*COLOURS[:2], "#7a7a7a")[i], label=label)
    panel.set_xscale("log")
    panel.set_yticks(range(len(rows)), names)
    panel.set_xlabel("seconds")
    panel.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.15), ncols=3)
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
