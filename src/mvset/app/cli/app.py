"""The application: all commands and the top-level options."""

from typing import Annotated

import typer

from mvset.app.cli.demo import demo_command
from mvset.app.cli.export import export_command
from mvset.app.cli.failures import EXIT_CODES, check_address_space
from mvset.app.cli.fit import fit_command
from mvset.app.cli.info import info_command
from mvset.app.cli.report import report_command
from mvset.app.cli.reproduce import reproduce_command
from mvset.app.cli.score import score_command
from mvset.app.cli.watch import watch_command
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


for command in (
    *(fit_command, score_command, watch_command, report_command),
    *(info_command, export_command, demo_command, reproduce_command),
):
    app.command(command.__name__.removesuffix("_command"), epilog=EXIT_CODES)(command)
