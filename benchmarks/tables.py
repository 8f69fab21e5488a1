"""Real tables: the bandwidth chosen against two rules of thumb, by how well it tells labelled anomalies apart.

Takes a folder of .npz files with arrays X and y (1 marks an anomaly), as in the ADBench collection. Half of the normal
rows, 2000 at most, fit; the others and all anomalies are held out. Columns are standardised. The labels are used for
the AUROC only.

    python benchmarks/tables.py FOLDER [NAME ...]
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler

from mvset import MinimumVolumeSet

SEEDS = range(5)


def split(path, seed):
    """Rows to fit, rows held out, their labels."""
    with np.load(path, allow_pickle=True) as table:
        X, y = table["X"].astype(float), table["y"].ravel()
    normal = np.random.RandomState(seed).permutation(np.flatnonzero(y == 0))
    fitted, held_out = normal[: min(len(normal) // 2, 2000)], normal[len(normal) // 2 :]
    test = np.concatenate([held_out, np.flatnonzero(y == 1)])
    varying = X[fitted].std(axis=0) > 0
    scaler = StandardScaler().fit(X[fitted][:, varying])
    return scaler.transform(X[fitted][:, varying]), scaler.transform(X[test][:, varying]), y[test]


def row(path, seed):
    X, test, labels = split(path, seed)
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    model = MinimumVolumeSet(random_state=seed, n_jobs=-1).fit(X)
    spent = time.perf_counter() - began
    sample = X[np.random.RandomState(seed).permutation(len(X))[:1000]]
    rules = {
        "median": np.median(euclidean_distances(sample)[np.triu_indices(len(sample), 1)]),
        "scale": np.sqrt(X.shape[1] * X.var() / 2),  # gamma = 1/(d var) = 1/(2 sigma²)
    }
    areas = [roc_auc_score(labels, -model.score_samples(test))]
    for sigma in rules.values():
        other = MinimumVolumeSet(sigma=sigma, random_state=seed, volume_method="box", n_volume_points=10).fit(X)
        areas.append(roc_auc_score(labels, -other.score_samples(test)))
    selection = model.selection_
    mass = np.mean(model.predict(test[labels == 0]) == 1)
    sizes = [selection.effective_sample_size, selection.n_points]
    return X.shape, [model.sigma_, *rules.values(), *areas, *sizes, mass, spent], selection.criterion


def main() -> None:
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    print(
        "| table | rows | columns | σ chosen / median / scale | AUROC chosen | median | scale | effective of points |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for path in sorted(folder.glob("*.npz"), key=lambda p: p.stem.split("_")[-1].lower()):
        name = path.stem.split("_")[-1]
        if names and name not in names:
            continue
        results = [row(path, seed) for seed in SEEDS]
        values = np.array([result[1] for result in results])
        mean, spread = values.mean(axis=0), values.std(axis=0, ddof=1)
        fallbacks = sum(result[2] != "log volume" for result in results)
        print(
            f"| {name} | {results[0][0][0]} | {results[0][0][1]} | {mean[0]:.2f} / {mean[1]:.2f} / {mean[2]:.2f} "
            f"| {mean[3]:.3f} ± {spread[3]:.3f} | {mean[4]:.3f} ± {spread[4]:.3f} | {mean[5]:.3f} ± {spread[5]:.3f} "
            f"| {mean[6]:.0f} of {mean[7]:.0f} |",
            flush=True,
        )
        print(f"  {name}: mass held out {mean[8]:.3f}, fallbacks {fallbacks}, fit {mean[9]:.2f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
