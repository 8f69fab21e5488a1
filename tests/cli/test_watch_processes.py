"""``mvset score --watch`` in processes of their own, which are stopped and killed."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from .test_watch import SHIFTS, arrive, arrive_all, remembered, results

COMMAND = str(Path(sys.executable).parent / "mvset")
WATCH = ["score", "model.mvset", "--watch", "incoming", "--out-dir", "judged", "--settle", "0.1", "--jobs", "1"]

# One process loads the library and the model; each run is a fork of it. They are killed at random times after they have
# begun to judge, until all tables are judged. Prints how many are after each.
KILLED = """
import os, random, signal, sqlite3, sys, time, warnings
from contextlib import closing
from mvset.cli.app import app
from mvset.watch.watcher import Watcher

warnings.simplefilter("ignore", DeprecationWarning)
app(["score", "model.mvset", "today.csv", "--jobs", "1", "--out", "scores.csv"], standalone_mode=False)
random.seed(0)
run, begun, begins = Watcher.run, *os.pipe()

def run_and_say(*arguments, **options):
    os.write(begins, b".")
    return run(*arguments, **options)

Watcher.run = run_and_say
while True:
    child = os.fork()
    if child == 0:
        app(sys.argv[2:])
    os.read(begun, 1)
    time.sleep(random.uniform(0.0, 0.15))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with closing(sqlite3.connect("judged/watch.sqlite")) as database:
        (n,) = database.execute("SELECT COUNT(*) FROM files").fetchone()
    print("judged", n, flush=True)
    if n == int(sys.argv[1]):
        break
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Forks.")
def test_a_watch_that_is_killed_again_and_again_ends_as_one_that_is_not(mvset, folder):
    arrive_all(SHIFTS)
    watch = [*WATCH, "--settle", "0", "--once", "--on-alarm", "sh -c 'echo $MVSET_ALARM >> told'"]
    mvset(*watch)
    expected, expected_results = remembered(), results()
    for path in [*Path("judged").iterdir(), Path("told")]:
        path.unlink()
    killed = [sys.executable, "-c", KILLED, f"{len(SHIFTS)}", *watch]
    done = subprocess.run(killed, check=True, timeout=120, capture_output=True, text=True)
    counts = {line for line in done.stdout.splitlines() if line.startswith("judged")}
    assert len(counts) >= 3  # some were killed in the midst
    mvset(*watch)  # the last may have been killed before its command
    assert (remembered(), results()) == (expected, expected_results)
    assert sorted(set(Path("told").read_text().split())) == ["1", "2"]
    assert not list(Path("judged").glob(".*.partial"))


def test_a_watch_ends_when_it_is_told_to(folder):
    arrive("a.csv")
    processes = {
        sign: subprocess.Popen(
            [COMMAND, *WATCH, "--out-dir", sign.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for sign in (signal.SIGINT, signal.SIGTERM)
    }
    for process in processes.values():
        assert process.stdout.readline().startswith("a.csv: ")
    arrive("b.csv")  # while they watch
    for sign, process in processes.items():
        assert process.stdout.readline().startswith("b.csv: ")
        began = time.monotonic()
        process.send_signal(sign)
        _, said = process.communicate(timeout=60)
        assert time.monotonic() - began < 10  # a loaded machine; less than a second otherwise
        assert process.returncode == 128 + sign
        assert "Traceback" not in said
        stopped = f"Stopped. {sign.name}/watch.sqlite remembers the tables that were judged; the same command goes on"
        assert (stopped in said) == (sign is signal.SIGINT)
        with closing(sqlite3.connect(f"{sign.name}/watch.sqlite")) as database:
            assert database.execute("SELECT name FROM files ORDER BY number").fetchall() == [("a.csv",), ("b.csv",)]
