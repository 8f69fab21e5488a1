"""``mvset report``: writes an HTML report on a table."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from mvset.cli.failures import exit_on_error, require_package
from mvset.cli.options import (
    Jobs,
    Keep,
    OtherMass,
    Time,
    check_output_of_reader,
    load_fitted,
    open_tables,
)
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
from mvset.cli.training import Exclude, Missing, fit_files


def report_command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL] TABLE…",
            help="A model file written by `mvset fit`, unless there is --train, and the tables to report on.",
            show_default=False,
        ),
    ],
    train: Annotated[
        list[str] | None,
        typer.Option(metavar="TABLE", help="Fit to this table of normal behaviour first, instead of reading a model."),
    ] = None,
    out: Annotated[Path, typer.Option(help="File for the report.")] = Path("report.html"),
    no_rows: Annotated[
        bool, typer.Option("--no-rows", help="Leave out all values of single rows: keep shares, curves and ranges.")
    ] = False,
    mass: OtherMass = None,
    time: Time = None,
    keep: Keep = None,
    exclude: Exclude = None,
    missing: Missing = "error",
    jobs: Jobs = -1,
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
) -> None:
    """Write a report on a table: which rows are normal, which are not, since when, and why.

    The report is a single HTML file that works offline. Its charts over time use the column `--time`, or else the order
    of the rows. It contains values of up to 1500 rows of the table, and of the most unusual ones; `--no-rows` leaves
    these out.

    With `--train` no model is needed: one is fitted to the table of normal behaviour, with `--mass`, `--exclude`,
    `--missing`, `--where` and `--time` as in `mvset fit`. These options say nothing about a model that is read.

    For example:

    - `mvset report --train normal.csv today.csv`

    - `mvset report model.mvset today.csv`

    - `mvset report model.mvset 'logs/*.parquet' --time recorded_at --keep id --out day.html`
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(
            f"--out: the report is an HTML file; choose a name that ends in .html, not {out.name}."
        )
    if not train and len(files) < 2:
        raise typer.BadParameter(
            f"a model and a table are needed; got {files[0]}. Without a model: mvset report --train NORMAL {files[0]}."
        )
    if not train and (exclude or missing != "error"):
        raise typer.BadParameter("--exclude and --missing are for --train: a model has its own columns.")
    require_package("plotly", "report", "The report needs more packages")
    require_package("jinja2", "report", "The report needs more packages")
    with exit_on_error(ValueError, on_interrupt="Nothing was written."):
        from mvset.files.atomic import atomic_write
        from mvset.report.page import render_page
        from mvset.report.write import report_survey
        from mvset.tables.scoring import score_table

        given = (format, separator, header, encoding, na, skip_rows, comment, sheet, query)
        if train:
            fitted = _trained(train, reading_options(*given), mass or 0.95, exclude, missing, where, time, jobs)
            tables, inputs, where = files, [], None
        else:
            fitted, tables, inputs = load_fitted(Path(files[0]), jobs), files[1:], [Path(files[0])]
        remembered = getattr(fitted.estimator, "reading_", None)
        options = reading_options(*given, remembered)
        reader = open_tables(fitted, tables, keep or (), options, where, time)
        check_output_of_reader(out, reader, *inputs)
        grouped = reader.by is not None
        survey = report_survey(fitted, mass or fitted.sets.mass, grouped=grouped, tables=reader.labels)
        with progress_bar(1.0) as bar:
            score_table(reader, survey, on_progress=partial(bar.reach, "scoring", total=1.0))
            bar.describe("drawing")
            title = ", ".join(Path(name).name for name in tables)
            page = render_page(fitted, survey.result(), title=title, n_dropped=reader.n_dropped, rows=not no_rows)
        with atomic_write(out) as aside:
            aside.write_text(page, encoding="utf-8")
        typer.echo(out)


def _trained(
    train: list[str],
    options: Any,
    mass: float,
    exclude: list[str] | None,
    missing: str,
    where: str | None,
    time: str | None,
    jobs: int,
) -> Any:
    """The parts of a model that is fitted to a table of normal behaviour."""
    from mvset import MinimumVolumeSet
    from mvset.estimators.model_parts import ModelParts
    from mvset.tables.fitting import ColumnRoles
    from mvset.tables.sources import table_files

    estimator = MinimumVolumeSet(mass, n_jobs=jobs, random_state=0)
    roles = ColumnRoles((), exclude or (), time)
    fitted = fit_files(table_files(train, options), estimator, roles, missing=missing, where=where, seed=0)
    return ModelParts.of(fitted.model)
