"""``mvset score``: scores every row of a table and tests the table as a whole for drift."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mvset.cli.device import Device, Verbose, chosen_device, say_shares
from mvset.cli.engine import Engine, cluster
from mvset.cli.failures import DRIFTED, exit_on_error
from mvset.cli.options import (
    AsJson,
    Jobs,
    Keep,
    ModelFile,
    OtherMass,
    TablesOrNone,
    Time,
    check_output_of_reader,
    load_fitted,
    open_tables,
)
from mvset.cli.output import print_json, print_pairs, print_table
from mvset.cli.progress import progress_bar
from mvset.cli.reading import (
    Comment,
    Encoding,
    Format,
    Header,
    Na,
    Query,
    Separator,
    Sheet,
    SkipRows,
    Where,
    reading_options,
)
from mvset.cli.watch import OnAlarm, Once, OutDir, OutFormat, Settle, Watch, check_watch, fingerprinted, watch_folder
from mvset.summaries.shown import shown_range, shown_values

_MAX_COLUMNS = 5  # shown that explain rows outside; --json has all

if TYPE_CHECKING:
    from mvset.summaries.survey import SurveyResult
    from mvset.tables.reading import TableReader


def score_command(
    model: ModelFile,
    tables: TablesOrNone = None,
    out: Annotated[
        Path | None, typer.Option(help="File for the results, one line per row: .parquet, .csv, .feather or .ndjson.")
    ] = None,
    mass: OtherMass = None,
    time: Time = None,
    keep: Keep = None,
    only_outside: Annotated[bool, typer.Option("--only-outside", help="Write only the rows outside the set.")] = False,
    formulas: Annotated[
        bool,
        typer.Option(
            "--formulas",
            help="In CSV, leave text that spreadsheets run as formulas, such as =A1, as it is.",
        ),
    ] = False,
    fail_on_drift: Annotated[bool, typer.Option("--fail-on-drift", help="Exit with code 3 if there is drift.")] = False,
    jobs: Jobs = -1,
    engine: Engine = None,
    device: Device = "cpu",
    format: Format = None,
    separator: Separator = None,
    header: Header = None,
    encoding: Encoding = None,
    na: Na = None,
    skip_rows: SkipRows = None,
    comment: Comment = None,
    sheet: Sheet = None,
    query: Query = None,
    where: Where = None,
    watch: Watch = None,
    out_dir: OutDir = None,
    out_format: OutFormat = None,
    once: Once = False,
    settle: Settle = None,
    on_alarm: OnAlarm = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Score every row of a table, and test whether the table still follows the distribution of the training table.

    The results have one line per row: `row` (its number in the file, counted from 0), `inside`, `score` (higher is
    more normal), `level` (the smallest mass whose set contains the row; 1 is far out) and, for rows outside,
    `top_feature` (the column that contributes most to the anomaly). Tables larger than memory are read in batches. The
    summary shows the most unusual rows, the columns that explain the rows outside, the share outside, the expected
    share, and the verdict of a drift test with a false-alarm rate of about 1 %. If there is drift, it says since when,
    by the column `--time` or by the order of the rows. Use new rows: the training rows lie further inside, so they say
    nothing about drift.

    For example:

    - `mvset score model.mvset today.csv`

    - `mvset score model.mvset today.parquet --out alarms.csv --only-outside --keep id,time`

    - `mvset score model.mvset 'logs/*.csv' --time recorded_at`

    - `mvset score model.mvset today.csv --json --fail-on-drift`

    - `mvset score model.mvset today.parquet --device auto --verbose`

    - `mvset score model.mvset --watch incoming --out-dir judged --on-alarm 'mail -s drift me@example.org'`
    """
    watching = check_watch(watch, tables, out, out_dir, out_format, once, settle, on_alarm, engine)
    if only_outside and out is None and watching is None:
        raise typer.BadParameter("--only-outside restricts the rows that are written: name the file with --out.")
    on_interrupt = watching.on_interrupt if watching else "Nothing was written."
    with exit_on_error(ValueError, on_interrupt=on_interrupt) as interrupts:
        from mvset.stages import Stages
        from mvset.summaries.survey import Survey
        from mvset.tables.scoring import score_table

        gpu = chosen_device(device, elsewhere="--engine" if engine else "--watch" if watching else None)
        fitted, fingerprint = fingerprinted(model, jobs) if watching else (load_fitted(model, jobs), "")
        remembered = getattr(fitted.estimator, "reading_", None)
        options = reading_options(format, separator, header, encoding, na, skip_rows, comment, sheet, query, remembered)
        if watching is not None:
            open_table = partial(open_tables, fitted, keep=keep or (), options=options, where=where, time=time)
            watch_folder(
                watching, fingerprint, fitted, mass, open_table, only_outside, fail_on_drift, as_json, interrupts
            )
            return
        reader = open_tables(fitted, tables or (), keep or (), options, where, time)
        check_output_of_reader(out, reader, model)
        grouped = reader.by is not None
        survey = Survey(fitted, mass or fitted.sets.mass, n_unusual=5, grouped=grouped, tables=reader.labels)
        with cluster(engine), progress_bar(1.0) as bar:
            on_progress = partial(bar.reach, "scoring", total=1.0)
            stages = Stages() if gpu is None else gpu.stages
            score_table(
                reader,
                survey,
                out=out,
                only_outside=only_outside,
                formulas=formulas,
                device=gpu,
                stages=stages,
                on_progress=on_progress,
            )
        if verbose and engine is None:
            say_shares(gpu, stages)
        result = survey.result()
        if as_json:
            print_json(_json_results(result, reader, out))
        else:
            _print_results(result, reader, out)
    if fail_on_drift and result.drift.drifted:
        raise typer.Exit(DRIFTED)


