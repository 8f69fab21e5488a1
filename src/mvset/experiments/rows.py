"""Rows on disk: computed in parallel, kept as they come, not computed again."""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from mvset import __version__
from mvset.experiments.plan import Config, Plan, Row, Task, Value

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

    def __contains__(self, task: Task) -> bool:
        return _as_read(task.values()) in self._lines

    def add(self, task: Task, results: Sequence[Row]) -> None:
        """Keep the rows of a task."""
        rows = [{**task, **result, _STAMP: __version__} for result in results]
        self._header = list(rows[0])
        self._lines[_as_read(task.values())] = [[_text(value) for value in row.values()] for row in rows]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside = self.path.with_suffix(".partial")
        with aside.open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([self._header, *self._sorted()])
        os.replace(aside, self.path)

    def rows(self) -> list[Row]:
        """All rows, in the order of their tasks, with the numbers as they stand in the file."""
        return [dict(zip(self._header, map(_value, line), strict=True)) for line in self._sorted()]

    def _sorted(self) -> list[list[str]]:
        return [line for task in sorted(self._lines) for line in self._lines[task]]

    def _read(self) -> None:
        with self.path.open(newline="") as text:
            self._header, *lines = list(csv.reader(text)) or [[]]
        if not {"repetition", _STAMP} <= set(self._header) or any(len(line) != len(self._header) for line in lines):
            raise UnusableRowsError(
                f"{self.path} is not a file of rows as this command writes them: move it away, or give another folder."
            )
        stamp = self._header.index(_STAMP)
        others = {line[stamp] for line in lines} - {__version__}
        if others:
            raise UnusableRowsError(
                f"{self.path} has rows of mvset {', '.join(sorted(others))}, and this is {__version__}: move it away "
                "to compute them afresh, or give another folder."
            )
        width = self._header.index("repetition") + 1
        for line in lines:
            self._lines.setdefault(tuple(map(_value, line[:width])), []).append(line)


def computed_rows(name: str, compute: Compute, config: Config) -> list[Row]:
    """Rows of all tasks of the plan, and any others that lie beside them; only those not on disk are computed.

    Each task's rows are saved when it is done, whatever becomes of the others.
    """
    file = RowFile(config.out / f"{name}.csv")
    run = Parallel(config.n_jobs, return_as="generator_unordered", batch_size=1)
    for task, results in run(delayed(_quietly)(compute, task) for task in outstanding(name, config.plan, config.out)):
        file.add(task, results)
        config.on_done()
    return file.rows()


def outstanding(name: str, plan: Plan, out: Path) -> list[Task]:
    """Tasks of a plan whose rows are not on disk."""
    file = RowFile(out / f"{name}.csv")
    return [task for task in plan.tasks() if task not in file]


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
