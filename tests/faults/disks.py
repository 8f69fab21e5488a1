"""Disks that are full, or fail, at any byte: one sentence, the old output is kept, and nothing half-written is left."""

import errno
import os
import random
import resource
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mvset
from faults import stage
from faults.signals import COMMANDS, OLD, Command

NAMES = [name for name in COMMANDS if name not in ("demo", "reproduce")]
WATCH = ("watch", "model.mvset", "in", "--out-dir", "out", "--once", "--settle", "0", "--jobs", "1")


def warm_up() -> None:
    """Import everything, and make the files."""
    stage.warm_up()


def run_case(seed: int, folder: Path) -> str:
    """Let the disk be full, or fail."""
    rng = random.Random(f"disks {seed}")
    ways: dict[Any, float] = {_limited: 6, _failing: 4, _printed: 1}
    if _can_mount():
        ways |= {_full: 3, _full_folder: 2, _watched: 2}
    return str(stage.choose(rng, ways)(rng, folder))


@cache
def _can_mount() -> bool:
    """Whether small disks can be made: by root, and not in every container."""
    with TemporaryDirectory() as folder:
        try:
            _with_disk(Path(folder), 16, str)
        except (OSError, subprocess.CalledProcessError):
            return False
    return True


def _check_failed(run: stage.Run, command: Command, folder: Path, had_old: bool) -> str:
    out = folder / command.out
    stage.check_no_process(run)
    if run.code == 0:  # there was enough for the output
        assert not had_old or out.read_bytes() != OLD.encode()
        command.content(out)
        stage.check_tidy(folder)
        return "enough"
    stage.check_refused(run, command.out, "space", stage.TEMPORARY, "today")
    stage.check_tidy(folder)
    assert out.read_text() == OLD if had_old else not out.exists()
    return "refused"


def _prepared(rng: random.Random, folder: Path, names: list[str] = NAMES) -> tuple[Command, bool]:
    command = COMMANDS[rng.choice(names)][1]
    stage.furnish(folder, *command.needs)
    had_old = "." in command.out and rng.random() < 0.7
    if had_old:
        (folder / command.out).write_text(OLD)
    return command, had_old


def _limited(rng: random.Random, folder: Path) -> str:
    """A limit on the size of files, which pyarrow's writing meets as well: `ulimit -f`."""
    command, had_old = _prepared(rng, folder)
    limit = int(10 ** rng.uniform(2.5, 5.7))  # more than the sentence on stderr has
    executable = rng.random() < 0.1 and "fit" not in command.arguments  # whose fits take long

    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    run = stage.run(command.arguments, folder, prepare=prepare)
    said = _check_failed(run, command, folder, had_old)
    if executable or said == "refused":
        again = stage.run(command.arguments, folder, executable=executable)
        assert again.code in (0, 3), again.said
        command.content(folder / command.out)
    return f"limited size: {said}"


