"""How far the mass on new rows is from 0.95 on real tables, by method.

Takes a folder of .npz files with arrays X and y (1 marks an anomaly), as in the ADBench collection. Of the normal rows
half, 2000 at most, fit, and the other half tells the mass; ten halvings of each table. Columns are standardised, which
ours would not need.

    python benchmarks/real_mass.py FOLDER [NAME ...]
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from mvset import MinimumVolumeSet
from text_table import print_head, print_row

N_SEEDS = 10
METHODS = {
    "mvset": lambda seed: MinimumVolumeSet(random_state=seed),
    "OneClassSVM": lambda seed: OneClassSVM(nu=0.05),
    "IsolationForest": lambda seed: IsolationForest(contamination=0.05, random_state=seed),
    "LocalOutlierFactor": lambda seed: LocalOutlierFactor(novelty=True, contamination=0.05),
}


def halves(path, seed):
    """Normal rows to fit, 2000 at most, and the other half of them, standardised."""
    with np.load(path, allow_pickle=True) as table:
        X, y = table["X"].astype(float), table["y"].ravel()
    normal = X[np.random.RandomState(seed).permutation(np.flatnonzero(y == 0))]
    fitted, held_out = normal[: min(len(normal) // 2, 2000)], normal[len(normal) // 2 :]
    varying = fitted.std(axis=0) > 0
    scaler = StandardScaler().fit(fitted[:, varying])
    return scaler.transform(fitted[:, varying]), scaler.transform(held_out[:, varying])


def masses(path, seed):
    warnings.simplefilter("ignore")
    X, test = halves(path, seed)
    return *X.shape, [np.mean(method(seed).fit(X).predict(test) == 1) for method in METHODS.values()]


def main() -> None:
    paths = sorted(Path(sys.argv[1]).glob("*.npz"))
    wanted = sys.argv[2:]
    paths = [path for path in paths if not wanted or any(name in path.stem for name in wanted)]
    print(f"Mean |mass on new rows - 0.95| over {N_SEEDS} splits; in brackets the mean mass")
    print_head("table", "rows", "columns", *METHODS)
    errors, means = [], []
    for path in paths:
        runs = Parallel(n_jobs=-1)(delayed(masses)(path, seed) for seed in range(N_SEEDS))
        found = np.array([run[2] for run in runs])
        errors.append(np.abs(found - 0.95).mean(axis=0))
        means.append(found.mean(axis=0))
        cells = [f"{error:.4f} ({mass:.3f})" for error, mass in zip(errors[-1], means[-1], strict=True)]
        print_row(path.stem, *runs[0][:2], *cells)
    mean = [f"{e:.4f} ({m:.4f})" for e, m in zip(np.mean(errors, axis=0), np.mean(means, axis=0), strict=True)]
    print_row(f"mean of {len(errors)} tables", "", "", *mean)


if __name__ == "__main__":
    main()