def _json_results(result: SurveyResult, reader: TableReader, out: Path | None) -> dict[str, Any]:
    return {
        "rows": reader.n_rows,
        "rows_dropped": reader.n_dropped,
        "mass": result.mass,
        **asdict(result.drift),
        "onset": result.timeline.onset and asdict(result.timeline.onset),
        "columns": [{**asdict(column), "direction": column.direction} for column in result.columns],
        "out": out and str(out),
        "most_unusual": [{**asdict(row), "top_feature": row.top_feature} for row in result.unusual],
    }


def _print_results(result: SurveyResult, reader: TableReader, out: Path | None) -> None:
    typer.echo("Most unusual")
    header = [*result.unusual[0].kept, "row", "level", "top_feature", "value", "normal"]
    print_table(
        header, [[*row.kept.values(), row.row, row.level, row.top_feature, *row.top_values] for row in result.unusual]
    )
    _print_columns(result)
    drift = result.drift
    confidence = 1 - drift.false_alarm_rate
    dropped = f", {reader.n_dropped} without an answer for missing values" if reader.n_dropped else ""
    typer.echo()
    print_pairs(
        {
            "rows": f"{drift.n_rows}{dropped}",
            "outside": _with_interval(drift.share_outside, drift.share_interval, confidence),
            "expected": _with_interval(drift.expected_share, drift.expected_interval, confidence),
            **({"results": out} if out else {}),
            **({"changed": f"since {result.timeline.onset}"} if result.timeline.onset else {}),
            "verdict": drift,
        }
    )


def _print_columns(result: SurveyResult) -> None:
    """Print which columns explain the rows outside."""
    explaining = [column for column in result.columns if column.share > 0][:_MAX_COLUMNS]
    if not explaining:
        return
    flagged = result.flagged
    sampled = f", by a sample of {len(flagged.top)}" if len(flagged.top) < flagged.n_rows else ""
    typer.echo()
    typer.echo(f"Columns that contribute most to the {flagged.n_rows} rows outside{sampled}")
    print_table(
        ["top_feature", "rows", "direction", "median", "normal range"],
        [
            [
                column.name,
                f"{column.share:.0%}",
                column.direction,
                shown_values(column.medians),
                shown_range(column.normal_range),
            ]
            for column in explaining
        ],
    )


def _with_interval(share: float, interval: tuple[float, float], confidence: float) -> str:
    return f"{share:.2%} ({interval[0]:.2%} to {interval[1]:.2%} with {confidence:.0%} confidence)"
