r"""Would a kernel of local scale make smaller sets? Gibbs' kernel beside the Gaussian one, at their best bandwidths.

Gibbs' kernel is positive definite and has a scale at every point, here the distance to the k-th nearest training row:

    k(x, y) = (2 l(x) l(y) / (l(x)² + l(y)²))^(d/2) exp(-|x - y|² / (s² (l(x)² + l(y)²)))

The volume at equal true mass over the least, as in minimal_volumes.py. Both kernels have the bandwidth that is best by
the truth, so that only their shapes are compared. One one-class SVM of all rows each, ν = 0.4.

    python benchmarks/local_scale.py [--seeds N] [NAME ...]
"""

import argparse

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial.distance import cdist
from sklearn.svm import OneClassSVM

from minimal_volumes import DISTRIBUTIONS, MASS, log_minimum
from mvset.volume.measure import measure
from mvset.volume.sampler import VolumeSampler

N_ROWS, N_FRESH, N_POINTS, NEIGHBOURS = 400, 20_000, 10_000, 20


def gaussian(X):
    scale = X.std(axis=0)
    return np.geomspace(0.1, 2.0, 8), lambda a, b, s: np.exp(-cdist(a / scale, b / scale, "sqeuclidean") / (2 * s**2))


def local_scales(a, X):
    scale = X.std(axis=0)
    return np.partition(cdist(a / scale, X / scale), NEIGHBOURS, axis=1)[:, NEIGHBOURS]


def gibbs(X):
    scale, d = X.std(axis=0), X.shape[1]

    def kernel(a, b, s):
        la, lb = local_scales(a, X)[:, np.newaxis], local_scales(b, X)[np.newaxis]
        total = la**2 + lb**2
        return (2 * la * lb / total) ** (d / 2) * np.exp(-cdist(a / scale, b / scale, "sqeuclidean") / (s**2 * total))

    return np.geomspace(0.25, 4.0, 8), kernel


def no_factor(X):
    return lambda points: 1.0


def inverse_volume(X):
    """One over the volume of a ball of the local scale: the score then estimates a density."""
    return lambda points: local_scales(points, X) ** -X.shape[1]


SCORES = {
    "Gaussian": (gaussian, no_factor),
    "Gibbs": (gibbs, no_factor),
    "Gibbs over local volume": (gibbs, inverse_volume),
}


def ratio(score, fresh, log_least, seed):
    offset = np.quantile(score(fresh), 1 - MASS)
    sampler = VolumeSampler("importance", fresh[:5000], N_POINTS, np.random.RandomState(seed))
    sample = sampler.draw(lambda points: score(points) >= offset)
    return np.exp(measure(sample, (score(sample.points) >= offset)[:, np.newaxis]).log_values[0] - log_least)


def best_ratios(name, seed, log_least):
    draw, _ = DISTRIBUTIONS[name]
    rng = np.random.default_rng([seed, N_ROWS])
    X, fresh = draw(rng, N_ROWS), draw(rng, N_FRESH)
    found = []
    for make, make_factor in SCORES.values():
        (sigmas, kernel), factor = make(X), make_factor(X)
        ratios = []
        for s in sigmas:
            svm = OneClassSVM(kernel="precomputed", nu=0.4).fit(kernel(X, X, s))
            support, weights = X[svm.support_], svm.dual_coef_[0]

            def score(points, s=s, support=support, weights=weights, kernel=kernel, factor=factor):
                chunks = np.array_split(points, max(1, len(points) // 2000))
                return np.concatenate([kernel(chunk, support, s) @ weights * factor(chunk) for chunk in chunks])

            ratios.append(ratio(score, fresh, log_least, seed))
        found.append(min(ratios))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    print(f"| distribution | {' | '.join(SCORES)} |\n|{' --- |' * (1 + len(SCORES))}")
    for name, distribution in DISTRIBUTIONS.items():
        if options.names and not any(part in name for part in options.names):
            continue
        log_least = log_minimum(*distribution)
        runs = Parallel(n_jobs=-1)(delayed(best_ratios)(name, seed, log_least) for seed in range(options.seeds))
        mean, error = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs))
        print(f"| {name} | {' | '.join(f'{m:.3f} ± {e:.3f}' for m, e in zip(mean, error, strict=True))} |", flush=True)


if __name__ == "__main__":
    main()
