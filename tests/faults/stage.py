"""What all kinds of faults need: files to work on, a fork that runs the command, and what must hold when it has ended.

The process that runs the cases has imported everything. Each run of the command is a fork of it, in a session of its
own, with the signal handlers that Python starts with; it calls the entry point of the console script. So a run takes a
fraction of a second. What a fork cannot show, such as how Python itself ends, is left to runs of the true executable.
"""

import atexit
import faulthandler
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
import weakref
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

import mvset
import mvset_command
from mvset import MinimumVolumeSet

EXECUTABLE = str(Path(sys.executable).parent / "mvset")
ENDINGS = (".csv", ".csv.gz", ".ndjson", ".json", ".parquet", ".feather", ".xlsx", ".db")
RESULTS = (".csv", ".parquet", ".feather", ".ndjson")
N_ROWS = 3000  # of the tables to score
PATIENCE = 60.0  # seconds, for a machine that is busy
TEMPORARY = "tmp"
FIT = MinimumVolumeSet.fit
# What commands say besides errors: how far they are, and what they have guessed.
_REMARKS = ("Note: ", "Wrote ", "boston: ")


def readings(n_rows: int, seed: int, shift: float = 0.0) -> pa.Table:
    """Rows of a healthy pump, and of one that is not."""
    rng = np.random.default_rng(seed)
    flow = rng.normal(40.0, 2.0, n_rows).round(6)
    pressure = (6.0 - 0.05 * flow + rng.normal(0.0, 0.1, n_rows) + shift).round(6)
    return pa.table({"id": [f"{i:05d}" for i in range(n_rows)], "flow": flow, "pressure": pressure})


def write(table: pa.Table, path: Path) -> None:
    """A table in the format of its ending."""
    name = path.name
    if name.endswith(".csv"):
        pa.csv.write_csv(table, path)
    elif name.endswith(".csv.gz"):
        content = pa.BufferOutputStream()
        pa.csv.write_csv(table, content)
        path.write_bytes(gzip.compress(content.getvalue().to_pybytes(), mtime=0))
    elif name.endswith(".ndjson"):
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif name.endswith(".json"):
        path.write_text(json.dumps(table.to_pylist()))
    elif name.endswith(".parquet"):
        pa.parquet.write_table(table, path, row_group_size=1000)
    elif name.endswith(".feather"):
        pa.feather.write_feather(table, path, chunksize=1000)
    elif name.endswith(".xlsx"):
        import openpyxl

        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet()
        for row in [table.column_names, *(list(row.values()) for row in table.to_pylist())]:
            sheet.append(row)
        book.save(path)
    else:
        import sqlite3
        from contextlib import closing

        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("CREATE TABLE readings (id TEXT, flow REAL, pressure REAL)")
            database.executemany(
                "INSERT INTO readings VALUES (?, ?, ?)", [tuple(r.values()) for r in table.to_pylist()]
            )


@cache
def _folder() -> Path:
    """A folder for files that are made once by this process, in that of faults.run."""
    return Path(tempfile.mkdtemp())


@cache
def original(name: str) -> Path:
    """One of two models, the table of their fit, or one of two other tables in any format."""
    path = _folder() / name
    stem, _, ending = name.partition(".")
    if ending == "mvset":
        rows = pa.csv.read_csv(original("normal.csv")).select(["flow", "pressure"]).to_pandas()
        mvset.save(FIT(quick({"model": 1.0, "other": 0.5}[stem]), rows), path)
    else:
        tables = {"normal": (300, 0), "today": (N_ROWS, 1), "other": (N_ROWS, 2, 0.3)}
        write(readings(*tables[stem]), path)
    return path


def quick(sigma: float = 1.0) -> MinimumVolumeSet:
    """A model whose fit takes milliseconds."""
    return MinimumVolumeSet(
        sigma=sigma, nu=0.4, splits=2, scaling="standard", n_volume_points=100, random_state=0, n_jobs=1
    )


def warm_up(*, everything: bool = True) -> None:
    """Import and compile all that forks need, and make fits quick: what is fitted is not the matter here."""
    warnings.simplefilter("ignore")
    os.environ.pop("MVSET_TRACEBACK", None)

    def quickly(self: MinimumVolumeSet, X: Any, y: Any = None, **parameters: Any) -> MinimumVolumeSet:
        chosen = {"splits": 2, "sigma": 1.0, "nu": 0.4, "scaling": "standard", "n_volume_points": 100, "n_jobs": 1}
        return FIT(self.set_params(**chosen), X, y, **parameters)

    MinimumVolumeSet.fit = quickly
    _warm("fit", original("normal.csv"), "--exclude", "id", "--out", _folder() / "out.mvset")
    _warm("score", original("model.mvset"), original("today.csv"), "--out", _folder() / "out.csv", "--jobs", 1)
    import mvset.app.watch.watcher

    if everything:
        _warm("score", original("model.mvset"), original("today.xlsx"), "--jobs", 1)
        _warm("report", original("model.mvset"), original("today.csv"), "--out", _folder() / "out.html")
        _warm("export", original("model.mvset"), "--onnx", _folder() / "out.onnx")
        import mvset.paper.experiments.reproduce  # noqa: F401


