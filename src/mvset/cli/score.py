"""``mvset score``: a model and a table → an answer for every row, and an alarm for all of them."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mvset.cli.failures import DRIFTED, explained
from mvset.cli.options import (
    AsJson,
    DropMissing,
    Jobs,
    Keep,
    ModelFile,
    OtherMass,
    Tables,
    check_not_read,
    loaded,
    reader_for,
)
from mvset.cli.output import print_facts, print_json, print_table
from mvset.cli.progress import progress_bar

if TYPE_CHECKING:
    from mvset.summaries.survey import SurveyResult
    from mvset.tables.reading import TableReader


def score_command(
    model: ModelFile,
    tables: Tables,
    out: Annotated[
        Path | None, typer.Option(help="File for a line per row: .parquet, .csv, .feather or .ndjson.")
    ] = None,
    mass: OtherMass = None,
    keep: Keep = None,
    only_outside: Annotated[bool, typer.Option("--only-outside", help="Write the rows outside only.")] = False,
    drop_missing: DropMissing = False,
    fail_on_drift: Annotated[bool, typer.Option("--fail-on-drift", help="Exit with code 3 if there is drift.")] = False,
    jobs: Jobs = -1,
    as_json: AsJson = False,
) -> None:
    """Judge every row of a table, and say whether the table is still like that of the fit.

    For each row: `row` (its number, from 0 on, over all tables), `inside`, `score` (higher is more normal), `level`
    (the smallest mass whose set holds it; 1 is far out) and `top_feature` (the column that contributes most to its
    being unusual). Tables larger than memory are read batch by batch. Shown are the most unusual rows, the share
    outside, what was expected, and whether chance could explain the difference (at a false-alarm rate of about 1 %).
    Judge new rows: those of the fit lie further inside, and are no test of anything.

    For example:

    - `mvset score model.mvset today.csv`

    - `mvset score model.mvset today.parquet --out alarms.csv --only-outside --keep id,time`

    - `mvset score model.mvset today.csv --json --fail-on-drift`
    """
    if only_outside and out is None:
        raise typer.BadParameter("--only-outside is about the rows that are written: say where to with --out.")
    with explained(ValueError, when_stopped="Nothing was written."):
        from mvset.summaries.survey import Survey
        from mvset.tables.scoring import score_table

        fitted = loaded(model, jobs)
        reader = reader_for(fitted, tables, keep or (), drop_missing)
        check_not_read(out, reader, model)
        survey = Survey(fitted, mass or fitted.sets.mass, n_unusual=5)
        with progress_bar(1.0) as bar:
            on_progress = partial(bar.reach, "scoring", total=1.0)
            score_table(reader, survey, out=out, only_outside=only_outside, on_progress=on_progress)
        result = survey.result()
        if as_json:
            print_json(_for_programs(result, reader, out))
        else:
            _show(result, reader, out)
    if fail_on_drift and result.drift.drifted:
        raise typer.Exit(DRIFTED)


def _for_programs(result: SurveyResult, reader: TableReader, out: Path | None) -> dict[str, Any]:
    return {
        "rows": reader.n_rows,
        "rows_dropped": reader.n_dropped,
        "mass": result.mass,
        **asdict(result.drift),
        "out": out and str(out),
        "most_unusual": [{**asdict(row), "top_feature": row.top_feature} for row in result.unusual],
    }


def _show(result: SurveyResult, reader: TableReader, out: Path | None) -> None:
    typer.echo("Most unusual")
    header = [*result.unusual[0].kept, "row", "level", "top_feature", "value", "normal"]
    print_table(
        header, [[*row.kept.values(), row.row, row.level, row.top_feature, *row.top_values] for row in result.unusual]
    )
    drift = result.drift
    confidence = 1 - drift.false_alarm_rate
    dropped = f", {reader.n_dropped} left out for missing values" if reader.n_dropped else ""
    typer.echo()
    print_facts(
        {
            "rows": f"{drift.n_rows}{dropped}",
            "outside": _with_interval(drift.share_outside, drift.share_interval, confidence),
            "expected": _with_interval(drift.expected_share, drift.expected_interval, confidence),
            **({"results": out} if out else {}),
            "verdict": drift,
        }
    )


def _with_interval(share: float, interval: tuple[float, float], confidence: float) -> str:
    return f"{share:.2%} ({interval[0]:.2%} to {interval[1]:.2%} with {confidence:.0%} confidence)"
