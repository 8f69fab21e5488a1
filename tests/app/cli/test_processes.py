"""The installed command in a process of its own, as users run it."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import mvset as library

COMMAND = str(Path(sys.executable).parent / "mvset")


def run(*arguments, **options):
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, **options)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.slow
def test_csv_from_fit_to_score(folder):
    done = run("fit", "normal.csv", "--exclude", "id", "--out", "new.mvset")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("rows      400 of 400\ncolumns   flow, pressure\n")
    assert (folder / "new.mvset").read_bytes()
    done = run("score", "new.mvset", "drifted.csv", "--out", "scores.csv", "--fail-on-drift")
    assert (done.returncode, done.stderr) == (3, "")
    assert "verdict   Unusual" in done.stdout
    assert len((folder / "scores.csv").read_text().splitlines()) == 201


@pytest.mark.slow
def test_parquet_to_json_through_a_pipe(folder):
    table = pa.csv.read_csv("today.csv").select(["pressure", "flow"])
    pa.parquet.write_table(table, "today.parquet")
    score = [COMMAND, "score", "model.mvset", "today.parquet", "--json", "--out", "scores.parquet"]
    with subprocess.Popen(score, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        result = json.load(process.stdout)
    assert process.returncode == 0
    model = library.load("model.mvset")
    rows = table.select(["flow", "pressure"]).to_pandas()
    report = model.check_drift(rows)
    assert result["n_outside"] == report.n_outside
    assert pa.parquet.read_table("scores.parquet")["inside"].to_pylist() == (model.predict(rows) == 1).tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sign", "code", "said"),
    [
        (signal.SIGINT, 130, "Stopped. Nothing was written.\n"),
        pytest.param(signal.SIGTERM, 143, "", marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 129, "", marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, -9, "", marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_run_keeps_the_old_output(folder, sign, code, said):
    rows = np.tile([40.0, 41.0], 4_000_000)  # repetitive: a small file, and work for a while
    pa.parquet.write_table(pa.table({"flow": rows, "pressure": rows}), "long.parquet")
    Path("scores.csv").write_text("old")
    score = [COMMAND, "score", "model.mvset", "long.parquet", "--out", "scores.csv"]
    process = subprocess.Popen(score, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list(folder.glob(".*.partial")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(sign)
    assert process.communicate(timeout=60) == ("", said)
    assert process.returncode == code
    assert Path("scores.csv").read_text() == "old"
    assert len(list(folder.glob(".*.partial"))) == (sign == signal.SIGKILL)  # hidden, and read by no later run


@pytest.mark.slow
def test_a_closed_pipe_is_not_an_error_message(folder):
    with subprocess.Popen(
        [COMMAND, "score", "model.mvset", "today.csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.skipif(sys.platform != "linux", reason="Needs /dev/full.")
def test_help_to_a_full_disk_is_one_sentence(tmp_path):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([COMMAND, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "Standard output: No space left on device.\n")


@pytest.mark.slow
def test_characters_outside_the_terminal_encoding(folder):
    pa.csv.write_csv(pa.csv.read_csv("today.csv").rename_columns(["größe", "flow", "pressure"]), "größen.csv")
    inherited = {name: os.environ[name] for name in os.environ if name not in ("LC_ALL", "LANG", "PYTHONIOENCODING")}
    score = ("score", "model.mvset", "größen.csv", "--keep", "größe", "--json")
    done = run(*score, env={**inherited, "LC_ALL": "C"})
    assert done.returncode == 0
    assert json.loads(done.stdout)["most_unusual"][0]["kept"].keys() == {"größe"}
    done = run("score", "--help", env={**inherited, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "TABLE\\u2026" in done.stdout


def test_a_terminal_shows_progress_and_time_left_on_stderr(folder):
    controller, terminal = pty.openpty()
    fit = [COMMAND, "fit", "normal.csv", "--exclude", "id", "--json"]
    with subprocess.Popen(fit, stdout=subprocess.PIPE, stderr=terminal) as process:
        os.close(terminal)
        json.load(process.stdout)
    seen = b""
    with contextlib.suppress(OSError):  # at the end
        while part := os.read(controller, 1 << 16):
            seen += part
    os.close(controller)
    assert b"fitting" in seen
    assert b"time left" in seen
