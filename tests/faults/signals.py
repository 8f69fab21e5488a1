"""Signals at any moment after the start, most of them while files are written.

The output is the old one or a complete new one, nothing else is left, no process is left, the exit code is the one of
the signal, with one sentence at most; and the next run does its work.
"""

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mvset
from faults import stage
from faults.stage import Moment

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGKILL: -9}
OLD = "the old one"


@dataclass(frozen=True)
class Command:
    """A command, the files that it needs, its output, and how to tell that the output is complete."""

    arguments: tuple[str, ...]
    needs: tuple[str, ...]
    out: str  # a file, or a folder
    content: Callable[[Path], Any]  # fails if it is not complete


def _html(path: Path) -> str:
    text = path.read_text()
    assert text.rstrip().endswith("</html>")
    return text


def _demo(folder: Path) -> list[str]:
    """The files of a demo so far."""
    for path in folder.iterdir():
        if path.suffix == ".csv":
            assert len(path.read_text().splitlines()) in (1501, 401), path
        elif path.suffix == ".mvset":
            mvset.load(path)
        elif path.suffix == ".parquet":
            stage.scores(path)
        else:
            _html(path)
    return []


def _rows(folder: Path) -> list[str]:
    """The files of an experiment so far; a figure is drawn as a whole, too."""
    for path in folder.iterdir():
        content = path.read_bytes()
        ends = {".svg": b"</svg>", ".png": b"IEND\xaeB`\x82", ".csv": b"", ".md": b""}
        assert content.strip().endswith(ends[path.suffix]), path
        if path.suffix == ".csv":
            assert len({line.count(b",") for line in content.splitlines()}) == 1, path
            assert content.endswith(b"\n")
    return []


def _onnx(path: Path) -> bytes:
    import onnx

    onnx.checker.check_model(onnx.load(path))
    return path.read_bytes()


def _score(table: str, out: str) -> Command:
    arguments = ("score", "model.mvset", f"today{table}", "--jobs", "1", "--out", f"out{out}")
    return Command(arguments, ("model.mvset", f"today{table}"), f"out{out}", stage.scores)


FIT = ("fit", "normal.csv", "--exclude", "id", "--out", "out.mvset")
REPORT = ("report", "model.mvset", "today.csv", "--out", "out.html")
EXPORT = ("export", "model.mvset", "--onnx", "out.onnx")
REPRODUCE = ("reproduce", "boston", "--quick", "--jobs", "1", "--out", "out")
# By weight.
COMMANDS: dict[str, tuple[float, Command]] = {
    "fit": (4, Command(FIT, ("normal.csv",), "out.mvset", stage.answers)),
    **{f"score to {out}": (3, _score(".csv", out)) for out in stage.RESULTS},
    **{f"score {table}": (1, _score(table, ".csv")) for table in (".xlsx", ".json", ".parquet", ".db")},
    "report": (2, Command(REPORT, ("model.mvset", "today.csv"), "out.html", _html)),
    "export": (2, Command(EXPORT, ("model.mvset",), "out.onnx", _onnx)),
    "demo": (0.5, Command(("demo", "--out", "out"), (), "out", _demo)),
    "reproduce": (0.7, Command(REPRODUCE, (), "out", _rows)),
}


def warm_up() -> None:
    """Import everything, and make the files."""
    stage.warm_up()


@cache
def _undisturbed(name: str) -> tuple[Any, int, int]:
    """The output of a command, and its numbers of moments: from the beginning, and from when it begins to write."""
    command = COMMANDS[name][1]
    with TemporaryDirectory() as path:
        folder = Path(path)
        stage.furnish(folder, *command.needs)
        total = stage.n_calls(command.arguments, folder)
        content = command.content(folder / command.out)
        return content, total, stage.n_calls(command.arguments, folder, "atomic_write")


def run_case(seed: int, folder: Path) -> str:
    """Send a signal, or two, to a command."""
    rng = random.Random(f"signals {seed}")
    name = stage.choose(rng, {name: weight for name, (weight, _) in COMMANDS.items()})
    how = stage.choose(rng, {"at a call": 6, "at a call of writing": 9, "at a time": 4, "executable": 4})
    if how == "executable":  # without long fits: it takes seconds to start
        name = rng.choice([name for name in COMMANDS if name.startswith(("score", "export"))])
    return disturb(name, how, rng, folder)


def disturb(name: str, how: str, rng: random.Random, folder: Path) -> str:
    """Disturb one run of a command."""
    command = COMMANDS[name][1]
    signs = rng.choices(list(CODES), (4, 4, 2, 2))
    if rng.random() < 0.3 and signs != [signal.SIGKILL]:
        signs += rng.choices(list(CODES), (4, 3, 1, 0))  # in quick succession
    stage.furnish(folder, *command.needs)
    out = folder / command.out
    new, total, total_writing = _undisturbed(name)
    had_old = "." in command.out and rng.random() < 0.7
    if had_old:
        out.write_text(OLD)
    if how.startswith("at a call"):
        writing = how.endswith("writing")
        after = rng.randrange(max(1, total_writing if writing else total))
        gap = int(rng.expovariate(0.02))

        def first() -> None:
            if len(signs) > 1:
                Moment(lambda: os.kill(os.getpid(), signs[1]), gap)()
            os.kill(os.getpid(), signs[0])

        run = stage.start(command.arguments, folder, prepare=Moment(first, after, "atomic_write" if writing else ""))
    else:
        run = stage.start(command.arguments, folder, executable=how == "executable")
        run.wait_for_handlers()
        if rng.random() < 0.6:
            run.wait_until(lambda: any(path.name.endswith(".partial") for path in folder.rglob(".*")))
            time.sleep(rng.uniform(0.0, 0.02))
        else:
            time.sleep(rng.uniform(0.0, 1.5 if how == "executable" else 0.4))
        for sign in signs:
            run.send(sign)
            time.sleep(rng.choice([0.0, rng.uniform(0.0, 0.02)]))
    run.wait()
    stage.check_no_process(run)
    stage.check_quiet(run)
    expected = {0, *(CODES[sign] for sign in signs)}
    if run.executable:  # after its last line, a process of Python knows no handlers
        expected |= {-sign for sign in signs}
    assert run.code in expected, (run.code, signs, run.said)
    killed = run.code < 0
    if not killed:
        stage.check_tidy(folder)
    if out.is_dir():
        command.content(out)
    elif had_old and out.read_bytes() == OLD.encode():
        assert run.code != 0
    elif had_old or out.exists():
        assert command.content(out) == new
    else:
        assert run.code != 0
    if killed or rng.random() < 0.2:
        again = stage.run(command.arguments, folder)
        assert again.code in (0, 3), again.said
        assert command.content(out) == new
    ended = {0: "finished before"}.get(run.code, "killed" if killed else f"stopped, {run.code}")
    return f"{'executable' if run.executable else 'fork'}: {ended}"
