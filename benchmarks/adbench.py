"""How well each detector tells labelled anomalies apart on the ADBench tables, by the protocol of published figures.

Takes a folder of .npz files with arrays X and y (1 marks an anomaly). Half of the normal rows fit; the others and all
anomalies are the test. Columns are standardised on the training half; tables are cut to 50 000 rows; the labels are
used for the AUROC only. Published figures resample tables of fewer than 1000 rows to 1000 before they are split, so
that copies of training rows come into the test: with `--published` such tables are run both ways, "as it is" and
"resampled".

`--published FILE` adds the figures of a table with a column Dataset and one for each detector, AUROC × 100. The mass is
the share of normal test rows inside, asked for 0.95. "mvset, standard" leaves out the choice of the scaling; "mvset,
gamma scale" also the choice of the bandwidth: it has that of scikit-learn's `gamma="scale"`.

    python benchmarks/adbench.py FOLDER [--published FILE] [--seeds N] [--rows N] [--quick]
"""

import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from harness import COLOURS, axes, main
from mvset import MinimumVolumeSet

QUESTION = "How well does each detector tell labelled anomalies apart?"
KEYS = ("table", "rows taken")
MAX_ROWS, FEW_ROWS = 50_000, 1000
OURS, STANDARD, SCALE = "mvset", "mvset, standard", "mvset, gamma scale"


class NearestNeighbour(NearestNeighbors):
    """The distance to the fifth neighbour, as in published figures."""

    def score_samples(self, rows):
        """Higher is more normal."""
        return -self.kneighbors(rows)[0][:, -1]


METHODS = {
    OURS: lambda X, seed: MinimumVolumeSet(random_state=seed),
    STANDARD: lambda X, seed: MinimumVolumeSet(scaling="standard", random_state=seed),
    SCALE: lambda X, seed: MinimumVolumeSet(
        scaling="standard", sigma=float(np.sqrt(X.shape[1] * X.var() / 2)), random_state=seed
    ),
    "kNN": lambda X, seed: NearestNeighbour(n_neighbors=5),
    "LOF": lambda X, seed: LocalOutlierFactor(novelty=True),
    "IsolationForest": lambda X, seed: IsolationForest(random_state=seed),
    "OneClassSVM": lambda X, seed: OneClassSVM(),
}


def arguments(parser):
    parser.add_argument("folder", type=Path)
    parser.add_argument("--published", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help="of a table, at most")


def load(path):
    with np.load(path, allow_pickle=True) as table:
        return table["X"].astype(float), table["y"].ravel().astype(int)


def split(X, y, seed, resampled, max_rows):
    """Rows to fit, rows of the test, their labels."""
    rng = np.random.RandomState(seed)
    some = rng.choice(len(X), FEW_ROWS) if resampled else rng.permutation(len(X))[:max_rows]
    X, y = X[some], y[some]
    normal = rng.permutation(np.flatnonzero(y == 0))
    train, rest = normal[: len(normal) // 2], normal[len(normal) // 2 :]
    test = np.concatenate([rest, np.flatnonzero(y == 1)])
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), scaler.transform(X[test]), y[test]


def results(X, y, seed, resampled, max_rows):
    """AUROC of each method, the mass of ours, the seconds of our fit."""
    warnings.simplefilter("ignore")
    train, test, labels = split(X, y, seed, resampled, max_rows)
    areas, mass, seconds = [], 0.0, 0.0
    for name, make in METHODS.items():
        began = time.perf_counter()
        model = make(train, seed).fit(train)
        if name == OURS:
            seconds = time.perf_counter() - began
            mass = float(np.mean(model.predict(test[labels == 0]) == 1))
        areas.append(roc_auc_score(labels, -model.score_samples(test)))
    return [*areas, mass, seconds]


