"""Realised mass of default fits to a million rows, on a million new rows, beside its standard error.

    python benchmarks/large_mass.py [--rows N] [--seeds N]

The standard error is that of the share of new rows inside, and of the calibration rows that set the offset.
"""

import argparse

import numpy as np

from mvset import MinimumVolumeSet
from mvset.paper.datasets import paper_mixture

MASS = 0.95


def lognormal(n, seed):
    return np.exp(0.6 * np.random.default_rng(seed).normal(size=(n, 3)))


def heavy_tailed(n, seed):
    return np.random.default_rng(seed).standard_t(2.0, size=(n, 4))


SOURCES = {
    "mixture, d = 2": lambda n, seed: paper_mixture(2).sample(n, random_state=seed),
    "mixture, d = 10": lambda n, seed: paper_mixture(10).sample(n, random_state=seed),
    "lognormal, d = 3": lognormal,
    "t(2), d = 4": heavy_tailed,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    print("| rows of | mean mass | least | greatest | largest deviation, standard errors |")
    print("| --- | --- | --- | --- | --- |")
    for name, draw in SOURCES.items():
        masses, deviations = [], []
        for seed in range(args.seeds):
            model = MinimumVolumeSet(MASS, n_jobs=-1, random_state=seed).fit(draw(args.rows, 100 + seed))
            mass = np.mean(model.predict(draw(args.rows, 10_000 + seed)) == 1)
            error = np.sqrt(MASS * (1 - MASS) * (1 / args.rows + 1 / model.sets_.calibration.n_rows))
            masses.append(mass)
            deviations.append(abs(mass - MASS) / error)
        low, mean, high = np.min(masses), np.mean(masses), np.max(masses)
        print(f"| {name} | {mean:.5f} | {low:.5f} | {high:.5f} | {max(deviations):.1f} |", flush=True)
