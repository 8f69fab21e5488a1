"""Realised mass on rows with missing values: all rows, rows with gaps, complete rows.

Five columns, 1000 training rows. Every value is missing with probability 0.08. "Random" is only that. In "by another
column" the third column is missing mostly where the first is high; in "by its value" mostly where it is high itself.
Two minutes on one core.
"""

import argparse

import numpy as np

from mvset import MinimumVolumeSet

MASS, N_COLUMNS = 0.95, 5


def draw(kind, n, rng):
    """Complete rows."""
    if kind == "correlated":
        return rng.normal(size=(n, 1)) @ [[1.0, 0.9, 0.8, 0.7, 0.6]] + 0.4 * rng.normal(size=(n, N_COLUMNS))
    if kind == "independent":
        return rng.normal(size=(n, N_COLUMNS))
    if kind == "skewed":
        return np.exp(0.6 * rng.normal(size=(n, N_COLUMNS)))
    centres = np.array([[0] * 5, [4] * 5, [0, 4, 0, 4, 0]])
    return centres[rng.integers(3, size=n)] + rng.normal(size=(n, N_COLUMNS))


def with_gaps(X, how, rng):
    """The rows with missing values."""
    missing = rng.uniform(size=X.shape) < 0.08
    if how == "by another column":
        missing[:, 2] = rng.uniform(size=len(X)) < np.where(X[:, 0] > np.quantile(X[:, 0], 0.7), 0.8, 0.02)
    elif how == "by its value":
        missing[:, 2] = rng.uniform(size=len(X)) < np.where(X[:, 2] > 1, 0.6, 0.02)
    return np.where(missing, np.nan, X)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    print(f"{arguments.seeds} seeds each, mass {MASS}; means, and in brackets the standard error")
    print("| columns | missing | rows with gaps | mass | with gaps | complete | indicators |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind in ("correlated", "independent", "skewed", "clusters"):
        for how in ("random", "by another column", "by its value"):
            found = []
            for seed in range(arguments.seeds):
                rng = np.random.default_rng(seed)
                train = with_gaps(draw(kind, 1000, rng), how, rng)
                new = with_gaps(draw(kind, 10_000, rng), how, rng)
                model = MinimumVolumeSet(MASS, missing="impute", random_state=seed).fit(train)
                inside, gaps = model.predict(new) == 1, np.isnan(new).any(axis=1)
                n_indicators = len(model._encoding.imputation.indicators)
                found.append((gaps.mean(), inside.mean(), inside[gaps].mean(), inside[~gaps].mean(), n_indicators))
            error = np.std(found, axis=0, ddof=1)[1] / np.sqrt(len(found))
            share, mass, with_gap, complete, n_indicators = np.mean(found, axis=0)
            print(
                f"| {kind} | {how} | {share:.0%} | {mass:.3f} ({error:.3f}) | {with_gap:.3f} | {complete:.3f} | "
                f"{n_indicators:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
