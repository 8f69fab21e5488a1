"""Results on stdout: aligned text, or JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

import typer
from rich.console import Console
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
