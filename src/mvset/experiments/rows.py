"""Rows on disk: computed in parallel, saved as soon as they are ready, never computed twice."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from joblib import delayed
from sklearn.exceptions import ConvergenceWarning

from mvset.exceptions import MvsetWarning
from mvset.experiments.plan import Config, Plan, Row, Task, Value
from mvset.experiments.workers import results_of
from mvset.files.atomic import atomic_write
from mvset.version import __version__

_STAMP = "mvset"  # name of the column with the version that computed a row

Compute = Callable[[Task], Sequence[Row]]


class UnusableRowsError(ValueError):
    """A file of rows cannot be continued; the message says what to do."""


class RowFile:
    """The rows of one experiment in a CSV file, sorted by task and rewritten with every addition."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._header: list[str] = []
        self._lines: dict[tuple[Value, ...], list[list[str]]] = {}  # by task, unparsed
        if path.exists():
            self._read()

    def missing(self, plan: Plan) -> list[Task]:
        """Tasks of a plan whose rows are missing."""
        return [task for task in plan.tasks() if _as_read(task.values()) not in self._lines]

    def rows(self, plan: Plan) -> list[Row]:
        """Rows of the tasks of a plan, sorted by task, with numbers rounded as in the file."""
        tasks = sorted(_as_read(task.values()) for task in plan.tasks())
        lines = [line for task in tasks for line in self._lines[task]]
        return [dict(zip(self._header, map(_value, line), strict=True)) for line in lines]

    def add(self, task: Task, results: Sequence[Row]) -> None:
        """Save the rows of a task."""
        rows = [{**task, **result, _STAMP: __version__} for result in results]
        if self._lines and list(rows[0]) != self._header:
            raise UnusableRowsError(
                f"{self.path} has the columns {', '.join(self._header)}, but this run computes "
                f"{', '.join(rows[0])}: move the file away to compute its rows again, or choose another folder."
            )
        self._header = list(rows[0])
        self._lines[_as_read(task.values())] = [[_text(value) for value in row.values()] for row in rows]
        lines = [line for key in sorted(self._lines) for line in self._lines[key]]
        with atomic_write(self.path) as aside, aside.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out, lineterminator="\n").writerows([self._header, *lines])

    def _read(self) -> None:
        try:
            with self.path.open(newline="", encoding="utf-8") as text:
                self._header, *lines = list(csv.reader(text)) or [[]]
            self._parse(lines)
        except (ValueError, csv.Error):  # not UTF-8, or another table
            raise UnusableRowsError(
                f"{self.path} is not a file of rows written by this command: move it away, or choose another folder."
            ) from None
        stamp = self._header.index(_STAMP)
        others = {line[stamp] for line in lines} - {__version__}
        if others:
            raise UnusableRowsError(
                f"{self.path} has rows of mvset {', '.join(sorted(others))}, but this is {__version__}: move the "
                "file away to compute its rows again, or choose another folder."
            )

    def _parse(self, lines: list[list[str]]) -> None:
        """Group lines by task; raises ValueError if the file was not written by this class."""
        width = self._header.index("repetition") + 1
        self._header.index(_STAMP)
        for line in lines:
            self._lines.setdefault(tuple(map(_value, line[:width])), []).append(line)
        shapes = {(len(block), *map(len, block)) for block in self._lines.values()}
        # All tasks of an experiment have the same number of rows, so a truncated file has a task with fewer.
        if len(shapes) > 1 or any(len(line) != len(self._header) for line in lines):
            raise ValueError


def computed_rows(name: str, compute: Compute, config: Config) -> list[Row]:
    """Rows of all tasks of the plan; only those not on disk are computed.

    The rows of a task are saved as soon as it is finished, so an interruption loses no finished task.
    """
    config.out.mkdir(parents=True, exist_ok=True)
    file = RowFile(config.out / f"{name}.csv")
    tasks = (delayed(_without_advice)(compute, task) for task in file.missing(config.plan))
    with results_of(tasks, config.n_jobs) as computed:
        for task, results in computed:
            file.add(task, results)
            config.on_done()
    return file.rows(config.plan)


def _without_advice(compute: Compute, task: Task) -> tuple[Task, Sequence[Row]]:
    """Compute a task without warnings, since some bandwidths are bad on purpose; missing convergence is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MvsetWarning)
        warnings.simplefilter("error", ConvergenceWarning)
        return task, compute(task)


def _as_read(values: Iterable[Value]) -> tuple[Value, ...]:
    """Values as they are read back from the file."""
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