def measure(options):
    published = {}
    if options.published:
        with options.published.open(newline="") as file:
            published = {row["Dataset"].lower(): row for row in csv.DictReader(file)}
    max_rows, seeds = (4000, 2) if options.quick else (options.rows, options.seeds)
    for path in sorted(options.folder.glob("*.npz"), key=lambda path: path.stem.split("_")[-1].lower()):
        X, y = load(path)
        name = path.stem.split("_", 1)[-1]
        for resampled in (False, True) if published and len(X) < FEW_ROWS else (False,):
            found = np.array(
                Parallel(n_jobs=-1)(delayed(results)(X, y, seed, resampled, max_rows) for seed in range(seeds))
            )
            mean = found.mean(axis=0)
            theirs = published.get(name.lower(), {})
            yield {
                "table": name,
                "rows taken": "resampled" if resampled else "as it is",
                "rows": len(X),
                "columns": X.shape[1],
                **dict(zip(METHODS, (round(float(area), 4) for area in mean), strict=False)),
                "spread of ours": round(float(found[:, 0].std(ddof=1)), 4),
                "mass": round(float(mean[-2]), 4),
                "our fit, s": float(mean[-1]),
                **{
                    f"published {k}": float(theirs[k]) / 100 if theirs else np.nan
                    for k in (("KNN", "LOF", "IForest", "OCSVM", "DTE-NP") if published else ())
                },
            }


def paired_interval(differences, rng):
    """95 % interval of a mean over tables, by resampling tables."""
    means = rng.choice(differences, (20_000, len(differences))).mean(axis=1)
    return np.quantile(means, [0.025, 0.975])


def compared(rows, names):
    """Mean, mean rank and paired intervals; all of tables that have all figures."""
    rows = [row for row in rows if not any(np.isnan(row[name]) for name in names)]
    areas = np.array([[row[name] for name in names] for row in rows])
    ranks = np.mean([rankdata(-each) for each in areas], axis=0)
    rng = np.random.default_rng(0)
    yield f"\n| {len(rows)} tables | mean AUROC | mean rank | wins of ours | ours minus this, 95 % interval |"
    yield "| --- | --- | --- | --- | --- |"
    for j, name in enumerate(names):
        text = f"| {name} | {areas[:, j].mean():.4f} | {ranks[j]:.2f} |"
        if j:
            low, high = paired_interval(areas[:, 0] - areas[:, j], rng)
            wins = int(np.sum(areas[:, 0] > areas[:, j]))
            text += f" {wins} | {np.mean(areas[:, 0] - areas[:, j]):+.4f} ({low:+.4f} to {high:+.4f}) |"
        else:
            text += " | |"
        yield text


def summary(rows):
    as_it_is = [row for row in rows if row["rows taken"] == "as it is"]
    yield from compared(as_it_is, list(METHODS))
    if any(name.startswith("published") for name in rows[0]):
        yield "\nBeside published figures, tables of fewer than 1000 rows resampled as there:"
        small = {row["table"] for row in rows if row["rows taken"] == "resampled"}
        beside = [row for row in rows if row["rows taken"] == "resampled" or row["table"] not in small]
        yield from compared(beside, [*METHODS, *(name for name in rows[0] if name.startswith("published"))])
    masses = np.array([row["mass"] for row in as_it_is])
    shown = f"mean {masses.mean():.4f}, {masses.min():.3f} to {masses.max():.3f}"
    yield f"\nmass of normal test rows, asked for 0.95: {shown}"


def draw(rows):
    rows = [row for row in rows if row["rows taken"] == "as it is"]
    rows = sorted(rows, key=lambda row: row[OURS])
    figure, (panel,) = axes(1, width=7.5, height=0.6 + 0.24 * len(rows))
    shown = ("kNN", "LOF", "IsolationForest", "OneClassSVM", OURS)
    for colour, name in zip((*COLOURS[1:5], COLOURS[0]), shown, strict=True):
        size = 42 if name == OURS else 18
        panel.scatter([row[name] for row in rows], range(len(rows)), s=size, color=colour, label=name, zorder=3)
    panel.set_yticks(range(len(rows)), [row["table"] for row in rows])
    panel.set_xlabel("AUROC")
    panel.legend(frameon=False, ncols=5, loc="lower center", bbox_to_anchor=(0.45, 1.0), columnspacing=1.0)
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__], arguments)
