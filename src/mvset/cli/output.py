"""Results on stdout: aligned text, or JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mvset.files.json import finite

_WIDE = 200  # columns of a terminal that is none: nothing is cut


def print_json(result: Mapping[str, Any]) -> None:
    """One JSON object; what is not finite is null."""
    typer.echo(json.dumps(finite(result), indent=2, default=str))  # in ASCII, which every pipe takes


def print_facts(facts: Mapping[str, Any]) -> None:
    """A line per fact, its name first."""
    width = max(map(len, facts))
    for name, value in facts.items():
        typer.echo(f"{name:<{width}}  {value}")


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Columns side by side, numbers to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for j, name in enumerate(header):
        numeric = all(isinstance(row[j], int | float) for row in rows)
        table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(f"{value:.4g}" if isinstance(value, float) else str(value)) for value in row))
    console = Console(highlight=False)
    (console if console.is_terminal else Console(highlight=False, width=_WIDE)).print(table)
