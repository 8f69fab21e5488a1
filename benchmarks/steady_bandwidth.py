"""How much the bandwidth depends on chance in many columns, and what the bandwidth chosen finds.

Each table is fitted five times: with two seeds, with its rows permuted, and twice with its columns rescaled as well.
"largest / smallest" is the ratio of the bandwidths of these fits, for each view. Faulty rows have one column that is
off by four standard deviations; "found" is the share of them below the 5 % quantile of new normal rows, "best" the same
with the best of a grid of bandwidths, given the truth, and "Markov" with the one of the bound without squares.

    python benchmarks/steady_bandwidth.py [--tables FOLDER]
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from mvset import MinimumVolumeSet
from text_table import print_head, print_row

N_ROWS, N_NEW = 800, 4000


def clusters(rng, n, d):
    fixed = np.random.default_rng(5)
    centres, sizes = 2 * fixed.normal(size=(6, d)), fixed.uniform(0.3, 1.2, 6)
    which = rng.integers(6, size=n)
    return centres[which] + sizes[which, np.newaxis] * rng.normal(size=(n, d))


def curve(rng, n, d):
    fixed, where = np.random.default_rng(7), rng.uniform(0.0, 6.0, (n, 1))
    return np.sin(where * fixed.normal(size=(1, d)) + fixed.uniform(0.0, 6.0, (1, d))) + 0.1 * rng.normal(size=(n, d))


DISTRIBUTIONS = {
    "Gaussian, d = 52": lambda rng, n: rng.normal(size=(n, 52)),
    "two Gaussians, d = 25": lambda rng, n: rng.normal(size=(n, 25)) + 5.0 * rng.integers(2, size=(n, 1)),
    "t(3), d = 30": lambda rng, n: rng.standard_t(3, size=(n, 30)),
    "lognormal of deviation 0.6, d = 25": lambda rng, n: rng.lognormal(0.0, 0.6, (n, 25)),
    "six clusters of different size, d = 30": lambda rng, n: clusters(rng, n, 30),
    "noisy curve, d = 30": lambda rng, n: curve(rng, n, 30),
}


def steadiness(X):
    """Ratio of the largest to the smallest bandwidth of each view; None if the number of views differs."""
    warnings.simplefilter("ignore")
    rng, found = np.random.default_rng(3), []
    for k in range(5):
        rows = X if k < 2 else X[rng.permutation(len(X))]
        units = 10.0 ** rng.uniform(-3, 3, X.shape[1]) if k >= 3 else 1.0
        found.append([view.sigma for view in MinimumVolumeSet(random_state=k).fit(rows * units).views_])
    if len({len(sigmas) for sigmas in found}) > 1:
        return None
    return np.max(found, axis=0) / np.min(found, axis=0)


def detection(draw, seed):
    """Share of faulty rows found with the bandwidth chosen, the best one, and the one of the bound without squares."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    X, new = draw(rng, N_ROWS), draw(rng, N_NEW)
    faulty, columns = new.copy(), rng.integers(X.shape[1], size=N_NEW)
    faulty[np.arange(N_NEW), columns] += 4.0 * X.std(axis=0)[columns] * rng.choice([-1, 1], N_NEW)

    def found(model):
        return np.mean(model.score_samples(faulty) < np.quantile(model.score_samples(new), 0.05))

    auto = MinimumVolumeSet(scaling="standard", random_state=seed).fit(X)
    shares, bounds = [], []
    for sigma in auto.sigma_ * 2.0 ** np.arange(-1.5, 2.01, 0.5):
        for nu in (0.4, 0.7, 0.9, 1.0):
            model = MinimumVolumeSet(scaling="standard", sigma=sigma, nu=nu, random_state=seed).fit(X)
            if model.selection_.eligible[0]:
                break
        shares.append(found(model))
        offset = np.mean(model.curves_[0].offsets)
        bounds.append(0.5 * X.shape[1] * np.log(2 * np.pi * sigma**2) - offset)
    return found(auto), max(shares), shares[int(np.argmin(bounds))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=Path, help="folder of tables, as adbench.py takes")
    options = parser.parse_args()
    print_head("rows", "largest / smallest bandwidth", "found", "best", "Markov")
    with Parallel(n_jobs=-1) as run:
        for name, draw in DISTRIBUTIONS.items():
            (ratios,) = run([delayed(steadiness)(draw(np.random.default_rng(1), N_ROWS))])
            shares = np.mean(run(delayed(detection)(draw, seed) for seed in range(4)), axis=0)
            print_row(name, written(ratios), *(f"{share:.3f}" for share in shares))
        for path in sorted(options.tables.glob("*.npz")) if options.tables else ():
            with np.load(path, allow_pickle=True) as table:
                X = table["X"].astype(float)[table["y"].ravel() == 0][:1500]
            if X.shape[1] > 20:
                (ratios,) = run([delayed(steadiness)(X)])
                print_row(f"{path.stem.split('_', 1)[-1]}, d = {X.shape[1]}", written(ratios), "", "", "")


def written(ratios):
    return "views differ" if ratios is None else ", ".join(f"{ratio:.2f}" for ratio in ratios)


if __name__ == "__main__":
    main()
