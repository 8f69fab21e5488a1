"""`mvset score` on a Parquet file of ten million rows: peak memory, and its rate beside scikit-learn's.

scikit-learn only scores, rows that are in memory already, with a one-class SVM of as many support vectors; the command
reads, scores, explains every row, tests for drift and writes the results. About ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.svm import OneClassSVM

import mvset
from mvset.datasets import paper_mixture

COMMAND = str(Path(sys.executable).parent / "mvset")
N_COLUMNS, CHUNK = 8, 500_000


def write_rows(path, n_rows):
    mixture, written = paper_mixture(N_COLUMNS), 0
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(N_COLUMNS)])
    with pq.ParquetWriter(path, schema) as writer:
        while written < n_rows:
            X = mixture.sample(min(CHUNK, n_rows - written), random_state=written + 1)
            writer.write_table(pa.Table.from_arrays(list(X.T), schema=schema))
            written += len(X)


def peak_and_time(*command):
    began = time.perf_counter()
    done = subprocess.run([COMMAND, *map(str, command)], check=True, capture_output=True, text=True)
    spent = time.perf_counter() - began
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, spent, done.stdout


def scikit_learns_rate(n_support_vectors):
    X = paper_mixture(N_COLUMNS).sample(n_support_vectors, random_state=0)
    model = OneClassSVM(nu=0.999, gamma=0.1).fit(X)  # this nu makes every row a support vector
    rows = paper_mixture(N_COLUMNS).sample(20_000, random_state=1)
    began = time.perf_counter()
    model.score_samples(rows)
    return len(model.support_vectors_), len(rows) / (time.perf_counter() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--fit-rows", type=int, default=5000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table, model, out = (Path(folder) / name for name in ("rows.parquet", "model.mvset", "scores.parquet"))
        small = Path(folder) / "small.parquet"
        write_rows(small, arguments.fit_rows)
        peak_and_time("fit", small, "--out", model)
        write_rows(table, arguments.rows)
        # The peak is that of all commands so far: of a fit to few rows first, so that it is the scoring that counts.
        peak, spent, said = peak_and_time("score", model, table, "--out", out)
        n_support_vectors = len(mvset.load(model)[-1].support_vectors_)
        n_theirs, their_rate = scikit_learns_rate(n_support_vectors)
        size = table.stat().st_size / 2**20
        n_written = pq.ParquetFile(out).metadata.num_rows
    assert n_written == arguments.rows
    ours = arguments.rows / spent
    print(
        f"{arguments.rows:,} rows, {N_COLUMNS} columns, {size:.0f} MiB of Parquet; {n_support_vectors} support vectors"
    )
    print(f"mvset score: {spent:.0f} s, {ours:,.0f} rows/s, peak memory {peak:.0f} MiB")
    print(f"scikit-learn score_samples, {n_theirs} support vectors: {their_rate:,.0f} rows/s")
    print(f"ratio {ours / their_rate:.1f}")
    print(said.splitlines()[-1])


if __name__ == "__main__":
    main()
