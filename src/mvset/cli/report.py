"""``mvset report``: a model and a table → a page to show to somebody."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from mvset.cli.failures import explained, need
from mvset.cli.options import DropMissing, Jobs, Keep, ModelFile, OtherMass, Tables, check_not_read, loaded, reader_for
from mvset.cli.progress import progress_bar


def report_command(
    model: ModelFile,
    tables: Tables,
    out: Annotated[Path, typer.Option(help="File for the page.")] = Path("report.html"),
    mass: OtherMass = None,
    keep: Keep = None,
    drop_missing: DropMissing = False,
    jobs: Jobs = -1,
) -> None:
    """Write a page about a table: what is normal, what is not, and why. One file, which needs no network.

    For example:

    - `mvset report model.mvset today.csv`

    - `mvset report model.mvset 'logs/*.parquet' --keep id --out day.html`
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"--out: the page is HTML; give a name that ends in .html, not {out.name}.")
    need("plotly", "report", "The report needs more packages")
    need("jinja2", "report", "The report needs more packages")
    with explained(ValueError, when_stopped="Nothing was written."):
        from mvset.files.atomic import written_aside
        from mvset.report.page import page_about
        from mvset.report.write import report_survey
        from mvset.tables.scoring import score_table

        fitted = loaded(model, jobs)
        reader = reader_for(fitted, tables, keep or (), drop_missing)
        check_not_read(out, reader, model)
        survey = report_survey(fitted, mass or fitted.sets.mass)
        with progress_bar(1.0) as bar:
            score_table(reader, survey, on_progress=partial(bar.reach, "scoring", total=1.0))
            bar.describe("drawing")
            title = ", ".join(Path(name).name for name in tables)
            page = page_about(fitted, survey.result(), title=title, n_dropped=reader.n_dropped)
        with written_aside(out) as aside:
            aside.write_text(page, encoding="utf-8")
        typer.echo(out)
