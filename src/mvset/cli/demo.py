"""``mvset demo``: runs the other commands on simulated tables."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mvset.cli.failures import exit_on_error, require_package


def demo_command(
    context: typer.Context,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for tables, model, results and report.")] = Path(
        "demo-output"
    ),
) -> None:
    """Run report, fit and score on simulated sensor readings of a pump.

    For example: `mvset demo --out demo-output`
    """
    require_package("pyarrow", "cli", "Reading tables needs one more package")
    require_package("plotly", "report", "The report needs more packages")
    run = context.find_root().command.main
    with exit_on_error(ValueError, on_interrupt=f"The files written so far are in {out}."):
        from mvset.tables.demo import write_tables

        normal, today = write_tables(out)
        model, scores, report = out / "model.mvset", out / "scores.parquet", out / "report.html"
        typer.echo(f"Wrote {normal} (a healthy pump) and {today} (a later day, with a worn bearing).", err=True)
        for arguments in (
            ["report", "--train", normal, today, "--time", "time", "--out", report],
            ["fit", normal, "--time", "time", "--out", model],
            ["score", model, today, "--time", "time", "--out", scores],
        ):
            _run_and_echo(run, [str(argument) for argument in arguments])


def _run_and_echo(run: Callable[..., Any], arguments: Sequence[str]) -> None:
    typer.echo(f"\n$ mvset {shlex.join(arguments)}")
    code = run(args=list(arguments), prog_name="mvset", standalone_mode=False)
    if code:
        raise typer.Exit(code)
