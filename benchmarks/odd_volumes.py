"""Do error bars cover the volumes of sets that are hard to find? Five needles, a simplex, an IsolationForest.

Sets of other detectors can have any shape. `mass_volume_curve`, `symmetric_difference` and `CalibratedSet` therefore
measure them with four independent draws, each of which adapts by itself, and the standard error includes the spread
between them. One draw is beside it. 20 000 points, 60 seeds.

    python benchmarks/odd_volumes.py [--seeds N]
"""

import argparse
import math

import numpy as np
from joblib import Parallel, delayed

from mvset.volume.measure import measure
from mvset.volume.sampler import INDEPENDENT_DRAWS, VolumeSampler

N_POINTS, N_ROWS = 20_000, 500


def needles(d):
    """Five thin boxes along random axes through random points; their volumes overlap next to nothing."""
    rng = np.random.default_rng(0)
    centres, axes = rng.uniform(-5, 5, (5, d)), [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(5)]
    half = np.append(3.0, np.full(d - 1, 0.1))

    def inside(x):
        return np.any([(np.abs((x - c) @ a) <= half).all(axis=1) for c, a in zip(centres, axes, strict=True)], axis=0)

    def draw(rng, n):
        kind = rng.integers(5, size=n)
        return np.stack([centres[k] + axes[k] @ (half * rng.uniform(-1, 1, d)) for k in kind])

    return draw, inside, math.log(5) + float(np.log(2 * half).sum())


def simplex(d):
    def draw(rng, n):
        return rng.dirichlet(np.ones(d + 1), n)[:, :d]

    return draw, lambda x: (x >= 0).all(axis=1) & (x.sum(axis=1) <= 1), -math.lgamma(d + 1)


def ball(d):
    def draw(rng, n):
        x = rng.normal(size=(n, d))
        return x / np.linalg.norm(x, axis=1, keepdims=True) * rng.uniform(size=(n, 1)) ** (1 / d)

    return draw, lambda x: (x**2).sum(axis=1) <= 1, d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)


SETS = {f"{make.__name__}, d = {d}": (make, d) for make in (needles, simplex, ball) for d in (5, 10)}


def estimate(name, n_draws, seed):
    make, d = SETS[name]
    draw, inside, log_true = make(d)
    X = draw(np.random.default_rng([seed, d]), N_ROWS)
    sample = VolumeSampler("importance", X, N_POINTS, np.random.RandomState(seed), n_draws).draw(inside)
    volume = measure(sample, inside(sample.points)[:, np.newaxis]).estimate(0)
    relative, bar = math.exp(volume.log_value - log_true) - 1, volume.standard_error / volume.value
    return relative, bar, abs(relative) <= 1.96 * bar * (1 + relative)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=60)
    options = parser.parse_args()
    print("| set | draws | mean error | mean bar | covered by ± 1.96 |\n| --- | --- | --- | --- | --- |")
    for name in SETS:
        for n_draws in (1, INDEPENDENT_DRAWS):
            runs = Parallel(n_jobs=-1)(delayed(estimate)(name, n_draws, seed) for seed in range(options.seeds))
            error, bar, covered = np.mean(runs, axis=0)
            print(f"| {name} | {n_draws} | {error:+.1%} | {bar:.1%} | {covered:.0%} |", flush=True)


if __name__ == "__main__":
    main()
