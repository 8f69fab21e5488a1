"""``mvset watch``: scores files as they arrive in a folder."""

import hashlib
import json
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from time import time as now
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mvset.app.cli import options
from mvset.app.cli.failures import DRIFTED, exit_on_error, in_options, print_note
from mvset.app.cli.output import print_json

if TYPE_CHECKING:
    from mvset.app.watch.state import ScoredFile, WatchState

STATE = "watch.sqlite"


def watch_command(
    model: options.ModelFile,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Folder in which tables arrive.", exists=True, file_okay=False, show_default=False
        ),
    ],
    out_dir: Annotated[
        Path,
        options.text("DIR", f"Folder for the results and for {STATE}, which lists scored tables.", show_default=False),
    ],
    out_format: Annotated[
        Literal["csv", "parquet", "feather", "ndjson"], typer.Option(help="Format of the results.")
    ] = "csv",
    once: Annotated[bool, options.flag("--once", "Score the tables that are there and exit, e.g. for cron.")] = False,
    settle: Annotated[
        float, options.text("SECONDS", "Score a table once it has not changed for this time, e.g. 10.", min=0.0)
    ] = 2.0,
    on_alarm: Annotated[
        str | None,
        options.text(
            "COMMAND",
            "Command to run at an alarm, without a shell. It finds the facts in its environment (MVSET_FILE, "
            "MVSET_SHARE_OUTSIDE, …) and as JSON on its standard input.",
        ),
    ] = None,
    metrics: Annotated[
        Path | None,
        options.text("FILE", "Write metrics to this file, e.g. for node_exporter's textfile collector."),
    ] = None,
    mass: options.OtherMass = None,
    time: options.Time = None,
    keep: options.Keep = None,
    strata: options.Strata = None,
    only_outside: options.OnlyOutside = False,
    fail_on_drift: options.FailOnDrift = False,
    jobs: options.Jobs = -1,
    read: options.Read = None,
    query: options.Query = None,
    where: options.Where = None,
    as_json: Annotated[bool, options.flag("--json", "Print one line of JSON for each table.")] = False,
) -> None:
    """Score tables as they arrive in a folder, each exactly once, and give an alarm when their rows begin to drift.

    Each table gets a file of results, as from `mvset score`. There is one alarm for each time that the rows depart from
    normal. The command may be stopped or killed at any time; the same command then continues where it stopped.

    For example:

    - `mvset watch model.mvset incoming --out-dir scored`

    - `mvset watch model.mvset incoming --out-dir scored --on-alarm 'mail -s drift me@example.org'`

    - `mvset watch model.mvset incoming --out-dir scored --once --json`
    """
    watched, written = folder.resolve(), out_dir.resolve()
    if watched.is_relative_to(written) or written.is_relative_to(watched):
        raise typer.BadParameter("--out-dir must be apart from the watched folder, or results would be scored.")
    on_interrupt = f"{out_dir / STATE} lists the tables that were scored; the same command continues from there."
    with exit_on_error(ValueError, on_interrupt=on_interrupt) as interrupts:
        from mvset.app.watch.alarms import AlarmCommand
        from mvset.app.watch.metrics import write_metrics
        from mvset.app.watch.state import WatchState
        from mvset.app.watch.watcher import Arrivals, Watcher

        fitted = options.load_fitted(model, jobs)
        # A drift monitor counts between the calibration scores of one model.
        fingerprint = hashlib.sha256(fitted.sets.calibration.counted_scores.values.tobytes()).hexdigest()
        mass, reading = mass or fitted.sets.mass, options.reading_options(read, query, fitted)
        command = None if on_alarm is None else AlarmCommand(on_alarm)
        opened = partial(options.open_tables, fitted, options=reading, where=where, keep=keep, time=time, strata=strata)
        out_dir.mkdir(parents=True, exist_ok=True)
        with closing(WatchState(out_dir / STATE, f"{fingerprint} {mass!r}")) as state:
            _note_comparison(state, reserved=fitted.sets.guarantee.reserves_rows)
            arrivals, output = Arrivals(folder, settle), (out_dir, out_format, only_outside)
            watcher = Watcher(fitted, mass, opened, state, arrivals, *output, command, interrupts.seen)
            n_alarms = 0
            for event in watcher.run(once=once):
                if isinstance(event, str):
                    typer.echo(in_options(event), err=True)
                else:
                    n_alarms += event.alarm
                    _print_scored(event, as_json=as_json)
                    if metrics is not None:
                        write_metrics(metrics, state.totals, event, now())
    if fail_on_drift and n_alarms:
        raise typer.Exit(DRIFTED)


def _note_comparison(state: "WatchState", *, reserved: bool) -> None:
    """Print with what the drift monitor compares, if that is not what one may expect."""
    if state.model_changed:
        print_note("the model or --mass has changed, so the drift monitor starts anew. No file is scored again.")
    elif state.drift is None and not reserved:
        print_note(
            "the model has no rows reserved for calibration, so the drift monitor compares with the first files it "
            "sees. To compare with the training rows: mvset fit --calibration conformal."
        )


def _print_scored(file: "ScoredFile", *, as_json: bool) -> None:
    """Print the verdict on a file, and on stderr when the rows begin to drift and when they are normal again."""
    if as_json:
        print_json({**asdict(file), "events": json.loads(file.events)}, indent=None)
    else:
        typer.echo(f"{file.name}: {file.verdict}")
    if file.alarm:
        typer.echo(f"Alarm: {file.name}: {file.verdict} No other alarm until the rows are normal.", err=True)
    if file.back_to_normal:
        typer.echo(f"The rows are back to normal, as seen in {file.name}.", err=True)
