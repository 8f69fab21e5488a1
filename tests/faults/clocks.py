"""Clocks that jump, stand still or begin in 1970, and files from the future: no crash, no endless loop; files once."""

import os
import pty
import random
import sys
import time
from pathlib import Path
from typing import Any

from faults import stage
from faults.signals import COMMANDS

NAMES = [name for name in COMMANDS if name != "demo"]
FAR = 4_000_000_000.0  # in 2096


def warm_up() -> None:
    """Import everything, and make the files."""
    stage.warm_up()


def run_case(seed: int, folder: Path) -> str:
    """Run a command, or a watch, with an odd clock."""
    rng = random.Random(f"clocks {seed}")
    kind = rng.choice(["jumps", "backwards", "1970", "2096", "still"])
    return f"{kind}: {(_watched if rng.random() < 0.5 else _command)(rng, folder, kind)}"


def _clock(kind: str, rng: random.Random) -> Any:
    """A function that replaces the clock in a fork; that for durations is not changed, as on real machines."""
    began, seed = time.time(), rng.random()

    def prepare() -> None:
        jumps, now = random.Random(seed), [began]

        def told() -> float:
            if kind == "jumps":
                now[0] = began + jumps.choice([-1e8, -3600.0, -1.0, 0.0, 1.0, 3600.0, 1e8])
            elif kind == "backwards":
                now[0] -= 1.0
            elif kind != "still":
                now[0] = {"1970": 5.0, "2096": FAR}[kind]
            return now[0]

        localtime, gmtime = time.localtime, time.gmtime
        time.time, time.time_ns = told, lambda: int(told() * 1e9)
        time.localtime = lambda seconds=None: localtime(told() if seconds is None else seconds)
        time.gmtime = lambda seconds=None: gmtime(told() if seconds is None else seconds)

    return prepare


def _odd_time(rng: random.Random, path: Path) -> None:
    when = rng.choice([0.0, 1.0, time.time() + 86400.0, FAR, time.time() - 3600.0])
    os.utime(path, (when, when))


def _command(rng: random.Random, folder: Path, kind: str) -> str:
    name, prepare = rng.choice(NAMES), _clock(kind, rng)
    command = COMMANDS[name][1]
    stage.furnish(folder, *command.needs)
    for need in command.needs:
        _odd_time(rng, folder / need)
    if rng.random() < 0.3:  # a terminal, for the line of progress
        controller, terminal = pty.openpty()

        def on_terminal() -> None:
            os.dup2(terminal, 2)
            sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
            prepare()

        run = stage.start(command.arguments, folder, prepare=on_terminal)
        os.close(terminal)
        shown = _read_all(controller)
        os.close(controller)
        assert "Traceback" not in shown, shown
        assert "bug in mvset" not in shown, shown
    else:
        run = stage.start(command.arguments, folder, prepare=prepare)
        shown = ""
    run.wait()
    stage.check_quiet(run)
    stage.check_tidy(folder)
    if run.code == 1 and name == "fit" and kind == "1970":  # archives cannot hold such a time
        return "fit refused"
    assert run.code in (0, 3), (run.code, run.said, shown)
    command.content(folder / command.out)
    return name.split()[0]


def _read_all(controller: int) -> str:
    content = b""
    while True:
        try:
            read = os.read(controller, 65536)
        except OSError:  # all have closed it
            break
        if not read:
            break
        content += read
    return content.decode(errors="replace")


def _watched(rng: random.Random, folder: Path, kind: str) -> str:
    """A watch: each table is judged once, also one whose time changes between two runs."""
    stage.furnish(folder, "model.mvset")
    (folder / "in").mkdir()
    names = [f"{i}.csv" for i in range(3)]
    for i, name in enumerate(names):
        stage.write(stage.readings(200, seed=i), folder / "in" / name)
        _odd_time(rng, folder / "in" / name)
    prepare = _clock(kind, rng)
    settle = rng.choice(["0", "0.05"])
    watch = ("watch", "model.mvset", "in", "--out-dir", "out", "--once", "--settle", settle, "--jobs", "1")
    runs = [stage.run(watch, folder, prepare=prepare)]
    _odd_time(rng, folder / "in" / rng.choice(names))
    runs.append(stage.run(watch, folder, prepare=prepare if rng.random() < 0.5 else None))
    for run in runs:
        assert run.code == 0, run.said
        stage.check_quiet(run)
    judged = [line.split(":")[0] for run in runs for line in run.printed.splitlines()]
    assert sorted(judged) == names, (judged, [run.said for run in runs])
    return "watch"
