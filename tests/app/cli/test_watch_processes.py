"""``mvset watch`` in processes of their own, which are stopped and killed."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from .test_watch import SHIFTS, arrive, arrive_all, remembered, results

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="Forks.")]

WATCH = [
    "score",
    "model.mvset",
    "--out-dir",
    "judged",
    "--jobs",
    "1",
    "--on-alarm",
    "sh -c 'echo $MVSET_ALARM >> told'",
]
OF_MANY = ["incoming", "--settle", "0", "--once"]

# One process loads the library and the model; each run is a fork of it.
DRIVER = """
import os, random, signal, sqlite3, sys, time, warnings
from contextlib import closing
import mvset_command
from mvset.app.cli.app import app
from mvset.app.watch.watcher import Watcher

warnings.simplefilter("ignore", DeprecationWarning)
app(["score", "model.mvset", "today.csv", "--jobs", "1", "--out", "scores.csv"], standalone_mode=False)
watch, of_many, n_tables = eval(sys.argv[1])

# Watches that are ended by signals.
children = {}
for sign in (signal.SIGINT, signal.SIGTERM):
    children[sign] = child = os.fork()
    if child == 0:
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(f"{sign.name}.{name}", os.O_WRONLY | os.O_CREAT), number)
        sys.argv = ["mvset", *watch, "some", "--settle", "0.1", "--out-dir", sign.name]
        mvset_command.main()
for table in ("a.csv", "b.csv"):  # the second arrives while they watch
    os.rename(table, f"some/{table}")
    for sign in children:
        while not os.path.exists(f"{sign.name}.stdout") or f"{table}: " not in open(f"{sign.name}.stdout").read():
            assert os.waitpid(children[sign], os.WNOHANG) == (0, 0)
            time.sleep(0.02)
for sign, child in children.items():
    began = time.monotonic()
    os.kill(child, sign)
    status = os.waitpid(child, 0)[1]
    print("ended", sign.name, os.waitstatus_to_exitcode(status), time.monotonic() - began, flush=True)

# Watches that are killed at random times after they have begun to judge, until all tables are judged.
random.seed(0)
run, begun, begins = Watcher.run, *os.pipe()

def run_and_say(*arguments, **options):
    os.write(begins, b".")
    return run(*arguments, **options)

Watcher.run = run_and_say
while True:
    child = os.fork()
    if child == 0:
        app([*watch, *of_many])
    os.read(begun, 1)
    time.sleep(random.uniform(0.0, 0.15))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with closing(sqlite3.connect("judged/watch.sqlite")) as database:
        (n,) = database.execute("SELECT COUNT(*) FROM files").fetchone()
    print("judged", n, flush=True)
    if n == n_tables:
        break
"""


@pytest.fixture(scope="module")
def driven(tmp_path_factory, originals, mvset):
    """The folder in which watches were ended and killed, what was printed, and what one that was not left there."""
    folder = tmp_path_factory.mktemp("watches")
    for path in originals.iterdir():
        shutil.copy(path, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("a.csv", "b.csv"):
            arrive(name)
            Path("incoming", name).rename(name)
        Path("some").mkdir()
        arrive_all(SHIFTS)
        mvset(*WATCH, *OF_MANY)
        undisturbed = remembered(), results()
        for path in [*Path("judged").iterdir(), Path("told")]:
            path.unlink()
        settings = repr((WATCH, OF_MANY, len(SHIFTS)))
        driver = [sys.executable, "-c", DRIVER, settings]
        done = subprocess.run(driver, check=True, timeout=120, stdout=subprocess.PIPE, text=True)
    return folder, [line.split() for line in done.stdout.splitlines()], undisturbed


def test_a_watch_that_is_killed_again_and_again_ends_as_one_that_is_not(driven, mvset, monkeypatch):
    folder, printed, undisturbed = driven
    monkeypatch.chdir(folder)
    assert len({line[1] for line in printed if line[:1] == ["judged"]}) >= 3  # some were killed in the midst
    mvset(*WATCH, *OF_MANY)  # the last may have been killed before its command
    assert (remembered(), results()) == undisturbed
    assert sorted(set(Path("told").read_text().split())) == ["1", "2"]
    assert not list(Path("judged").glob(".*.partial"))


def test_a_watch_ends_when_it_is_told_to(driven, monkeypatch):
    folder, printed, _ = driven
    monkeypatch.chdir(folder)
    ended = [line[1:] for line in printed if line[:1] == ["ended"]]
    assert [line[:2] for line in ended] == [["SIGINT", "130"], ["SIGTERM", "143"]]
    assert max(float(line[2]) for line in ended) < 5  # a loaded machine; a fraction of a second otherwise
    for name in ("SIGINT", "SIGTERM"):
        said = Path(f"{name}.stderr").read_text()
        assert "Traceback" not in said
        stopped = f"Stopped. {name}/watch.sqlite lists the tables that were scored; the same command continues"
        assert (stopped in said) == (name == "SIGINT")
        with closing(sqlite3.connect(f"{name}/watch.sqlite")) as database:
            assert database.execute("SELECT name FROM files ORDER BY number").fetchall() == [("a.csv",), ("b.csv",)]
