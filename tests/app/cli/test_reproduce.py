"""The command in this process; what a signal does, in a process of its own."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mvset.paper.experiments.reproduce import EXPERIMENTS
from mvset.paper.experiments.rows import Plan

COMMAND = [str(Path(sys.executable).parent / "mvset"), "reproduce"]


@pytest.fixture
def run(mvset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: mvset("reproduce", *arguments)


def test_without_a_name_lists_the_experiments(run, tmp_path):
    done = run()
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.split("\n\n")[0].splitlines()] == [
        "nu", "sigma", "samples", "outliers", "dimension", "moons", "boston", "nested",
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_name_gives_the_list(run, tmp_path):
    done = run("sigma", "tau")
    assert done.exit_code == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert "unknown experiment: 'tau'." in said
    assert "Available: nu, sigma, samples, outliers, dimension, moons, boston, nested." in said
    assert list(tmp_path.iterdir()) == []


def test_writes_rows_figures_and_page(run, tmp_path, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "boston", replace(EXPERIMENTS["boston"], quick=Plan([{}], 2)))
    done = run("boston", "nu", "--quick", "--out", tmp_path / "deep" / "results", "--jobs", "1")
    assert done.exit_code == 0
    written = [Path(line) for line in done.stdout.splitlines()]
    expected = ["nu.csv", "nu.svg", "nu.png", "boston.csv", "boston.svg", "boston.png", "README.md"]
    assert [path.name for path in written] == expected
    assert sorted(path.name for path in (tmp_path / "deep" / "results").iterdir()) == sorted(expected)
    assert "boston: 2 of 2 tasks to compute" in done.stderr
    again = run("boston", "--quick", "--out", tmp_path / "deep" / "results", "--jobs", "1")
    assert "boston: 0 of 2 tasks to compute; 2 computed already" in again.stderr


@pytest.mark.slow
def test_ctrl_c_keeps_finished_rows_and_the_next_run_continues(run, tmp_path, monkeypatch):
    rows = tmp_path / "boston.csv"
    arguments = [*COMMAND, "boston", "--out", str(tmp_path), "--jobs", "2"]  # 50 tasks: no hurry to interrupt it
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not rows.exists():
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines() == [
        "boston: 50 of 50 tasks to compute",
        f"Stopped. Finished rows are in {tmp_path}; the same command continues from there.",
    ]
    kept = rows.read_text().splitlines()
    n_kept = len({line.split(",")[0] for line in kept[1:]})
    assert 1 <= n_kept < 50
    monkeypatch.setitem(EXPERIMENTS, "boston", replace(EXPERIMENTS["boston"], full=Plan([{}], n_kept + 1)))
    done = run("boston", "--out", tmp_path, "--jobs", "1")
    assert done.exit_code == 0
    assert f"boston: 1 of {n_kept + 1} tasks to compute; {n_kept} computed already" in done.stderr
    now = rows.read_text().splitlines()
    assert set(kept) <= set(now)
    assert len(now) - 1 == (len(kept) - 1) / n_kept * (n_kept + 1)


@pytest.mark.parametrize("command", [["--jobs", "0", "--all"], ["--repetitions", "3"]])
def test_wrong_usage_is_reported(command, run, tmp_path):
    done = run(*command)
    assert done.exit_code == 2
    assert command[0] in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_created_is_named(run, tmp_path):
    (tmp_path / "file").write_text("")
    done = run("nu", "--out", tmp_path / "file" / "results")
    assert done.exit_code == 1
    assert f"{tmp_path / 'file' / 'results'}: Not a directory." in done.stderr


def test_another_file_in_place_of_the_rows_stops_the_run(run, tmp_path):
    (tmp_path / "nu.csv").write_text("my,own,table\n1,2,3\n")
    done = run("nu", "--out", tmp_path)
    assert done.exit_code == 1
    assert "nu.csv is not a file of rows" in done.stderr
    assert (tmp_path / "nu.csv").read_text() == "my,own,table\n1,2,3\n"
