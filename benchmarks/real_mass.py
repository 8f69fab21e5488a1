"""How far the mass on new rows is from 0.95 on real tables, by method.

Takes a folder of .npz files with arrays X and y (1 marks an anomaly), as in the ADBench collection. Of the normal rows
half, 2000 at most, fit, and the other half tells the mass; 20 splits of each table. Columns are standardised.

    python benchmarks/real_mass.py FOLDER [NAME ...]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from mvset import MinimumVolumeSet
from mvset.exceptions import TooFewRowsError
from tables import split

N_SEEDS = 20
METHODS = {
    "split": lambda seed: MinimumVolumeSet(random_state=seed),
    "conformal": lambda seed: MinimumVolumeSet(calibration="conformal", random_state=seed),
    "pac": lambda seed: MinimumVolumeSet(calibration="pac", random_state=seed),
    "OneClassSVM": lambda seed: OneClassSVM(nu=0.05),
    "IsolationForest": lambda seed: IsolationForest(contamination=0.05, random_state=seed),
    "LocalOutlierFactor": lambda seed: LocalOutlierFactor(novelty=True, contamination=0.05),
}


def masses(path, seed):
    warnings.simplefilter("ignore")
    X, test, labels = split(path, seed)
    found = []
    for method in METHODS.values():
        try:
            found.append(np.mean(method(seed).fit(X).predict(test[labels == 0]) == 1))
        except TooFewRowsError:
            found.append(np.nan)
    return len(X), X.shape[1], found


def main() -> None:
    paths = sorted(Path(sys.argv[1]).glob("*.npz"))
    wanted = sys.argv[2:]
    paths = [path for path in paths if not wanted or any(name in path.stem for name in wanted)]
    print(f"Mean |mass on new rows - 0.95| over {N_SEEDS} splits; in brackets the mean mass\n")
    print(f"| table | rows | columns | {' | '.join(METHODS)} |\n|{' --- |' * (3 + len(METHODS))}")
    errors = []
    for path in paths:
        runs = Parallel(n_jobs=-1)(delayed(masses)(path, seed) for seed in range(N_SEEDS))
        found = np.array([run[2] for run in runs])
        errors.append(np.abs(found - 0.95).mean(axis=0))
        cells = [
            "too few rows" if np.isnan(error) else f"{error:.4f} ({mass:.3f})"
            for error, mass in zip(errors[-1], found.mean(axis=0), strict=True)
        ]
        print(f"| {path.stem} | {runs[0][0]} | {runs[0][1]} | {' | '.join(cells)} |", flush=True)
    common = np.isfinite(errors).all(axis=1)
    mean = [f"**{error:.4f}**" for error in np.mean(np.array(errors)[common], axis=0)]
    print(f"| mean of the {common.sum()} tables with enough rows for all | | | {' | '.join(mean)} |")


if __name__ == "__main__":
    main()
