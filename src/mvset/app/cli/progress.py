"""A progress bar on stderr, with the estimated time left."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Bar:
    """A progress bar with a description of the current step."""

    def __init__(self, progress: Progress, bar: TaskID) -> None:
        self._progress = progress
        self._bar = bar

    def describe(self, text: str) -> None:
        """Set the description of the current step."""
        self._progress.update(self._bar, description=text)

    def advance(self, work: float) -> None:
        """Add finished work."""
        self._progress.advance(self._bar, work)

    def reach(self, text: str, done: float, total: float) -> None:
        """Set the description, the finished work and the total; each step has a total of its own."""
        self._progress.update(self._bar, description=text, completed=done, total=total)

    def note(self, text: str) -> None:
        """Print a permanent line above the bar."""
        self._progress.console.print(text, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def progress_bar(total: float) -> Iterator[Bar]:
    """Show a bar over `total` units of work; invisible if stderr is not a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("· time left"),
        TimeRemainingColumn(),
    )
    progress = Progress(
        *columns, console=console, speed_estimate_period=120, transient=True, disable=not console.is_terminal
    )
    with progress if console.is_terminal else nullcontext():  # some versions of rich end an invisible bar with a line
        yield Bar(progress, progress.add_task("", total=total))
