"""``mvset score --watch`` in processes of their own, which are stopped and killed."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from .test_watch import SHIFTS, arrive, arrive_all, remembered, results

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


# The command as users run it, in a fork of a process that has loaded the library.
ENDED = """
import os, signal, sys, time, warnings
import mvset_command, mvset.watch.watcher
from mvset.cli.app import app

warnings.simplefilter("ignore", DeprecationWarning)
app(["score", "model.mvset", "today.csv", "--jobs", "1", "--out", "scores.csv"], standalone_mode=False)
for sign in (signal.SIGINT, signal.SIGTERM):
    child = os.fork()
    if child == 0:
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(f"{sign.name}.{name}", os.O_WRONLY | os.O_CREAT), number)
        sys.argv = ["mvset", *sys.argv[1:], "--out-dir", sign.name]
        mvset_command.main()
    for table in ("a.csv", "b.csv"):  # the second arrives while it watches
        os.rename(f"{table}.waiting", f"incoming/{table}")
        while not os.path.exists(f"{sign.name}.stdout") or f"{table}: " not in open(f"{sign.name}.stdout").read():
            assert os.waitpid(child, os.WNOHANG) == (0, 0)
            time.sleep(0.02)
    began = time.monotonic()
    os.kill(child, sign)
    status = os.waitpid(child, 0)[1]
    print(sign.name, os.waitstatus_to_exitcode(status), time.monotonic() - began)
    for table in ("a.csv", "b.csv"):
        os.rename(f"incoming/{table}", f"{table}.waiting")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Forks.")
def test_a_watch_ends_when_it_is_told_to(folder):
    for name in ("a.csv", "b.csv"):
        arrive(name)
        Path("incoming", name).rename(f"{name}.waiting")
    command = [sys.executable, "-W", "ignore", "-c", ENDED, *WATCH]
    done = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True)
    ended = [line.split() for line in done.stdout.splitlines() if line.startswith("SIG")]
    assert [line[:2] for line in ended] == [["SIGINT", "130"], ["SIGTERM", "143"]]
    assert max(float(line[2]) for line in ended) < 5  # a loaded machine; a fraction of a second otherwise
    for name in ("SIGINT", "SIGTERM"):
        said = Path(f"{name}.stderr").read_text()
        assert "Traceback" not in said
        stopped = f"Stopped. {name}/watch.sqlite remembers the tables that were judged; the same command goes on"
        assert (stopped in said) == (name == "SIGINT")
        with closing(sqlite3.connect(f"{name}/watch.sqlite")) as database:
            assert database.execute("SELECT name FROM files ORDER BY number").fetchall() == [("a.csv",), ("b.csv",)]