def _failing(rng: random.Random, folder: Path) -> str:
    """Calls of the system that fail: the rename, writes of Python, the flush of a file."""
    where = rng.choice(["replace", "open", "write"])
    by_python = ["fit", "report", "export", "score to .ndjson"]
    command, had_old = _prepared(rng, folder, NAMES if where == "replace" else by_python)
    number = rng.choice([errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    def prepare() -> None:
        if where == "replace":
            os.replace = fail
        else:
            for name in ("write_text", "write_bytes", "open"):
                setattr(Path, name, _failing_aside(getattr(Path, name), fail, after=where == "write"))

    run = stage.run(command.arguments, folder, prepare=prepare)
    return f"failing {where}: {_check_failed(run, command, folder, had_old)}"


def _failing_aside(method: Callable[..., Any], fail: Callable[..., Any], after: bool) -> Callable[..., Any]:
    """A method of paths that fails for temporary files: at once, or when half is written."""

    def called(self: Path, *arguments: Any, **options: Any) -> Any:
        if not self.name.endswith(".partial"):
            return method(self, *arguments, **options)
        if after and method.__name__ != "open":
            method(self, arguments[0][: len(arguments[0]) // 2], **options)
        return fail()

    called.__name__ = method.__name__
    return called


def _with_disk(folder: Path, kilobytes: int, act: Callable[[], str]) -> str:
    """Do something while a folder is a small disk."""
    folder.mkdir(exist_ok=True)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "faults", folder], check=True, stderr=subprocess.DEVNULL
    )
    try:
        return act()
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _full(rng: random.Random, folder: Path) -> str:
    """A small disk for the output."""
    command, _ = _prepared(rng, folder)
    disk = folder / "disk"
    arguments = [f"disk/{word}" if word == command.out else word for word in command.arguments]

    def act() -> str:
        had_old = rng.random() < 0.5
        if had_old:
            (disk / command.out).write_text(OLD)
        run = stage.run(arguments, folder)
        return _check_failed(
            run, Command(tuple(arguments), (), f"disk/{command.out}", command.content), folder, had_old
        )

    return f"small disk: {_with_disk(disk, rng.choice([8, 16, 32, 64, 128, 256]), act)}"


def _full_folder(rng: random.Random, folder: Path) -> str:
    """A small disk for temporary files: what is spooled from pipes, workbooks and archives."""
    ending = rng.choice([".xlsx", ".json", ".db", "-"])
    stage.furnish(folder, "model.mvset", "today.csv" if ending == "-" else f"today{ending}")
    table = "-" if ending == "-" else f"today{ending}"
    (folder / "out.csv").write_text(OLD)
    shutil.rmtree(folder / stage.TEMPORARY)

    def act() -> str:
        run = stage.run(
            ["score", "model.mvset", table, "--jobs", "1", "--out", "out.csv"],
            folder,
            stdin=folder / "today.csv" if table == "-" else None,
        )
        command = Command((), (), "out.csv", stage.scores)
        return _check_failed(run, command, folder, had_old=True)

    return (
        f"small temporary folder: {_with_disk(folder / stage.TEMPORARY, rng.choice([12, 24, 60, 100, 200, 2000]), act)}"
    )


def _printed(rng: random.Random, folder: Path) -> str:
    """Standard output is a full disk."""
    stage.furnish(folder, "model.mvset", "today.csv")
    score = ("score", "model.mvset", "today.csv", "--jobs", "1")
    arguments = rng.choice([score, (*score, "--json"), ("info", "model.mvset"), ("--help",), ("reproduce",)])
    run = stage.run(arguments, folder, stdout="/dev/full", executable=True)
    assert run.code == 1, (run.code, run.said)
    stage.check_quiet(run)
    stage.check_tidy(folder)
    return "full standard output: refused"


def _watched(rng: random.Random, folder: Path) -> str:
    """A small disk for the results and the state of a watch; a larger one later lets it judge the rest, once each."""
    stage.furnish(folder, "model.mvset")
    (folder / "in").mkdir()
    names = [f"{i}.csv" for i in range(4)]
    for i, name in enumerate(names):
        stage.write(stage.readings(400, seed=i), folder / "in" / name)
    out = folder / "out"

    def act() -> str:
        first = stage.run(WATCH, folder)
        assert first.code in (0, 1), first.said
        stage.check_quiet(first)
        subprocess.run(["mount", "-o", "remount,size=8m", out], check=True)
        second = stage.run(WATCH, folder)
        assert second.code == 0, second.said
        judged = [line.split(":")[0] for run in (first, second) for line in run.printed.splitlines()]
        assert sorted(judged) == names, (judged, first.said, second.said)
        for name in names:
            assert len((out / f"{name}.csv").read_text().splitlines()) == 401
        assert not list(out.glob(".*.partial"))
        return "refused" if first.code else "enough"

    said = _with_disk(out, rng.choice([4, 16, 40, 60, 80, 100, 140]), act)
    mvset.load(folder / "model.mvset")
    return f"watch on a small disk: {said}"
