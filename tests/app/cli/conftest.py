import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest


def readings(n_rows, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    flow = rng.normal(40.0, 2.0, n_rows)
    pressure = 6.0 - 0.05 * flow + rng.normal(0.0, 0.1, n_rows) + shift
    return pa.table({"id": [f"{i:03d}" for i in range(n_rows)], "flow": flow, "pressure": pressure})


@pytest.fixture(scope="session")
def originals(tmp_path_factory, mvset):
    folder = tmp_path_factory.mktemp("originals")
    pa.csv.write_csv(readings(400, seed=0), folder / "normal.csv")
    pa.csv.write_csv(readings(200, seed=1), folder / "today.csv")
    pa.csv.write_csv(readings(200, seed=1, shift=0.3), folder / "drifted.csv")
    done = mvset("fit", folder / "normal.csv", "--exclude", "id", "--out", folder / "model.mvset")
    assert done.exit_code == 0, done.stderr
    return folder


@pytest.fixture
def folder(originals, tmp_path, monkeypatch):
    """A working folder with tables and a model."""
    for path in originals.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return Path(tmp_path)


@pytest.fixture
def refused(mvset, folder):
    """Run something that must fail: with one sentence, nothing on stdout, and every file as it was."""

    def run(*arguments, code=1):
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        done = mvset(*arguments)
        assert done.exit_code == code, done.output
        assert done.stdout == ""
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
        if code == 2:  # in typer's box
            return " ".join(done.stderr.replace("│", " ").split())
        assert done.stderr.endswith("\n")
        return done.stderr[:-1]

    return run
