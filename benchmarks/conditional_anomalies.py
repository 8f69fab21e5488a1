"""Anomalies that no single column shows: one value five standard deviations off, given the other columns.

Gaussian rows, every correlation 0.9. In each anomaly one column is moved by five of its conditional deviations. Printed
are the share of anomalies found at a mass of 0.95, beside what the true set finds; the share of those found
whose largest contribution is the column moved; and the mass on new rows.

    python benchmarks/conditional_anomalies.py [--seeds N]
"""

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed

from mvset import MinimumVolumeSet

RHO, N_FRESH = 0.9, 2000


def shares(d, n, scaling, seed):
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, d, n])
    covariance = (1 - RHO) * np.eye(d) + RHO
    precision, factor = np.linalg.inv(covariance), np.linalg.cholesky(covariance)
    X, fresh, anomalies = (rng.normal(size=(size, d)) @ factor.T for size in (n, N_FRESH, N_FRESH))
    moved = rng.integers(d, size=N_FRESH)
    anomalies[np.arange(N_FRESH), moved] += 5 / np.sqrt(precision[0, 0]) * rng.choice([-1, 1], N_FRESH)
    model = MinimumVolumeSet(scaling=scaling, random_state=seed).fit(X)
    found = model.predict(anomalies) == -1
    explained = np.abs(model.explain(anomalies[found])).argmax(axis=1) == moved[found]
    distances = [np.einsum("ij,jk,ik->i", rows, precision, rows) for rows in (fresh, anomalies)]
    best = distances[1] > np.quantile(distances[0], 0.95)
    return found.mean(), best.mean(), explained.mean(), np.mean(model.predict(fresh) == 1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    print("| columns | rows | scaling | found | by the true set | explained | mass |\n|" + " --- |" * 7)
    for d, n in ((5, 200), (20, 300), (52, 500), (52, 5000)):
        for scaling in ("standard", "auto"):
            runs = Parallel(n_jobs=-1)(delayed(shares)(d, n, scaling, seed) for seed in range(options.seeds))
            cells = [f"{value:.3f}" for value in np.mean(runs, axis=0)]
            print(f"| {d} | {n} | {scaling} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
