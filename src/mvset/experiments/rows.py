"""Rows on disk: computed in parallel, kept as they come, not computed again."""

from __future__ import annotations

import csv
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from mvset.experiments.plan import Config, Plan, Row, Task, Value
from mvset.files.atomic import written_aside
from mvset.version import __version__

_STAMP = "mvset"  # the column that says which version computed a row

Compute = Callable[[Task], Sequence[Row]]


class UnusableRowsError(ValueError):
    """A file of rows that cannot be gone on with."""


class RowFile:
    """The rows of one experiment as CSV, sorted by task; every addition replaces the file as a whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._header: list[str] = []
        self._lines: dict[tuple[Value, ...], list[list[str]]] = {}  # by task, as they stand in the file
        if path.exists():
            self._read()

    def missing(self, plan: Plan) -> list[Task]:
        """Tasks of a plan whose rows are not there."""
        return [task for task in plan.tasks() if _as_read(task.values()) not in self._lines]

    def rows(self, plan: Plan) -> list[Row]:
        """Rows of a plan's tasks, in their order, with the numbers as they stand in the file."""
        tasks = sorted(_as_read(task.values()) for task in plan.tasks())
        lines = [line for task in tasks for line in self._lines[task]]
        return [dict(zip(self._header, map(_value, line), strict=True)) for line in lines]

    def add(self, task: Task, results: Sequence[Row]) -> None:
        """Keep the rows of a task."""
        rows = [{**task, **result, _STAMP: __version__} for result in results]
        if self._lines and list(rows[0]) != self._header:
            raise UnusableRowsError(
                f"{self.path} has the columns {', '.join(self._header)}, and this run {', '.join(rows[0])}: move it "
                "away to compute its rows afresh, or give another folder."
            )
        self._header = list(rows[0])
        self._lines[_as_read(task.values())] = [[_text(value) for value in row.values()] for row in rows]
        lines = [line for key in sorted(self._lines) for line in self._lines[key]]
        with written_aside(self.path) as aside, aside.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out, lineterminator="\n").writerows([self._header, *lines])

    def _read(self) -> None:
        try:
            with self.path.open(newline="", encoding="utf-8") as text:
                self._header, *lines = list(csv.reader(text)) or [[]]
            self._take(lines)
        except (ValueError, csv.Error):  # not text, or not what was written
            raise UnusableRowsError(
                f"{self.path} is not a file of rows as this command writes them: move it away, or give another folder."
            ) from None
        stamp = self._header.index(_STAMP)
        others = {line[stamp] for line in lines} - {__version__}
        if others:
            raise UnusableRowsError(
                f"{self.path} has rows of mvset {', '.join(sorted(others))}, and this is {__version__}: move it away "
                "to compute them afresh, or give another folder."
            )

    def _take(self, lines: list[list[str]]) -> None:
        """Sort lines by task; a ValueError where they cannot be such."""
        width = self._header.index("repetition") + 1
        self._header.index(_STAMP)
        for line in lines:
            self._lines.setdefault(tuple(map(_value, line[:width])), []).append(line)
        shapes = {(len(block), *map(len, block)) for block in self._lines.values()}
        # All tasks of an experiment have equally many rows: a file cut short has one with fewer.
        if len(shapes) > 1 or any(len(line) != len(self._header) for line in lines):
            raise ValueError


def computed_rows(name: str, compute: Compute, config: Config) -> list[Row]:
    """Rows of all tasks of the plan; only those not on disk are computed.

    Each task's rows are saved when it is done, whatever becomes of the others.
    """
    config.out.mkdir(parents=True, exist_ok=True)
    file = RowFile(config.out / f"{name}.csv")
    run = Parallel(config.n_jobs, return_as="generator_unordered", batch_size=1)
    with _deaf_to_ctrl_c():  # workers are stopped from here, and have nothing to say about it
        computed = run(delayed(_quietly)(compute, task) for task in file.missing(config.plan))
    for task, results in computed:
        file.add(task, results)
        config.on_done()
    return file.rows(config.plan)


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Ignore Ctrl-C for the moment in which processes are started, which then ignore it for good."""
    if threading.current_thread() is not threading.main_thread():  # only that may say what signals do
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _quietly(compute: Compute, task: Task) -> tuple[Task, Sequence[Row]]:
    """Experiments fit at hopeless bandwidths on purpose: advice about them is noise, a failed solve an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", ConvergenceWarning)
        return task, compute(task)


def _as_read(values: Iterable[Value]) -> tuple[Value, ...]:
    """Values as they come back from the file."""
    return tuple(_value(_text(value)) for value in values)


def _text(value: Value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _value(text: str) -> Value:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
