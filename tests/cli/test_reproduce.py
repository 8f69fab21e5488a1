"""The installed command, as users run it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [str(Path(sys.executable).parent / "mvset"), "reproduce"]


def run(*arguments, **options):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, **options)


def test_without_a_name_lists_the_experiments(tmp_path):
    done = run(cwd=tmp_path)
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.split("\n\n")[0].splitlines()] == [
        "nu", "sigma", "samples", "outliers", "dimension", "moons", "boston", "nested",
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_name_gives_the_list(tmp_path):
    done = run("sigma", "tau", cwd=tmp_path)
    assert done.returncode == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert "unknown experiment: 'tau'." in said
    assert "Available: nu, sigma, samples, outliers, dimension, moons, boston, nested." in said
    assert list(tmp_path.iterdir()) == []


def test_writes_rows_figures_and_page(tmp_path):
    done = run("boston", "nu", "--quick", "--out", str(tmp_path / "deep" / "results"), "--jobs", "1")
    assert done.returncode == 0
    written = [Path(line) for line in done.stdout.splitlines()]
    expected = ["nu.csv", "nu.svg", "nu.png", "boston.csv", "boston.svg", "boston.png", "README.md"]
    assert [path.name for path in written] == expected
    assert sorted(path.name for path in (tmp_path / "deep" / "results").iterdir()) == sorted(expected)
    assert "boston: 4 of 4 tasks to compute" in done.stderr
    again = run("boston", "--quick", "--out", str(tmp_path / "deep" / "results"))
    assert "boston: 0 of 4 tasks to compute; 4 computed already" in again.stderr


def test_ctrl_c_keeps_finished_rows_and_the_next_run_continues(tmp_path):
    rows = tmp_path / "outliers.csv"
    arguments = [*COMMAND, "outliers", "--quick", "--out", str(tmp_path)]
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not rows.exists():
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines() == [
        "outliers: 8 of 8 tasks to compute",
        f"Stopped. Finished rows are in {tmp_path}; the same command continues from there.",
    ]
    kept = rows.read_text().splitlines()
    n_kept = (len(kept) - 1) // 3
    assert 1 <= n_kept < 8
    done = run("outliers", "--quick", "--out", str(tmp_path))
    assert done.returncode == 0
    assert f"outliers: {8 - n_kept} of 8 tasks to compute; {n_kept} computed already" in done.stderr
    assert set(kept) <= set(rows.read_text().splitlines())
    assert len(rows.read_text().splitlines()) == 1 + 3 * 8


@pytest.mark.parametrize("command", [["--jobs", "0", "--all"], ["--repetitions", "3"]])
def test_wrong_usage_is_reported(command, tmp_path):
    done = run(*command, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_folder_that_cannot_be_created_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    done = run("nu", "--out", str(tmp_path / "file" / "results"))
    assert done.returncode == 1
    assert f"{tmp_path / 'file' / 'results'}: Not a directory." in done.stderr
    assert "Traceback" not in done.stderr


def test_another_file_in_place_of_the_rows_stops_the_run(tmp_path):
    (tmp_path / "nu.csv").write_text("my,own,table\n1,2,3\n")
    done = run("nu", "--out", str(tmp_path))
    assert done.returncode == 1
    assert "nu.csv is not a file of rows" in done.stderr
    assert (tmp_path / "nu.csv").read_text() == "my,own,table\n1,2,3\n"
