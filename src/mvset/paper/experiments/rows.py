"""Plans of tasks, and their rows on disk: computed in parallel, saved when they are ready, never computed twice."""

import csv
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from mvset.exceptions import MvsetWarning
from mvset.files.atomic import atomic_write
from mvset.paper.experiments.summary import Row, Value
from mvset.version import __version__

_STAMP = "mvset"  # name of the column with the version that computed a row

Compute = Callable[[Row], Sequence[Row]]
Key = tuple[str, ...]  # the values of a task, as text


@dataclass(frozen=True)
class Plan:
    """Cases and the number of repetitions of each.

    A plan determines which rows exist, never their values. So a full run can use the rows of a quick one.
    """

    cases: Sequence[Mapping[str, Value]]
    repetitions: int

    def tasks(self) -> list[Row]:
        """Return all tasks, repetition by repetition, so that an interrupted run has some rows of every case.

        The repetition is the seed of everything random in a task.
        """
        return [{**case, "repetition": repetition} for repetition in range(self.repetitions) for case in self.cases]


class UnusableRowsError(ValueError):
    """A file of rows cannot be continued; the message says what to do."""


class RowFile:
    """The rows of one experiment in a CSV file, sorted by task and rewritten with every addition."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[Key, list[dict[str, str]]] = {}
        if path.exists():
            self._read()

    def missing(self, plan: Plan) -> list[Row]:
        """Return the tasks of a plan whose rows are missing."""
        return [task for task in plan.tasks() if _key(task) not in self._rows]

    def rows(self, plan: Plan) -> list[Row]:
        """Return the rows of the tasks of a plan, sorted by task, with numbers rounded as in the file."""
        rows = self._sorted(map(_key, plan.tasks()))
        return [{name: _value(text) for name, text in row.items()} for row in rows]

    def add(self, task: Row, results: Sequence[Row]) -> None:
        """Save the rows of a task."""
        rows = [{**task, **result, _STAMP: __version__} for result in results]
        self._rows[_key(task)] = [dict(zip(row, _key(row), strict=True)) for row in rows]
        with atomic_write(self.path) as aside, aside.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, list(next(iter(self._rows.values()))[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self._sorted(self._rows))

    def _sorted(self, keys: Iterable[Key]) -> list[dict[str, str]]:
        return [row for key in sorted(keys, key=lambda key: list(map(float, key))) for row in self._rows[key]]

    def _read(self) -> None:
        move = "move the file away to compute its rows again, or choose another folder."
        try:
            with self.path.open(newline="", encoding="utf-8") as text:
                rows = list(csv.DictReader(text, strict=True))
            width = list(rows[0]).index("repetition") + 1
            for row in rows:
                self._rows.setdefault(tuple(row.values())[:width], []).append(row)
            versions = {row[_STAMP] for row in rows} - {__version__}
            # All tasks of an experiment have the same number of rows, so a truncated file has a task with fewer.
            if len(set(map(len, self._rows.values()))) > 1 or any(None in {*row, *row.values()} for row in rows):
                raise ValueError
        except (LookupError, ValueError, csv.Error):  # not UTF-8, or another table
            raise UnusableRowsError(f"{self.path} is not a file of rows written by this command: {move}") from None
        if versions:
            found = f"{self.path} has rows of mvset {', '.join(sorted(versions))}, but this is {__version__}"
            raise UnusableRowsError(f"{found}: {move}")


def compute_missing(
    compute: Compute, plan: Plan, path: Path, *, n_jobs: int | None = -1, on_done: Callable[[], None] = lambda: None
) -> RowFile:
    """Compute the rows of a plan that the file does not have; return the file.

    The rows of a task are saved as soon as it is finished, so an interruption loses no finished task. Then `on_done` is
    called.
    """
    file = RowFile(path)
    with results_of(partial(_without_advice, compute), file.missing(plan), n_jobs) as computed:
        for task, results in computed:
            file.add(task, results)
            on_done()
    return file


def _without_advice(compute: Compute, task: Row) -> tuple[Row, Sequence[Row]]:
    """Compute a task without warnings, since some bandwidths are bad on purpose; missing convergence is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MvsetWarning)
        warnings.simplefilter("error", ConvergenceWarning)
        return task, compute(task)


def _key(row: Mapping[str, Value]) -> Key:
    """Return the values of a row as they are written."""
    return tuple(f"{value:.6g}" if isinstance(value, float) else str(value) for value in row.values())


def _value(text: str) -> Value:
    try:
        return float(text)
    except ValueError:
        return text


@contextmanager
def results_of(function: Callable[[Any], Any], tasks: Sequence[Any], n_jobs: int | None) -> Iterator[Iterator[Any]]:
    """Give the results of all tasks as they come; leaving early stops the workers at once."""
    n_workers = min(effective_n_jobs(n_jobs), len(tasks))
    if n_workers <= 1:
        yield map(function, tasks)
        return
    context = get_context("spawn")
    ended, kept = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(n_workers, context, _begin, (ended,))
    try:
        # An interrupt that comes meanwhile waits until the workers have started. They inherit the mask of this thread.
        with ThreadPoolExecutor(1, initializer=_block_interrupts) as starter:
            futures = list(starter.map(lambda task: pool.submit(function, task), tasks))
        yield (future.result() for future in as_completed(futures))
    finally:
        kept.close()
        pool.shutdown(cancel_futures=True)


def _begin(ended: Connection) -> None:
    """Exit as soon as the other end of the pipe is closed, because the main process has left or was killed."""

    def watch() -> None:
        ended.poll(None)
        os._exit(1)

    threadpool_limits(1)  # one core for each worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore", MvsetWarning)  # the main process has given the warnings of an import
    threading.Thread(target=watch, daemon=True).start()


def _block_interrupts() -> None:
    """Keep Ctrl-C from this thread and from processes that it starts."""
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
