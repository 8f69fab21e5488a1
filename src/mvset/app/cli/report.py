"""``mvset report``: writes an HTML report on a table."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from mvset.app.cli import options
from mvset.app.cli.failures import exit_on_error, require_package
from mvset.app.cli.output import progress_bar


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
        list[str] | None, options.text("TABLE", "Fit to this table of normal behaviour, instead of reading a model.")
    ] = None,
    out: Annotated[Path, typer.Option(help="File for the report.")] = Path("report.html"),
    no_rows: Annotated[
        bool, options.flag("--no-rows", "Leave out all values of single rows: keep shares, curves and ranges.")
    ] = False,
    mass: options.OtherMass = None,
    time: options.Time = None,
    keep: options.Keep = None,
    strata: options.Strata = None,
    exclude: options.Exclude = None,
    missing: options.Missing = "error",
    jobs: options.Jobs = -1,
    read: options.Read = None,
    query: options.Query = None,
    where: options.Where = None,
    train_where: Annotated[
        str | None,
        options.text("SQL", 'Condition on the rows to fit to, e.g. "flow > 3".', rich_help_panel=options.READING),
    ] = None,
) -> None:
    """Write a report on a table: which rows are normal, which are not, since when, and why.

    The report is a single HTML file that works offline. Its charts over time use the column `--time`, or else the order
    of the rows. It contains values of up to 1500 rows of the table, and of the most unusual ones; `--no-rows` leaves
    these out.

    With `--train` no model is needed, because one is fitted to the table of normal behaviour. `--mass`, `--exclude`,
    `--missing` and `--time` are then as in `mvset fit`. `--where` always selects rows of the table that is reported on;
    `--train-where` selects rows to fit to. All other options about reading are for both tables.

    For example:

    - `mvset report --train normal.csv today.csv`

    - `mvset report --train history.csv --train-where "label = 'normal'" today.csv --where "line = 7"`

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
    if not train and (exclude or missing != "error" or train_where is not None):
        raise typer.BadParameter("--exclude, --missing and --train-where need --train: a model has its own columns.")
    require_package("plotly", "report", "The report needs more packages")
    require_package("jinja2", "report", "The report needs more packages")
    with exit_on_error(ValueError, on_interrupt="Nothing was written."):
        from mvset import MinimumVolumeSet
        from mvset.app.report.page import render_page
        from mvset.app.report.write import report_scan
        from mvset.app.tables.columns import ColumnRoles
        from mvset.app.tables.scoring import score_table
        from mvset.app.tables.sources import table_files
        from mvset.files.atomic import atomic_write

        if train:
            estimator = MinimumVolumeSet(mass or 0.95, n_jobs=jobs, random_state=0)
            training = table_files(train, options.reading_options(read, query))
            fitted = _trained(estimator, training, ColumnRoles((), exclude or (), time), missing, train_where)
            tables, inputs = files, [file.path for file in training]
        else:
            fitted, tables, inputs = options.load_fitted(Path(files[0]), jobs), files[1:], [Path(files[0])]
        reading = options.reading_options(read, query, fitted)
        reader = options.open_tables(fitted, tables, options=reading, where=where, keep=keep, time=time, strata=strata)
        options.check_output(out, *inputs, *(file.path for file in reader.files))
        grouped = reader.strata is not None
        survey = report_scan(fitted, mass or fitted.sets.mass, grouped=grouped, tables=reader.labels)
        with progress_bar(1.0) as bar:
            score_table(reader, survey, on_progress=partial(bar.reach, "scoring", total=1.0))
            options.note_times(reader)
            bar.describe("drawing")
            title = ", ".join(Path(name).name for name in tables)
            page = render_page(fitted, survey.result(), title=title, n_dropped=reader.n_dropped, rows=not no_rows)
        with atomic_write(out) as aside:
            aside.write_text(page, encoding="utf-8")
        typer.echo(out)


def _trained(estimator: Any, tables: Any, roles: Any, missing: str, where: str | None) -> Any:
    """Return the parts of a model that is fitted to a table of normal behaviour."""
    from mvset.app.tables.conditions import ConditionError
    from mvset.app.tables.errors import TableError
    from mvset.estimators.fitted_model import FittedModel

    try:
        return FittedModel.of(options.fit_files(tables, estimator, roles, missing=missing, where=where, seed=0).model)
    except ConditionError as error:
        raise TableError(f"--train-where: {error.args[0]}") from None
