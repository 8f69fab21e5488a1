"""Signals to a watch at any moment: every table is judged once, and the command of an alarm is run."""

import os
import random
import signal
import sqlite3
import time
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from faults import stage
from faults.signals import CODES
from faults.stage import Moment

SHIFTS = (0.0, 0.0, 0.5, 0.5, 0.0)
NAMES = [f"{i}.csv" for i in range(len(SHIFTS))]
TOLD = "sh -c 'echo $MVSET_ALARM >> told'"


def warm_up() -> None:
    """Import everything, and make the files."""
    stage.warm_up(everything=False)


def _watch(ending: str) -> tuple[str, ...]:
    options = ("--out-dir", "out", "--once", "--settle", "0", "--jobs", "1", "--out-format", ending, "--on-alarm", TOLD)
    return ("watch", "model.mvset", "in", *options)


def _arrive(folder: Path) -> None:
    stage.furnish(folder, "model.mvset")
    (folder / "in").mkdir()
    for i, name in enumerate(NAMES):
        stage.write(stage.readings(300, seed=i, shift=SHIFTS[i]), folder / "in" / name)
        os.utime(folder / "in" / name, (1e9 + i, 1e9 + i))  # their order


def _found(folder: Path, ending: str) -> Any:
    """The state, and the results."""
    with closing(sqlite3.connect(folder / "out" / "watch.sqlite")) as database:
        files = database.execute("SELECT name, number, rows, verdict, evidence, alarm FROM files ORDER BY number")
        return files.fetchall(), [stage.scores(folder / "out" / f"{name}.{ending}") for name in NAMES]


@cache
def _undisturbed(ending: str) -> tuple[Any, int]:
    with TemporaryDirectory() as path:
        folder = Path(path)
        _arrive(folder)
        n = stage.n_calls(_watch(ending), folder)
        return _found(folder, ending), n


def run_case(seed: int, folder: Path) -> str:
    """Disturb a watch up to three times, then let it finish."""
    rng = random.Random(f"watches {seed}")
    ending = rng.choice(["csv", "parquet", "feather", "ndjson"])
    expected, n = _undisturbed(ending)
    _arrive(folder)
    codes = []
    for _ in range(rng.randint(1, 3)):
        signs = rng.choices(list(CODES), (4, 4, 2, 5))
        if rng.random() < 0.3 and signs != [signal.SIGKILL]:
            signs += rng.choices(list(CODES), (4, 3, 1, 0))
        how = stage.choose(rng, {"call": 8, "time": 2, "executable": 0.6})
        if how == "call":
            run = stage.start(_watch(ending), folder, prepare=Moment(_sender(signs, rng), rng.randrange(n)))
        else:
            run = stage.start(_watch(ending), folder, executable=how == "executable")
            run.wait_for_handlers()
            if rng.random() < 0.8:
                run.wait_until((folder / "out" / "watch.sqlite").exists)
            time.sleep(rng.uniform(0.0, 0.3))
            for sign in signs:
                run.send(sign)
        run.wait()
        stage.check_no_process(run)
        stage.check_quiet(run, at_most=3)  # alarms are said, too
        assert sum(line.startswith("Stopped") for line in run.sentences) <= 1
        allowed = {0, *(CODES[sign] for sign in signs), *(-sign for sign in signs if run.executable)}
        assert run.code in allowed, (run.code, signs, run.said)
        codes.append(run.code)
        if run.code >= 0:
            stage.check_tidy(folder)
    last = stage.run(_watch(ending), folder)
    assert last.code == 0, last.said
    assert _found(folder, ending) == expected
    assert sorted(set((folder / "told").read_text().split())) == ["1"]
    assert not list((folder / "out").glob(".*"))
    return " then ".join(f"{code}" for code in codes[:1]) + (" and more" if codes[1:] else "")


def _sender(signs: list[signal.Signals], rng: random.Random) -> Any:
    gap = int(rng.expovariate(0.02))

    def send() -> None:
        if len(signs) > 1:
            Moment(lambda: os.kill(os.getpid(), signs[1]), gap)()
        os.kill(os.getpid(), signs[0])

    return send
