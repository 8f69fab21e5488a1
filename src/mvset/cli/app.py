"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from mvset import __version__
from mvset.cli.reproduce import reproduce_command

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mvset {__version__}")
        raise typer.Exit


@app.callback()
def mvset(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Minimum Volume sets: the smallest region that holds a given share of a distribution, and what lies outside."""


app.command("reproduce")(reproduce_command)
