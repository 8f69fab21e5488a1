"""``mvset demo``: the other commands, on made-up tables."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mvset.cli.failures import explained, need


def demo_command(
    context: typer.Context,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for tables, model, results and report.")] = Path(
        "demo-output"
    ),
) -> None:
    """Run the commands on the readings of a made-up pump: fit, look, score, report.

    For example: `mvset demo --out demo-output`
    """
    need("pyarrow", "cli", "Reading tables needs one more package")
    need("plotly", "report", "The report needs more packages")
    run = context.find_root().command.main
    with explained(ValueError, when_stopped=f"What is done lies in {out}."):
        from mvset.tables.demo import write_tables

        normal, today = write_tables(out)
        model, scores, report = out / "model.mvset", out / "scores.parquet", out / "report.html"
        typer.echo(f"Wrote {normal} and {today}: readings of a pump in good order, and on a later day.", err=True)
        for arguments in (
            ["fit", normal, "--exclude", "time,pump", "--out", model],
            ["info", model],
            ["score", model, today, "--keep", "time", "--out", scores],
            ["report", model, today, "--keep", "time", "--out", report],
        ):
            _show(run, [str(argument) for argument in arguments])


def _show(run: Callable[..., Any], arguments: Sequence[str]) -> None:
    typer.echo(f"\n$ mvset {shlex.join(arguments)}")
    code = run(args=list(arguments), prog_name="mvset", standalone_mode=False)
    if code:
        raise typer.Exit(code)
