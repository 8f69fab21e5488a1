"""``mvset demo``: runs the other commands on simulated tables."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from mvset.app.cli.failures import exit_on_error, require_package


def demo_command(
    context: typer.Context,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for tables, model, results and report.")] = Path(
        "demo-output"
    ),
) -> None:
    """Run report, fit and score on simulated sensor readings of a pump.

    For example: `mvset demo --out demo-output`
    """
    require_package("plotly", "report", "The report needs more packages")
    run = context.find_root().command.main
    with exit_on_error(ValueError, on_interrupt=f"The files written so far are in {out}."):
        from mvset.app.tables.demo import write_tables

        normal, today = write_tables(out)
        model, scores, report = out / "model.mvset", out / "scores.parquet", out / "report.html"
        typer.echo(f"Wrote {normal} (a healthy pump) and {today} (a later day, with a worn bearing).", err=True)
        for arguments in (
            ["report", "--train", normal, today, "--time", "time", "--out", report],
            ["fit", normal, "--time", "time", "--out", model],
            ["score", model, today, "--time", "time", "--out", scores],
        ):
            command = [str(argument) for argument in arguments]
            typer.echo(f"\n$ mvset {shlex.join(command)}")
            if code := run(args=command, prog_name="mvset", standalone_mode=False):
                raise typer.Exit(code)
