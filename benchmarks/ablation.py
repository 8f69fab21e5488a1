"""What each departure from the letter of the paper buys: mass on new rows, asked for 0.95, over 100 samples.

The mixture of the paper with 500 rows. At one bandwidth: independent or balanced splits, and the upper end or the
middle of the interval of offsets. Over the automatic grid: with and without the condition on nu.

    python benchmarks/ablation.py
"""

from __future__ import annotations

import warnings
from unittest import mock

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import ShuffleSplit

from mvset import MinimumVolumeSet
from mvset.calibration.splits import Split
from mvset.datasets import paper_mixture


def upper_ends(held_out_scores):
    return -np.sort(-np.asarray(held_out_scores), axis=1)


def independent_splits(n_rows, n_splits, test_size, rng):
    shuffle = ShuffleSplit(n_splits, test_size=test_size, random_state=rng)
    return [Split(np.sort(train), np.sort(held_out)) for train, held_out in shuffle.split(np.empty(n_rows))]


PATCHES = {
    "upper end": ("mvset.calibration.level_sets.offsets_by_rank", upper_ends),
    "independent": ("mvset.estimators.minimum_volume_set.random_splits", independent_splits),
    "no condition": ("mvset.bandwidth.choice.describes_masses", lambda training_mass, masses: True),
    "no early stop": ("mvset.bandwidth.ranking.describes_masses", lambda training_mass, masses: True),
}


def realised(seed, sigma, n_splits, patches):
    warnings.simplefilter("ignore")
    mixture = paper_mixture()
    X, fresh = mixture.sample(500, random_state=seed), mixture.sample(50_000, random_state=10_000 + seed)
    active = [mock.patch(*PATCHES[name]) for name in patches]
    for patch in active:
        patch.start()
    model = MinimumVolumeSet(sigma=sigma, n_splits=n_splits, random_state=seed).fit(X)
    for patch in active:
        patch.stop()
    return np.mean(model.predict(fresh) == 1), model.sigma_


def main() -> None:
    for title, sigma, n_splits, patches in (
        ("sigma 0.8, 10 independent splits, upper end", 0.8, 10, ["independent", "upper end"]),
        ("sigma 0.8, 50 independent splits, upper end", 0.8, 50, ["independent", "upper end"]),
        ("sigma 0.8, 10 balanced splits, upper end", 0.8, 10, ["upper end"]),
        ("sigma 0.8, 10 balanced splits, middle", 0.8, 10, []),
        ("automatic sigma without the condition on nu", "auto", 10, ["no condition", "no early stop"]),
        ("automatic sigma", "auto", 10, []),
    ):
        runs = Parallel(n_jobs=-1)(delayed(realised)(seed, sigma, n_splits, patches) for seed in range(100))
        masses, sigmas = np.array(runs).T
        print(
            f"{title:<46} mean {masses.mean():.4f}, standard deviation {masses.std(ddof=1):.4f}, "
            f"sigma below 0.3 in {np.sum(sigmas < 0.3)} of 100",
            flush=True,
        )


if __name__ == "__main__":
    main()
