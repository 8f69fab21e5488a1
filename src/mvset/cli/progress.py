"""A progress bar with the time left, on stderr."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Bar:
    """Work done of the work in all, in whatever unit; the text before it says what is at hand."""

    def __init__(self, progress: Progress, bar: TaskID) -> None:
        self._progress = progress
        self._bar = bar

    def describe(self, text: str) -> None:
        """Say what is at hand."""
        self._progress.update(self._bar, description=text)

    def advance(self, work: float) -> None:
        """Count work as done."""
        self._progress.advance(self._bar, work)

    def reach(self, text: str, done: float, total: float) -> None:
        """Say what is at hand and how much of it is done; what is new begins anew."""
        self._progress.update(self._bar, description=text, completed=done, total=total)

    def note(self, text: str) -> None:
        """A line that stays, above the bar."""
        self._progress.console.print(text, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def progress_bar(total: float) -> Iterator[Bar]:
    """A bar over `total` units of work; none where stderr is not a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("· time left"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, speed_estimate_period=120, transient=True, disable=not console.is_terminal
    ) as progress:
        yield Bar(progress, progress.add_task("", total=total))
