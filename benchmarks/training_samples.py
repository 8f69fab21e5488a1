"""How many rows should a split train on, and how many splits? Quality and time of fits to large tables.

The paper's mixture: symmetric difference to the true set of mass 0.95 over its volume, and seconds of the fit. The
first table has fifty thousand rows and different training samples; the second compares the defaults with the full
solve, in which every split trains on four fifths of the rows.

    python benchmarks/training_samples.py [--seeds N] [--dimensions D ...] [--sections samples defaults]
"""

import argparse
import time
import warnings

import numpy as np

from mvset import MinimumVolumeSet, symmetric_difference
from mvset.paper.datasets import paper_mixture

MASS = 0.95


def quality(d, n, seed, **settings):
    """Symmetric difference over the volume of the true set, and seconds of the fit."""
    mixture = paper_mixture(d)
    X = mixture.sample(n, random_state=seed)
    start = time.perf_counter()
    model = MinimumVolumeSet(MASS, n_jobs=-1, random_state=seed, **settings).fit(X)
    seconds = time.perf_counter() - start
    difference = symmetric_difference(
        model, lambda rows: mixture.contains(rows, MASS), X[:5000], n_points=20_000, random_state=0
    )
    return difference.value / mixture.volume(MASS).value, seconds


def cell(d, n, n_seeds, **settings):
    found = np.array([quality(d, n, seed, **settings) for seed in range(n_seeds)])
    return f"{found[:, 0].mean():.3f} ({found[:, 1].mean():.1f} s)"


def samples(dimensions, n_seeds):
    print(f"\n50 000 rows\n\n| splits x rows | {' | '.join(f'd = {d}' for d in dimensions)} |")
    print(f"|{' --- |' * (1 + len(dimensions))}")
    for n_splits, size in ((10, 250), (10, 500), (10, 1000), (10, 2000), (20, 500), (20, 1000), (5, 2000)):
        cells = [cell(d, 50_000, n_seeds, splits=n_splits, max_train_samples=size) for d in dimensions]
        print(f"| {n_splits} x {size} | {' | '.join(cells)} |", flush=True)


def defaults(dimensions, n_seeds):
    print(f"\n| rows | | {' | '.join(f'd = {d}' for d in dimensions)} |\n|{' --- |' * (2 + len(dimensions))}")
    for n in (4001, 8000, 10_000, 20_000, 100_000):
        for name, settings in (("default", {}), ("all rows train", {"max_train_samples": None})):
            if settings and n > 10_000:
                continue
            cells = [cell(d, n, n_seeds, **settings) for d in dimensions]
            print(f"| {n} | {name} | {' | '.join(cells)} |", flush=True)


SECTIONS = {"samples": samples, "defaults": defaults}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 6, 20])
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.sections:
        SECTIONS[name](options.dimensions, options.seeds)


if __name__ == "__main__":
    main()
