"""The application: all commands and the top-level options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from mvset.cli.demo import demo_command
from mvset.cli.export import export_command
from mvset.cli.failures import EXIT_CODES, check_address_space
from mvset.cli.fit import fit_command
from mvset.cli.info import info_command
from mvset.cli.report import report_command
from mvset.cli.reproduce import reproduce_command
from mvset.cli.score import score_command
from mvset.version import __version__

app = typer.Typer(
    no_args_is_help=True,
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
    """Minimum Volume sets: the smallest region that contains a given share of a distribution, and the rows outside."""
    check_address_space()


commands: dict[str, Callable[..., None]] = {
    "fit": fit_command,
    "score": score_command,
    "report": report_command,
    "info": info_command,
    "export": export_command,
    "demo": demo_command,
    "reproduce": reproduce_command,
}
for name, command in commands.items():
    app.command(name, epilog=EXIT_CODES)(command)
