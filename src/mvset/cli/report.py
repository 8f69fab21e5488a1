"""``mvset report``: writes an HTML report on a table."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from mvset.cli.failures import exit_on_error, require_package
from mvset.cli.options import (
    Jobs,
    Keep,
    ModelFile,
    OtherMass,
    Tables,
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


def report_command(
    model: ModelFile,
    tables: Tables,
    out: Annotated[Path, typer.Option(help="File for the report.")] = Path("report.html"),
    mass: OtherMass = None,
    time: Time = None,
    keep: Keep = None,
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
    of the rows.

    For example:

    - `mvset report model.mvset today.csv`

    - `mvset report model.mvset 'logs/*.parquet' --time recorded_at --keep id --out day.html`
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(
            f"--out: the report is an HTML file; choose a name that ends in .html, not {out.name}."
        )
    require_package("plotly", "report", "The report needs more packages")
    require_package("jinja2", "report", "The report needs more packages")
    with exit_on_error(ValueError, on_interrupt="Nothing was written."):
        from mvset.files.atomic import atomic_write
        from mvset.report.page import render_page
        from mvset.report.write import report_survey
        from mvset.tables.scoring import score_table

        fitted = load_fitted(model, jobs)
        remembered = getattr(fitted.estimator, "reading_", None)
        options = reading_options(format, separator, header, encoding, na, skip_rows, comment, sheet, query, remembered)
        reader = open_tables(fitted, tables, keep or (), options, where, time)
        check_output_of_reader(out, reader, model)
        grouped = reader.by is not None
        survey = report_survey(fitted, mass or fitted.sets.mass, grouped=grouped, tables=reader.labels)
        with progress_bar(1.0) as bar:
            score_table(reader, survey, on_progress=partial(bar.reach, "scoring", total=1.0))
            bar.describe("drawing")
            title = ", ".join(Path(name).name for name in tables)
            page = render_page(fitted, survey.result(), title=title, n_dropped=reader.n_dropped)
        with atomic_write(out) as aside:
            aside.write_text(page, encoding="utf-8")
        typer.echo(out)
