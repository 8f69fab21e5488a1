"""Time, memory, mass and volume of fits to a thousand up to ten million rows, beside scikit-learn's detectors.

The paper's mixture in 2 and 10 columns, mass 0.95, default settings, all cores. Each fit runs in a process of its own,
whose peak memory is recorded; ten million rows are read from a Parquet file. A method is left out of larger tables once
a fit has taken more than twenty seconds. The mass is that of 200 000 new rows, the volume relative to that of the true
set. Writes a table and a picture into a folder.

    python benchmarks/scale.py [--out FOLDER] [--largest N] [--dimensions D ...]
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

MASS = 0.95
METHODS = ("mvset", "IsolationForest", "SGDOneClassSVM", "OneClassSVM")
TOO_SLOW = 20.0  # seconds: of an SVM, ten times the rows take a hundred times as long
FROM_FILE = 10_000_000  # rows
MAX_PEER_ROWS = 1_000_000
FIELDS = ("method", "columns", "rows", "seconds", "peak_mb", "mass", "volume", "difference")


def detector(method, d):
    from sklearn.ensemble import IsolationForest
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDOneClassSVM
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import OneClassSVM

    from mvset import MinimumVolumeSet

    if method == "mvset":
        return MinimumVolumeSet(MASS, n_jobs=-1, random_state=0)
    if method == "IsolationForest":
        return IsolationForest(contamination=1 - MASS, n_jobs=-1, random_state=0)
    if method == "SGDOneClassSVM":
        gamma = 1.0 / (8.0 * d)
        return make_pipeline(
            Nystroem(gamma=gamma, n_components=300, random_state=0), SGDOneClassSVM(nu=1 - MASS, random_state=0)
        )
    return OneClassSVM(nu=1 - MASS)


def write_parquet(path, d, n):
    """The rows in a file, a million at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from mvset.paper.datasets import paper_mixture

    names = [f"c{j}" for j in range(d)]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for part in range(n // 1_000_000):
            rows = paper_mixture(d).sample(1_000_000, random_state=part)
            writer.write_table(pa.table(dict(zip(names, rows.T.copy(), strict=True))))


def fit(method, d, n, path):
    """One fit, in a process of its own: prints what it found."""
    from mvset import MinimumVolumeSet, symmetric_difference
    from mvset.paper.datasets import paper_mixture

    warnings.simplefilter("ignore")
    mixture = paper_mixture(d)
    model, compiling = detector(method, d), mixture.sample(500, random_state=1)
    if method == "mvset":
        MinimumVolumeSet(n_jobs=-1, random_state=0).fit(compiling)
    if path:
        import pyarrow.dataset as ds

        X = ds.dataset(path)
    else:
        X = mixture.sample(n, random_state=0)
    start = time.perf_counter()
    model.fit(X)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    fresh = mixture.sample(200_000, random_state=123)

    def inside(rows):
        return model.predict(rows) == 1

    def truly_inside(rows):
        return mixture.contains(rows, MASS)

    def nowhere(rows):
        return np.zeros(len(rows), bool)

    around, options = fresh[:5000], {"n_points": 20_000, "random_state": 0}
    least = mixture.volume(MASS).value
    print(
        json.dumps(
            {
                "seconds": round(seconds, 3),
                "peak_mb": round(peak),
                "mass": round(float(np.mean(inside(fresh))), 5),
                "volume": round(symmetric_difference(inside, nowhere, around, **options).value / least, 4),
                "difference": round(symmetric_difference(inside, truly_inside, around, **options).value / least, 4),
            }
        )
    )


def measured(method, d, n, path):
    command = [sys.executable, __file__, "--one", method, str(d), str(n), path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {"method": method, "columns": d, "rows": n, **json.loads(done.stdout)}


def draw(rows, path):
    import matplotlib.pyplot as plt

    columns = sorted({row["columns"] for row in rows})
    figure, axes = plt.subplots(1, len(columns), figsize=(5.2 * len(columns), 4.2), sharey=True, layout="constrained")
    colours = dict(zip(METHODS, ("#1f5fa8", "#d9822b", "#4f9d69", "#9b5aa6"), strict=True))
    for ax, d in zip(np.atleast_1d(axes), columns, strict=True):
        for method in METHODS:
            found = [row for row in rows if row["method"] == method and row["columns"] == d]
            if found:
                x, y = [row["rows"] for row in found], [row["seconds"] for row in found]
                width = 2.4 if method == "mvset" else 1.4
                ax.loglog(x, y, "o-", color=colours[method], lw=width, ms=4, label=method)
        ax.set(title=f"{d} columns", xlabel="rows")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25, which="major")
    first = np.atleast_1d(axes)[0]
    first.set_ylabel("seconds to fit")
    first.legend(frameon=False, loc="upper left")
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("docs"))
    parser.add_argument("--largest", type=int, default=FROM_FILE)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 10])
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        method, d, n, path = options.one
        fit(method, int(d), int(n), path)
        return
    found = []
    print(f"| {' | '.join(FIELDS)} |\n|{' --- |' * len(FIELDS)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for d in options.dimensions:
            too_slow = set()
            for n in (1000, 10_000, 100_000, 1_000_000, 10_000_000):
                if n > options.largest:
                    continue
                path = ""
                if n >= FROM_FILE:
                    path = str(Path(folder) / f"{d}.parquet")
                    write_parquet(path, d, n)
                for method in METHODS:
                    if method in too_slow or (method != "mvset" and n > MAX_PEER_ROWS):
                        continue
                    row = measured(method, d, n, path)
                    found.append(row)
                    print(f"| {' | '.join(str(row[name]) for name in FIELDS)} |", flush=True)
                    if row["seconds"] > TOO_SLOW:
                        too_slow.add(method)
    with (options.out / "scale.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(found)
    draw(found, options.out / "scale.png")


if __name__ == "__main__":
    main()
