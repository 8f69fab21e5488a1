"""``mvset fit``: fits a model to a table of normal behaviour."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Literal

import typer

from mvset.cli.engine import Engine, cluster
from mvset.cli.failures import exit_on_error, require_package
from mvset.cli.info import json_summary, text_summary
from mvset.cli.options import AsJson, Jobs, Mass, Tables, check_output, say_how_files_are_read
from mvset.cli.output import print_json, print_pairs
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


def fit_command(
    tables: Tables,
    mass: Mass = 0.95,
    columns: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Columns to use, e.g. flow,pressure.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Columns to leave out, e.g. id,time.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column by which the rows are in time order, if neighbours are alike. Blocks of rows are then held "
            "out, instead of single rows.",
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of what several rows have in common: a machine, a batch, a day. Such rows "
            "are held out together.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of groups that shall each have their own share of alarms: a site, a product, a shift.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="File for the model.")] = Path("model.mvset"),
    categories: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Columns of numbers that stand for categories; those of text always do."),
    ] = None,
    missing: Annotated[
        Literal["error", "drop", "impute"],
        typer.Option(
            help="What to do about rows with missing or infinite values: stop, leave them out, or fill them from "
            "similar rows, here and when rows are scored."
        ),
    ] = "error",
    calibration: Annotated[
        Literal["split", "conformal", "pac"],
        typer.Option(
            help="Guarantee on the mass. split: none; the mass is right on average. conformal: a new row falls inside "
            "with probability at least --mass, on average over random draws of the table and of the new row. pac: with "
            "95 % confidence, the fitted set contains at least --mass of the distribution."
        ),
    ] = "split",
    nu: Annotated[
        float | None,
        typer.Option(
            min=0.01, max=1.0, help="ν of the one-class SVM, where a note asks for another than the one chosen."
        ),
    ] = None,
    volume_points: Annotated[
        int, typer.Option(min=100, metavar="N", help="Points that measure volumes, where a note asks for more.")
    ] = 10_000,
    max_rows: Annotated[
        int | None, typer.Option(min=3, help="Fit to a random sample of this many rows if the table has more.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random number generator.")] = 0,
    jobs: Jobs = -1,
    engine: Engine = None,
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
    as_json: AsJson = False,
) -> None:
    """Fit a model to a table of normal behaviour and write it to a file.

    Columns may have any units, and be correlated. Metric and bandwidth are chosen to make the sets small. The offset is
    set on held-out rows, so that the requested share of new normal rows falls inside.

    For example:

    - `mvset fit normal.csv --exclude id,time`

    - `mvset fit 'logs/*.parquet' --columns flow,pressure --mass 0.99 --out pump.mvset`

    - `mvset fit sensors.csv --time timestamp --by site`
    """
    require_package("pyarrow", "cli", "Reading tables needs one more package")
    with exit_on_error(ValueError, on_interrupt="Nothing was written."):
        from mvset import MinimumVolumeSet, save
        from mvset.estimators.model_parts import ModelParts
        from mvset.exceptions import BandwidthEdgeWarning, ConstantColumnWarning
        from mvset.tables.fitting import ColumnRoles, fit_table
        from mvset.tables.sources import table_files

        warnings.simplefilter("ignore", ConstantColumnWarning)  # fit_table warns by column name
        warnings.simplefilter("ignore", BandwidthEdgeWarning)  # the command has no option for the bandwidths
        options = reading_options(format, separator, header, encoding, na, skip_rows, comment, sheet, query)
        files = table_files(tables, options)
        say_how_files_are_read(files)
        check_output(out, *(file.path for file in files))
        estimator = MinimumVolumeSet(
            mass,
            nu="auto" if nu is None else nu,
            calibration=calibration,
            n_volume_points=volume_points,
            n_jobs=jobs,
            random_state=seed,
        )
        with cluster(engine), progress_bar(1.0) as bar:
            fitted = fit_table(
                files,
                estimator,
                ColumnRoles(columns or (), exclude or (), time, group, by, categories or ()),
                missing=missing,
                where=where,
                max_rows=max_rows,
                seed=seed,
                on_progress=bar.reach,
            )
        save(fitted.model, out)
        if fitted.left_out:
            names = ", ".join(fitted.left_out)
            typer.echo(f"Note: dates are left out of the fit: {names}. Rows in time order: --time.", err=True)
        if fitted.too_many_values:
            names = ", ".join(fitted.too_many_values)
            typer.echo(f"Note: text with too many values for a category is left out of the fit: {names}.", err=True)
        model = ModelParts.of(fitted.model)
        rows = {"rows": fitted.n_rows, "rows_used": fitted.n_used, "rows_dropped": fitted.n_dropped}
        if as_json:
            print_json({"model": str(out), **rows, **json_summary(model)})
            return
        of_all = f"{fitted.n_used} of {fitted.n_rows}"
        sampled = ", drawn at random" if fitted.n_used < fitted.n_rows - fitted.n_dropped else ""
        dropped = f", {fitted.n_dropped} left out for missing values" if fitted.n_dropped else ""
        print_pairs({"rows": of_all + sampled + dropped, **text_summary(model), "model": out})
