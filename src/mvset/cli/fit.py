"""``mvset fit``: fits a model to a table of normal behaviour."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from mvset.cli.device import Device, Verbose, chosen_device, say_shares
from mvset.cli.engine import Engine, cluster
from mvset.cli.failures import exit_on_error, require_package
from mvset.cli.info import json_summary, text_summary
from mvset.cli.options import AsJson, Jobs, Mass, Tables, check_output
from mvset.cli.output import print_json, print_pairs
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


def fit_command(
    tables: Tables,
    mass: Mass = 0.95,
    columns: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Columns to use, e.g. flow,pressure.")
    ] = None,
    exclude: Exclude = None,
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
    missing: Missing = "error",
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
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Fit a model to a table of normal behaviour and write it to a file.

    Columns may have any units, and be correlated. Metric and bandwidth are chosen to make the sets small. The offset is
    set on held-out rows, so that the requested share of new normal rows falls inside.

    The model file contains rows of the table: the support vectors and, with `--missing impute`, rows that fill gaps.
    Who has the file has these rows.

    For example:

    - `mvset fit normal.csv --exclude id,time`

    - `mvset fit 'logs/*.parquet' --columns flow,pressure --mass 0.99 --out pump.mvset`

    - `mvset fit sensors.csv --time timestamp --by site`
    """
    require_package("pyarrow", "cli", "Reading tables needs one more package")
    with exit_on_error(ValueError, on_interrupt="Nothing was written."):
        from mvset import MinimumVolumeSet, save
        from mvset.device import calibrated_on
        from mvset.estimators.model_parts import ModelParts
        from mvset.files.model_file import check_clock
        from mvset.stages import Stages
        from mvset.tables.fitting import ColumnRoles
        from mvset.tables.sources import table_files

        gpu = chosen_device(device, elsewhere="--engine" if engine else None)
        options = reading_options(format, separator, header, encoding, na, skip_rows, comment, sheet, query)
        files = table_files(tables, options)
        check_output(out, *(file.path for file in files))
        check_clock()
        estimator = MinimumVolumeSet(
            mass,
            nu="auto" if nu is None else nu,
            calibration=calibration,
            n_volume_points=volume_points,
            n_jobs=jobs,
            random_state=seed,
        )
        roles = ColumnRoles(columns or (), exclude or (), time, group, by, categories or ())
        stages = Stages() if gpu is None else gpu.stages
        with cluster(engine), calibrated_on(gpu):
            fitted = fit_files(files, estimator, roles, missing=missing, where=where, max_rows=max_rows, seed=seed)
        save(fitted.model, out)
        if verbose and engine is None:
            say_shares(gpu, stages)
        model = ModelParts.of(fitted.model)
        rows = {"rows": fitted.n_rows, "rows_used": fitted.n_used, "rows_dropped": fitted.n_dropped}
        if as_json:
            print_json({"model": str(out), **rows, **json_summary(model)})
            return
        of_all = f"{fitted.n_used} of {fitted.n_rows}"
        sampled = ", drawn at random" if fitted.n_used < fitted.n_rows - fitted.n_dropped else ""
        dropped = f", {fitted.n_dropped} left out for missing values" if fitted.n_dropped else ""
        print_pairs({"rows": of_all + sampled + dropped, **text_summary(model), "model": out})
