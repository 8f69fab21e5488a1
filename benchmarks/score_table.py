"""How long `mvset score` takes for each row of a large Parquet file, with results written and without.

The paper's mixture in ten columns, the model of a million rows. Files of two sizes, each scored three times: the time
of a further row is that of their difference, without what it takes to start. All cores.

    python benchmarks/score_table.py [--rows N N]
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mvset.paper.datasets import paper_mixture
from text_table import print_head, print_row

COMMAND = str(Path(sys.executable).parent / "mvset")
N_COLUMNS, CHUNK, N_REPEATS = 10, 500_000, 3


def write_rows(path, n_rows):
    mixture = paper_mixture(N_COLUMNS)
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(N_COLUMNS)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, CHUNK):
            X = mixture.sample(min(CHUNK, n_rows - start), random_state=start + 1)
            writer.write_table(pa.Table.from_arrays(list(X.T), schema=schema))


def seconds(*command):
    began = time.perf_counter()
    subprocess.run([COMMAND, *map(str, command)], check=True, capture_output=True)
    return time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs=2, default=(1_000_000, 3_000_000))
    small, large = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {n: folder / f"{n}.parquet" for n in (small, large)}
        for n, path in files.items():
            write_rows(path, n)
        model, out = folder / "model.mvset", folder / "scores.parquet"
        seconds("fit", files[small], "--out", model)
        ways = {"mvset score": (), "with results written": ("--out", out)}
        print_head("rows", *(f"{way}, s" for way in ways))
        spent = {}
        for n, path in files.items():
            runs = np.array([[seconds("score", model, path, *way) for way in ways.values()] for _ in range(N_REPEATS)])
            spent[n] = np.median(runs, axis=0)
            print_row(n, *(f"{value:.1f}" for value in spent[n]))
        each = 1e6 * (spent[large] - spent[small]) / (large - small)
        print_row("a further row, µs", *(f"{value:.1f}" for value in each))


if __name__ == "__main__":
    main()
