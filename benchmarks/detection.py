"""How well each detector tells labelled anomalies apart on real tables, with default settings: AUROC.

Takes a folder of .npz files with arrays X and y (1 marks an anomaly), as in the ADBench collection. Half of the normal
rows, 2000 at most, fit; the others and all anomalies are held out. Columns are standardised for all detectors; ours
would not need it. The labels are used for the AUROC only.

    python benchmarks/detection.py FOLDER [--seeds N] [NAME ...]
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

from mvset import MinimumVolumeSet
from tables import split


def nearest_neighbours(X, seed):
    neighbours = NearestNeighbors(n_neighbors=5).fit(X)
    return lambda rows: -neighbours.kneighbors(rows)[0][:, -1]


def gaussian_mixture(X, seed):
    fits = [GaussianMixture(k, reg_covar=1e-3, random_state=seed).fit(X) for k in (1, 2, 4, 8) if k < len(X) / 2]
    return min(fits, key=lambda fit: fit.bic(X)).score_samples


METHODS = {
    "mvset": lambda X, seed: MinimumVolumeSet(random_state=seed).fit(X).score_samples,
    "mvset, standard, ν = 0.4": lambda X, seed: (
        MinimumVolumeSet(metric="standard", nu=0.4, random_state=seed).fit(X).score_samples
    ),
    "kNN": nearest_neighbours,
    "GaussianMixture": gaussian_mixture,
    "LOF": lambda X, seed: LocalOutlierFactor(novelty=True).fit(X).score_samples,
    "IsolationForest": lambda X, seed: IsolationForest(random_state=seed).fit(X).score_samples,
    "OneClassSVM": lambda X, seed: OneClassSVM().fit(X).score_samples,
}


def areas(path, seed):
    warnings.simplefilter("ignore")
    X, test, labels = split(path, seed)
    began = time.perf_counter()
    scores = [next(iter(METHODS.values()))(X, seed)]
    spent = time.perf_counter() - began
    scores += [method(X, seed) for method in list(METHODS.values())[1:]]
    return X.shape, [roc_auc_score(labels, -score(test)) for score in scores], spent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*.npz"), key=lambda path: path.stem.split("_")[-1].lower())
    print(f"AUROC, mean of {options.seeds} halvings\n")
    print(f"| table | rows | columns | {' | '.join(METHODS)} | our fit |\n|{' --- |' * (4 + len(METHODS))}")
    everything = []
    for path in paths:
        if options.names and not any(name in path.stem for name in options.names):
            continue
        runs = Parallel(n_jobs=-1)(delayed(areas)(path, seed) for seed in range(options.seeds))
        mean = np.mean([run[1] for run in runs], axis=0)
        everything.append(mean)
        cells = [f"**{value:.3f}**" if value == mean.max() else f"{value:.3f}" for value in mean]
        rows, columns = runs[0][0]
        seconds = np.mean([run[2] for run in runs])
        print(f"| {path.stem} | {rows} | {columns} | {' | '.join(cells)} | {seconds:.1f} s |", flush=True)
    ranks = np.mean([rankdata(-each) for each in everything], axis=0)
    print(f"| mean | | | {' | '.join(f'{value:.4f}' for value in np.mean(everything, axis=0))} | |")
    print(f"| mean rank | | | {' | '.join(f'{value:.2f}' for value in ranks)} | |")


if __name__ == "__main__":
    main()
