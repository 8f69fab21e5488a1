"""Results on stdout, as aligned text or JSON; progress on stderr, with the estimated time left."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from mvset.app.summaries.shown import finite_json, shown

_WIDE = 200  # characters per line when stdout is not a terminal


def print_json(result: Mapping[str, Any], *, indent: int | None = 2) -> None:
    """Print one JSON object, on a single line without an indent; NaN and infinity become null."""
    typer.echo(finite_json(result, indent=indent))  # ASCII: independent of the encoding of stdout


def print_pairs(pairs: Mapping[str, Any]) -> None:
    """Print one line per item: its name, then its value, aligned."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        typer.echo(f"{name:<{width}}  {value}")


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table without borders; numeric columns are aligned to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for j, name in enumerate(header):
        numeric = all(isinstance(row[j], int | float) for row in rows)
        table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(shown(value)) for value in row))
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=_WIDE)
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().splitlines():
        typer.echo(line.rstrip())


@dataclass(frozen=True)
class Bar:
    """A progress bar with a description of the current step."""

    _progress: Progress
    _bar: TaskID

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