def _warm(*arguments: Any) -> None:
    """Run a command in this process."""
    from mvset.app.cli.app import app

    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        app([str(argument) for argument in arguments], standalone_mode=False)


def furnish(folder: Path, *names: str) -> None:
    """Copy originals to the folder of a case, as files of an hour ago, and make a folder for temporary files."""
    (folder / TEMPORARY).mkdir(exist_ok=True)
    hour_ago = time.time() - 3600
    for name in names:
        shutil.copy(original(name), folder)
        os.utime(folder / name, (hour_ago, hour_ago))


@dataclass
class Run:
    """A run of the command: its process, which leads a session, and what it has printed."""

    pid: int
    folder: Path
    name: str
    executable: bool
    code: int | None = None

    @property
    def said(self) -> str:
        """What is on stderr."""
        return (self.folder / TEMPORARY / f"{self.name}.stderr").read_text(errors="replace")

    @property
    def printed(self) -> str:
        """What is on stdout."""
        return (self.folder / TEMPORARY / f"{self.name}.stdout").read_text(errors="replace")

    @property
    def sentences(self) -> list[str]:
        """Lines on stderr but for remarks."""
        return [line for line in self.said.splitlines() if line.strip() and not line.startswith(_REMARKS)]

    def poll(self) -> bool:
        """Whether it has ended."""
        if self.code is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def send(self, sign: int) -> None:
        """Send a signal, unless it has ended."""
        if not self.poll():
            os.kill(self.pid, sign)

    def wait(self, seconds: float = PATIENCE) -> int:
        """The exit code; fails, with the stack of the process, if it does not end."""
        end = time.monotonic() + seconds
        while not self.poll():
            if time.monotonic() > end:
                self.send(signal.SIGABRT)  # faulthandler prints the stack
                time.sleep(0.5)
                self.send(signal.SIGKILL)
                raise AssertionError(f"The command did not end in {seconds:g} s.\n{self.said[-3000:]}")
            time.sleep(0.005)
        assert self.code is not None
        return self.code

    def wait_for_handlers(self) -> None:
        """Wait until it has begun: a signal before that ends any process."""
        self.wait_until(lambda: self._caught() & 1 << (signal.SIGHUP - 1) != 0)

    def _caught(self) -> int:
        """The signals that have handlers, one bit each."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except OSError:  # it has ended
            return 0
        return next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt:")), 0)

    def wait_until(self, holds: Callable[[], bool]) -> bool:
        """Wait until something holds, or the process has ended; whether it holds."""
        end = time.monotonic() + PATIENCE
        while not holds():
            if self.poll():
                return holds()
            assert time.monotonic() < end, "Nothing has happened for a long time."
            time.sleep(0.0005)
        return True


_n_runs = [0]


def start(
    arguments: Sequence[str],
    folder: Path,
    *,
    prepare: Callable[[], None] | None = None,
    executable: bool = False,
    stdin: Path | None = None,
    stdout: str | None = None,
) -> Run:
    """Start the command in a folder; `prepare` is called in the fork before it."""
    _n_runs[0] += 1
    name = f"run{_n_runs[0]}"
    (folder / TEMPORARY).mkdir(exist_ok=True)
    opened = [
        os.open(stdin or os.devnull, os.O_RDONLY),
        os.open(stdout or folder / TEMPORARY / f"{name}.stdout", os.O_WRONLY | os.O_CREAT, 0o666),
        os.open(folder / TEMPORARY / f"{name}.stderr", os.O_WRONLY | os.O_CREAT, 0o666),
    ]
    if executable:
        process = subprocess.Popen(
            [EXECUTABLE, *arguments],
            **dict(zip(("stdin", "stdout", "stderr"), opened, strict=True)),
            cwd=folder,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(folder / TEMPORARY)},
        )
        process.returncode = 0  # we wait for it ourselves
        pid = process.pid
    else:
        pid = os.fork()
        if pid == 0:
            _be_the_command(arguments, folder, prepare, opened)
    for handle in opened:
        os.close(handle)
    return Run(pid, folder, name, executable)


def _be_the_command(
    arguments: Sequence[str], folder: Path, prepare: Callable[[], None] | None, opened: Sequence[int]
) -> None:
    """Run the command as a new process would; does not return."""
    code: Any = 99
    try:
        os.setsid()
        for i, handle in enumerate(opened):
            os.dup2(handle, i)
        faulthandler.enable()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(folder)
        os.environ["TMPDIR"] = str(folder / TEMPORARY)
        tempfile.tempdir = None
        weakref.finalize._registry.clear()  # type: ignore[attr-defined]  # the folders of our parent are its own
        sys.stdin, sys.stdout, sys.stderr = (open(i, mode, closefd=False) for i, mode in enumerate("rww"))  # noqa: SIM115
        sys.argv = ["mvset", *arguments]
        if prepare is not None:
            prepare()
        mvset_command.main()
        code = 0
    except SystemExit as end:
        code = end.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            threading._shutdown()  # type: ignore[attr-defined]  # what Python does at its end
            atexit._run_exitfuncs()
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
            code = 98
        finally:
            sys.setprofile(None)
            sys.stderr.flush()
            os._exit(code or 0)


def run(arguments: Sequence[str], folder: Path, **options: Any) -> Run:
    """Run the command to its end."""
    done = start(arguments, folder, **options)
    done.wait()
    return done


@dataclass
class Moment:
    """Does something in a fork at a given call of a function, counted from when a function of some name is called.

    Such moments are the same in every run, and may be as close to each other as two lines of the program.
    """

    act: Callable[[], None]
    after: int
    since: str = ""  # the name of the function; from the beginning if empty

    def __call__(self) -> None:
        """Begin to count; to be called in the fork."""
        begun, left = not self.since, self.after

        def count(frame: Any, event: str, _: Any) -> None:
            nonlocal begun, left
            begun = begun or (event == "call" and frame.f_code.co_name == self.since)
            if begun:
                left -= 1
                if left < 0:
                    sys.setprofile(None)
                    self.act()

        sys.setprofile(count)


def n_calls(arguments: Sequence[str], folder: Path, since: str = "") -> int:
    """How many moments a run has that is not disturbed."""
    note = folder / TEMPORARY / "calls"

    def prepare() -> None:
        n, begun = 0, not since

        def count(frame: Any, event: str, _: Any) -> None:
            nonlocal n, begun
            begun = begun or (event == "call" and frame.f_code.co_name == since)
            n += begun

        atexit.register(lambda: note.write_text(str(n)))
        sys.setprofile(count)

    done = run(arguments, folder, prepare=prepare)
    assert done.code in (0, 3), done.said
    found = int(note.read_text())
    note.unlink()
    return found


def check_quiet(run: Run, *, at_most: int = 1) -> None:
    """One sentence at most, and nothing that is meant for programmers."""
    said = run.said
    for word in ("Traceback", "Exception ignored", "bug in mvset", "Error:", "Fatal Python"):
        assert word not in said, said[-3000:]
    assert len(run.sentences) <= at_most, said


def check_refused(run: Run, *names: str) -> None:
    """The exit code of an error, and one sentence about one of these."""
    assert run.code == 1, (run.code, run.said)
    check_quiet(run)
    assert len(run.sentences) == 1, run.said
    assert run.sentences[0].endswith((".", "!", "'")), run.said
    assert not names or any(name in run.sentences[0] for name in names), run.said


def left_behind(folder: Path) -> list[str]:
    """Files of the folder that a run must not leave there."""
    found = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.name.startswith(".")]
    temporary = folder / TEMPORARY
    return found + [
        f"{TEMPORARY}/{path.name}" for path in temporary.iterdir() if path.suffix not in (".stdout", ".stderr")
    ]


def check_tidy(folder: Path) -> None:
    """No temporary file is left."""
    assert left_behind(folder) == []


def remove_left(folder: Path) -> None:
    """Remove what a killed process could not."""
    for name in left_behind(folder):
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def check_no_process(run: Run, seconds: float = 20.0) -> None:
    """No process of the session is left, or all end soon."""
    end = time.monotonic() + seconds
    while left := _processes_of(run.pid):
        if time.monotonic() > end:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"Processes are left: {left}.")
        time.sleep(0.02)


def _processes_of(session: int) -> list[int]:
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def scores(path: Path) -> Any:
    """The results in a file, which must be complete."""
    suffix = path.suffix
    if suffix == ".parquet":
        return pa.parquet.read_table(path).to_pydict()
    if suffix == ".feather":
        return pa.feather.read_table(path).to_pydict()
    return path.read_bytes()


def answers(path: Path) -> bytes:
    """What a model file answers."""
    model = mvset.load(path)
    rows = pa.csv.read_csv(original("normal.csv")).select(["flow", "pressure"]).to_pandas()
    return bytes(model.score_samples(rows).tobytes())


def choose(rng: random.Random, weights: dict[Any, float]) -> Any:
    """One of the keys, by weight."""
    return rng.choices(list(weights), list(weights.values()))[0]
