"""How far from minimal the sets are: volume at equal true mass over the true minimum.

Each distribution has a known density, so its Minimum Volume set is known. Scores are cut at their own quantile on
fresh rows, so that every set has the true mass 0.95 and only its shape counts. 400 rows, default settings, beside a
single scaling and nu, and a Gaussian mixture with as many components as the BIC wants.

    python benchmarks/minimal_volumes.py [--seeds N] [--rows N] [NAME ...]
"""

import argparse
import math
import warnings

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from sklearn.mixture import GaussianMixture

from mvset import MinimumVolumeSet
from mvset.volume.measure import measure
from mvset.volume.sampler import VolumeSampler

MASS = 0.95
N_FRESH = 50_000
N_TRUTH = 1_000_000
N_POINTS = 20_000


def normal(mean, covariance):
    law = stats.multivariate_normal(mean, covariance)
    return lambda rng, n: rng.multivariate_normal(np.atleast_1d(mean), np.atleast_2d(covariance), n), law.logpdf


def student(df, d):
    law = stats.multivariate_t(np.zeros(d), np.eye(d), df)
    return lambda rng, n: rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(df, size=(n, 1)) / df), law.logpdf


def lognormal(d, deviation=1.0):
    law = stats.lognorm(deviation)
    return lambda rng, n: rng.lognormal(0.0, deviation, size=(n, d)), lambda x: law.logpdf(x).sum(axis=1)


def mixture(weights, parts):
    def draw(rng, n):
        kind = rng.choice(len(parts), n, p=weights)
        drawn = np.stack([part[0](rng, n) for part in parts])
        return drawn[kind, np.arange(n)]

    return draw, lambda x: np.logaddexp.reduce(
        [np.log(w) + np.reshape(part[1](x), -1) for w, part in zip(weights, parts, strict=True)]
    )


def radial(draw_radius, log_density):
    """A distribution in the plane by its radius."""

    def draw(rng, n):
        angle, radius = rng.uniform(0, 2 * np.pi, n), draw_radius(rng, n)
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])

    def density(x):
        radius = np.linalg.norm(x, axis=1)
        return log_density(radius) - np.log(2 * np.pi * radius)

    return draw, density


def bananas(n_pairs):
    """Pairs of columns (x, x² + noise): the even Rosenbrock distribution."""

    def draw(rng, n):
        x = rng.normal(size=(n, n_pairs))
        return np.stack([x, x**2 + 0.5 * rng.normal(size=(n, n_pairs))], axis=2).reshape(n, -1)

    def density(x):
        first, second = x[:, ::2], x[:, 1::2]
        return (stats.norm.logpdf(first) + stats.norm.logpdf(second, first**2, 0.5)).sum(axis=1)

    return draw, density


def cube(low, high, d):
    return lambda rng, n: rng.uniform(low, high, (n, d)), lambda x: np.where(
        ((x >= low) & (x <= high)).all(axis=1), -d * np.log(high - low), -np.inf
    )


def simplex(rng, n):
    return rng.dirichlet([2, 3, 4], n)[:, :2]


def simplex_density(x):
    parts = np.column_stack([x, 1 - x.sum(axis=1)])
    inside = (parts > 0).all(axis=1)
    density = np.full(len(x), -np.inf)
    density[inside] = (np.log(parts[inside]) * [1, 2, 3]).sum(axis=1)
    return density + math.log(math.gamma(9) / (math.gamma(2) * math.gamma(3) * math.gamma(4)))


DISTRIBUTIONS = {
    "annulus": radial(
        lambda rng, n: np.sqrt(rng.uniform(0.64, 1.44, n)),
        lambda r: np.where((r > 0.8) & (r < 1.2), np.log(2 * np.maximum(r, 1e-9) / 0.8), -np.inf),
    ),
    "correlated, d = 5": normal(np.zeros(5), 0.05 * np.eye(5) + 0.95),
    "t(2), d = 5": student(2, 5),
    "lognormal, d = 4": lognormal(4),
    "lognormal of deviation 0.6, d = 4": lognormal(4, 0.6),
    "two scales, d = 2": mixture([0.5, 0.5], [normal(np.zeros(2), s**2 * np.eye(2)) for s in (0.05, 2.0)]),
    "two scales apart, d = 2": mixture(
        [0.5, 0.5], [normal(np.zeros(2), 0.05**2 * np.eye(2)), normal(np.full(2, 5.0), 4.0 * np.eye(2))]
    ),
    "Rosenbrock, d = 4": bananas(2),
    "banana": bananas(1),
    "simplex": (simplex, simplex_density),
    "ring": radial(lambda rng, n: np.abs(1 + 0.1 * rng.normal(size=n)), lambda r: stats.norm.logpdf(r, 1, 0.1)),
    "3 % contamination": mixture([0.97, 0.03], [normal(np.zeros(3), np.eye(3)), cube(-10, 10, 3)]),
    "bimodal, d = 1": mixture([0.5, 0.5], [normal([0.0], [[1.0]]), normal([6.0], [[0.25]])]),
    "mixture, d = 5": mixture([0.5, 0.5], [normal(np.full(5, m), np.eye(5)) for m in (2.5, 7.5)]),
}


def gaussian_mixture(X, seed):
    fits = [GaussianMixture(k, random_state=seed, reg_covar=1e-6 * X.var()).fit(X) for k in range(1, 9)]
    return min(fits, key=lambda fit: fit.bic(X)).score_samples


METHODS = {
    "standard, ν = 0.4": lambda X, seed: (
        MinimumVolumeSet(MASS, scaling="standard", nu=0.4, random_state=seed).fit(X).score_samples
    ),
    "default": lambda X, seed: MinimumVolumeSet(MASS, random_state=seed).fit(X).score_samples,
    "Gaussian mixture": gaussian_mixture,
}


def log_minimum(draw, log_density):
    """Log volume of the true set: the mean of 1/density over rows inside it."""
    found = np.sort(log_density(draw(np.random.default_rng(0), N_TRUTH)))
    inside = found[int((1 - MASS) * N_TRUTH) :]
    return float(np.log(np.exp(-(inside - inside.min())).sum() / N_TRUTH) - inside.min())


def ratios(name, n_rows, seed, log_least):
    warnings.simplefilter("ignore")
    draw, _ = DISTRIBUTIONS[name]
    rng = np.random.default_rng([seed, n_rows])
    X, fresh = draw(rng, n_rows), draw(rng, N_FRESH)
    found = []
    for method in METHODS.values():
        score = method(X, seed)
        offset = np.quantile(score(fresh), 1 - MASS)
        sampler = VolumeSampler("importance", fresh[:5000], N_POINTS, np.random.RandomState(seed))
        sample = sampler.draw(lambda points, score=score, offset=offset: score(points) >= offset)
        volumes = measure(sample, (score(sample.points) >= offset)[:, np.newaxis])
        found.append(np.exp(volumes.log_values[0] - log_least))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    print(f"Volume at true mass {MASS} over the least, {options.rows} rows, mean of {options.seeds} seeds\n")
    print(f"| distribution | {' | '.join(METHODS)} |\n|{' --- |' * (1 + len(METHODS))}")
    for name, (draw, log_density) in DISTRIBUTIONS.items():
        if options.names and not any(part in name for part in options.names):
            continue
        log_least = log_minimum(draw, log_density)
        runs = Parallel(n_jobs=-1)(
            delayed(ratios)(name, options.rows, seed, log_least) for seed in range(options.seeds)
        )
        mean, error = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs))
        cells = [f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
