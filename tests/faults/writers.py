"""Two processes that write the same file: the file is that of one of them. Two watches: the second is refused."""

import os
import random
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import mvset
from faults import stage
from faults.signals import COMMANDS

WATCH = ("watch", "model.mvset", "in", "--once", "--settle", "0", "--jobs", "1")


def warm_up() -> None:
    """Import everything, and make the files."""
    stage.warm_up()


def run_case(seed: int, folder: Path) -> str:
    """Let two write at the same time."""
    rng = random.Random(f"writers {seed}")
    return str(stage.choose(rng, {_commands: 6, _threads: 1, _watches: 3})(rng, folder))


def _commands(rng: random.Random, folder: Path) -> str:
    """Two commands with one output, at the same time; some have the same process number, as in two containers."""
    name = stage.choose(rng, {name: weight for name, (weight, _) in COMMANDS.items()})
    command = COMMANDS[name][1]
    stage.furnish(folder, *command.needs)
    others = tuple(word.replace("today", "other").replace("model.", "other.") for word in command.arguments)
    stage.furnish(folder, *(word for word in others if word.startswith("other")))
    same = rng.random() < 0.5
    begin, begun = os.pipe()

    def prepare() -> None:
        if same:
            os.getpid = lambda: 1
        os.read(begin, 1)  # both wait here

    runs = [stage.start(arguments, folder, prepare=prepare) for arguments in (command.arguments, others)]
    os.write(begun, b"..")
    for run in runs:
        run.wait()
    os.close(begin)
    os.close(begun)
    for run in runs:
        stage.check_quiet(run)
        assert run.code in (0, 3), run.said
    stage.check_tidy(folder)
    found = command.content(folder / command.out)
    alone = []
    for arguments in (command.arguments, others):
        assert stage.run(arguments, folder).code in (0, 3)
        alone.append(command.content(folder / command.out))
    assert found in alone, "a mixture"
    return f"two commands{', one number' if same else ''}: {'the first' if found == alone[0] else 'the second'}"


def _threads(rng: random.Random, folder: Path) -> str:
    """Threads that save different models to one file."""
    stage.furnish(folder, "model.mvset", "other.mvset")
    models = [mvset.load(folder / name) for name in ("model.mvset", "other.mvset")]
    expected = [stage.answers(folder / name) for name in ("model.mvset", "other.mvset")]
    errors: list[Any] = []

    def save(model: Any) -> None:
        try:
            for _ in range(3):
                mvset.save(model, folder / "out.mvset")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=save, args=(models[i % 2],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert stage.answers(folder / "out.mvset") in expected
    stage.check_tidy(folder)
    return "threads that save"


def _watches(rng: random.Random, folder: Path) -> str:
    """Two watches of one folder: with one folder for results each file is judged once; with two by each."""
    stage.furnish(folder, "model.mvset")
    (folder / "in").mkdir()
    names = [f"{i}.csv" for i in range(4)]
    for i, name in enumerate(names):
        stage.write(stage.readings(300, seed=i), folder / "in" / name)
    apart = rng.random() < 0.4
    outs = ["out", "out2" if apart else "out"]
    runs = [stage.start((*WATCH, "--out-dir", out), folder) for out in outs]
    for run in runs:
        run.wait()
        stage.check_quiet(run)
    refused = [run for run in runs if run.code != 0]
    for run in refused:
        stage.check_refused(run, "Another watch uses")
    assert len(refused) < (1 if apart else 2)
    for out in set(outs):
        with closing(sqlite3.connect(folder / out / "watch.sqlite")) as database:
            rows = database.execute("SELECT name, number FROM files ORDER BY name").fetchall()
        assert [name for name, _ in rows] == names
        assert sorted(number for _, number in rows) == [1, 2, 3, 4]
        assert sorted(path.name for path in (folder / out).glob("[0-9]*")) == [f"{name}.csv" for name in names]
        assert not list((folder / out).glob(".*"))
    printed = sorted(line.split(":")[0] for run in runs for line in run.printed.splitlines())
    assert printed == sorted(names * (2 if apart else 1))
    said = "one refused" if refused else "one after the other"
    return f"two watches, {'two folders' if apart else 'one folder'}: {said}"
