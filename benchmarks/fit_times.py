"""How long a fit takes on tables that are not nice: ties, duplicates, far outliers, many columns.

Default settings, all cores, beside scikit-learn's IsolationForest in the same run. Any table of up to 10 000 rows and
200 columns should take less than ten seconds on two cores.

    python benchmarks/fit_times.py [NAME ...]
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.ensemble import IsolationForest

from mvset import MinimumVolumeSet


def normal(n, d):
    return lambda rng: rng.normal(size=(n, d))


def correlated(rng):
    return rng.normal(size=(10_000, 20)) @ rng.normal(size=(20, 20))


def one_column_with_ties(rng):
    return rng.poisson(3.0, size=(10_000, 1)).astype(float)


def rounded_sensor(rng):
    return rng.normal(20.0, 2.0, size=(10_000, 1)).round(1)


def duplicates(rng):
    return rng.normal(size=(300, 4))[rng.integers(0, 300, 10_000)]


def far_outlier(rng):
    X = rng.normal(size=(10_000, 3))
    X[0] = 1e12
    return X


def mixed_columns(rng):
    """38 columns: skewed, rounded, mostly zero, two values."""
    n = 10_000
    skewed, rare = rng.lognormal(0.0, 2.0, size=(n, 10)), rng.lognormal(size=(n, 10)) * (rng.random((n, 10)) < 0.1)
    return np.hstack([skewed, rare, rng.normal(size=(n, 10)).round(1), (rng.random((n, 8)) < 0.3).astype(float)])


def heavy_tails(rng):
    return rng.standard_t(1.5, size=(10_000, 5))


def wide(rng):
    return rng.normal(size=(5000, 30)) @ rng.normal(size=(30, 200)) + 0.1 * rng.normal(size=(5000, 200))


TABLES = {
    "2000 x 2": normal(2000, 2),
    "4000 x 2": normal(4000, 2),
    "4000 x 20": normal(4000, 20),
    "10 000 x 2": normal(10_000, 2),
    "10 000 x 10": normal(10_000, 10),
    "10 000 x 20, correlated": correlated,
    "one column with ties": one_column_with_ties,
    "rounded sensor": rounded_sensor,
    "300 rows repeated": duplicates,
    "outlier at 1e12": far_outlier,
    "38 mixed columns": mixed_columns,
    "t(1.5), 5 columns": heavy_tails,
    "5000 x 200, 30 factors": wide,
    "10 000 x 200": normal(10_000, 200),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    MinimumVolumeSet(n_jobs=-1, random_state=0).fit(np.random.default_rng(0).normal(size=(500, 2)))  # compiles
    print("| table | mvset, s | bandwidths | IsolationForest, s |\n| --- | --- | --- | --- |")
    for name, draw in TABLES.items():
        if options.names and not any(part in name for part in options.names):
            continue
        X = draw(np.random.default_rng(0))
        start = time.perf_counter()
        model = MinimumVolumeSet(n_jobs=-1, random_state=0).fit(X)
        middle = time.perf_counter()
        IsolationForest(contamination=0.05, n_jobs=-1, random_state=0).fit(X)
        end = time.perf_counter()
        tried = len(model.selection_.sigmas)
        print(f"| {name} | {middle - start:.2f} | {tried} | {end - middle:.2f} |", flush=True)


if __name__ == "__main__":
    main()
