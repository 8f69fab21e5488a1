"""Permissions that are lost at any moment: of the output's folder, of tables, of models.

Permissions do not bind root. Where the cases are run by root, the command runs as another user.
"""

import os
import random
import shutil
from pathlib import Path
from typing import Any

from faults import stage
from faults.signals import COMMANDS, OLD, _undisturbed
from faults.stage import Moment

NOBODY = 65534
NAMES = [name for name in COMMANDS if name not in ("demo", "reproduce")]
WATCH = ("watch", "model.mvset", "in", "--out-dir", "out", "--once", "--settle", "0", "--jobs", "1")


def warm_up() -> None:
    """Import everything, and make the files."""
    stage.warm_up()


def run_case(seed: int, folder: Path) -> str:
    """Take a permission away at some moment."""
    rng = random.Random(f"permissions {seed}")
    if rng.random() < 0.2:
        return _watched(rng, folder)
    name = rng.choice(NAMES)
    command = COMMANDS[name][1]
    stage.furnish(folder, *command.needs)
    out = folder / command.out
    new, total, total_writing = _undisturbed(name)
    had_old = rng.random() < 0.7
    if had_old:
        out.write_text(OLD)
    what = rng.choice(["folder", "folder", *command.needs])
    since, n = ("atomic_write", total_writing) if what == "folder" and rng.random() < 0.7 else ("", total)
    lost = folder if what == "folder" else folder / what
    mode = 0o555 if what == "folder" else 0o000
    _give_away(folder)
    run = stage.run(
        command.arguments, folder, prepare=_as_nobody(Moment(lambda: lost.chmod(mode), rng.randrange(n), since))
    )
    _take_back(folder)
    stage.check_no_process(run)
    if run.code == 0:
        assert command.content(out) == new
        said = "finished before"
    else:
        stage.check_refused(run, command.out, *command.needs, str(folder))
        assert out.read_text() == OLD if had_old else not out.exists()
        said = "refused"
    if what == "folder":  # its files could not be removed
        again = stage.run(command.arguments, folder)
        assert again.code in (0, 3), again.said
        assert command.content(out) == new
    else:
        stage.check_tidy(folder)
    return f"{what if what == 'folder' else 'input'}: {said}"


def _watched(rng: random.Random, folder: Path) -> str:
    """A watch loses its folders or a table; when they are back, every table is judged once."""
    stage.furnish(folder, "model.mvset")
    names = [f"{i}.csv" for i in range(3)]
    for each in ("in", "out"):
        (folder / each).mkdir()
    for i, name in enumerate(names):
        stage.write(stage.readings(300, seed=i), folder / "in" / name)
    what = rng.choice(["in", "out", "in/1.csv"])
    lost = folder / what
    mode = {"in": 0o000, "out": 0o555, "in/1.csv": 0o000}[what]
    _give_away(folder)
    n = rng.randrange(20_000) if rng.random() < 0.8 else 0
    first = stage.run(WATCH, folder, prepare=_as_nobody(Moment(lambda: lost.chmod(mode), n)))
    _take_back(folder)
    stage.check_quiet(first, at_most=3)
    assert first.code in (0, 1), first.said
    if what == "in/1.csv":
        os.utime(lost)  # tables that could not be read are tried again when they change
    second = stage.run(WATCH, folder)
    assert second.code == 0, second.said
    judged = [line.split(":")[0] for run in (first, second) for line in run.printed.splitlines()]
    unread = [name for name in names if f"in/{name}" in first.said and what == "in"]
    assert sorted([*judged, *unread]) == names, (judged, first.said, second.said)
    return f"watch, {what}: {'refused' if first.code or first.sentences else 'finished before'}"


def _as_nobody(prepare: Any) -> Any:
    def prepared() -> None:
        if os.geteuid() == 0:
            os.setegid(NOBODY)
            os.seteuid(NOBODY)
        prepare()

    return prepared


def _give_away(folder: Path) -> None:
    if os.geteuid() == 0:
        for path in [folder, *folder.rglob("*")]:
            shutil.chown(path, NOBODY, NOBODY)


def _take_back(folder: Path) -> None:
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    if os.geteuid() == 0:
        for path in [folder, *folder.rglob("*")]:
            shutil.chown(path, 0, 0)
