"""``mvset score``: scores every row of a table and tests the table as a whole for drift."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mvset.app.cli import options
from mvset.app.cli.engine import Engine, running_on
from mvset.app.cli.failures import DRIFTED, exit_on_error
from mvset.app.cli.output import print_json, print_pairs, print_table, progress_bar
from mvset.app.summaries.shown import shown_range, shown_values

_MAX_EVENTS = 10  # in the summary
_MAX_COLUMNS = 5  # shown that explain rows outside; --json has all

if TYPE_CHECKING:
    from mvset.app.summaries.scan import TableSummary
    from mvset.app.tables.reading import TableReader


def score_command(
    model: options.ModelFile,
    tables: options.Tables,
    out: Annotated[
        Path | None, typer.Option(help="File for the results, one line per row: .parquet, .csv, .feather or .ndjson.")
    ] = None,
    mass: options.OtherMass = None,
    time: options.Time = None,
    keep: options.Keep = None,
    strata: options.Strata = None,
    only_outside: options.OnlyOutside = False,
    fail_on_drift: options.FailOnDrift = False,
    jobs: options.Jobs = -1,
    engine: Engine = None,
    read: options.Read = None,
    query: options.Query = None,
    where: options.Where = None,
    as_json: options.AsJson = False,
) -> None:
    """Score every row of a table, and test whether the table still follows the distribution of the training table.

    The results have one line per row: `row` (its number in the file, counted from 0), `inside`, `score` (higher is
    more normal), `level` (the smallest mass whose set contains the row, rounded up to six digits; 1 is far out),
    `p_value`, for rows outside `top_feature` (the column that contributes most to the anomaly), and `note` (missing,
    imputed or unseen values). Tables larger than memory are read in batches. The summary shows the most unusual rows,
    the columns that explain the rows outside, events (when rows were unusual, and in which columns), the share
    outside, the expected share, and a verdict with a false-alarm rate of about 1 %. Times come from the column
    `--time`; without it, rows are taken in their order. Use new rows, because training rows lie further inside and
    show nothing about drift. `mvset watch` scores files as they arrive.

    For example:

    - `mvset score model.mvset today.csv`

    - `mvset score model.mvset today.parquet --out alarms.csv --only-outside --keep id,time`

    - `mvset score model.mvset 'logs/*.csv' --time recorded_at`

    - `mvset score model.mvset today.csv --json --fail-on-drift`

    - `mvset score model.mvset today.parquet --engine auto`
    """
    if only_outside and out is None:
        raise typer.BadParameter("--only-outside restricts the rows that are written: name the file with --out.")
    with exit_on_error(ValueError, on_interrupt="Nothing was written."):
        from mvset.app.summaries.scan import TableScan
        from mvset.app.tables.scoring import score_table

        fitted = options.load_fitted(model, jobs)
        reading = options.reading_options(read, query, fitted)
        reader = options.open_tables(fitted, tables, options=reading, where=where, keep=keep, time=time, strata=strata)
        options.check_output(out, model, *(file.path for file in reader.files))
        grouped = reader.strata is not None
        survey = TableScan(fitted, mass or fitted.sets.mass, n_unusual=5, grouped=grouped, tables=reader.labels)
        with running_on(engine) as (device, stages), progress_bar(1.0) as bar:
            score_table(
                reader,
                survey,
                out=out,
                only_outside=only_outside,
                device=device,
                stages=stages,
                on_progress=partial(bar.reach, "scoring", total=1.0),
            )
        result = survey.result()
        options.note_times(reader)
        if as_json:
            print_json(_json_results(result, reader, out))
        else:
            _print_results(result, reader, out)
    if fail_on_drift and result.drift.drifted:
        raise typer.Exit(DRIFTED)


def _json_results(result: "TableSummary", reader: "TableReader", out: Path | None) -> dict[str, Any]:
    return {
        "rows_in_files": reader.counts["all"],
        "rows": reader.n_rows,
        "rows_dropped": reader.n_dropped,
        "mass": result.mass,
        **{name: value for name, value in result.findings.to_dict().items() if name != "drift"},
        **asdict(result.drift),
        "columns": [{**asdict(column), "direction": column.direction} for column in result.columns],
        "out": out and str(out),
        "most_unusual": [{**asdict(row), "top_feature": row.top_feature} for row in result.unusual],
    }


def _print_results(result: "TableSummary", reader: "TableReader", out: Path | None) -> None:
    typer.echo("Most unusual")
    header = [*result.unusual[0].kept, "row", "level", "top_feature", "value", "normal"]
    print_table(
        header, [[*row.kept.values(), row.row, row.level, row.top_feature, *row.top_values] for row in result.unusual]
    )
    _print_columns(result)
    _print_events(result)
    drift = result.drift
    confidence = 1 - drift.false_alarm_rate
    typer.echo()
    print_pairs(
        {
            "rows": reader.rows_in_words(),
            "outside": _with_interval(drift.share_outside, drift.share_interval, confidence),
            "expected": _with_interval(drift.expected_share, drift.expected_interval, confidence),
            **({"results": out} if out else {}),
            "verdict": result.findings.headline,
        }
    )


def _print_columns(result: "TableSummary") -> None:
    """Print which columns explain the rows outside."""
    explaining = [column for column in result.columns if column.share > 0][:_MAX_COLUMNS]
    if not explaining:
        return
    flagged = result.flagged
    sampled = f", by a sample of {len(flagged.top)}" if len(flagged.top) < flagged.n_rows else ""
    typer.echo()
    typer.echo(f"Columns that contribute most to the {flagged.n_rows} rows outside{sampled}")
    rows = [
        [each.name, f"{each.share:.0%}", each.direction, shown_values(each.medians), shown_range(each.normal_range)]
        for each in explaining
    ]
    print_table(["top_feature", "rows", "direction", "median", "normal range"], rows)


def _print_events(result: "TableSummary") -> None:
    """Print when rows were unusual, and in which columns."""
    events = result.findings.events
    if not events:
        return
    typer.echo()
    typer.echo("Events that chance does not explain")
    rows = [
        [each.start.index, each.end.index, f"{each.n_outside} of {each.n_rows}", ", ".join(map(str, each.columns))]
        for each in sorted(events, key=lambda event: event.by_chance)[:_MAX_EVENTS]
    ]
    print_table(["start", "end", "outside", "columns"], rows)


def _with_interval(share: float, interval: tuple[float, float], confidence: float) -> str:
    return f"{share:.2%} ({interval[0]:.2%} to {interval[1]:.2%} with {confidence:.0%} confidence)"
