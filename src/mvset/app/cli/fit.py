"""``mvset fit``: fits a model to a table of normal behaviour."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mvset.app.cli import options
from mvset.app.cli.engine import Engine, running_on
from mvset.app.cli.failures import exit_on_error
from mvset.app.cli.output import print_json, print_pairs


def fit_command(
    tables: options.Tables,
    mass: Annotated[
        float,
        options.text(
            "SHARE",
            "Share of normal rows inside the set: 0.95, 95 or 95%. New normal rows are flagged at a rate of 1 - mass.",
            parser=options.share,
        ),
    ] = 0.95,
    columns: Annotated[list[str] | None, options.text("NAMES", "Columns to use, e.g. flow,pressure.")] = None,
    exclude: options.Exclude = None,
    time: Annotated[
        str | None,
        options.text("COLUMN", "Column by which rows are in time order, e.g. recorded_at. Holds out blocks of rows."),
    ] = None,
    group: Annotated[
        str | None,
        options.text("COLUMN", "Column that identifies related rows, e.g. machine or day. Holds them out together."),
    ] = None,
    strata: Annotated[
        str | None,
        options.text("COLUMN", "Column of groups to calibrate separately, e.g. site. Each has its share of alarms."),
    ] = None,
    out: Annotated[Path, typer.Option(help="File for the model.")] = Path("model.mvset"),
    categories: Annotated[
        list[str] | None, options.text("NAMES", "Columns of numbers that are categories, as text always is, e.g. mode.")
    ] = None,
    missing: options.Missing = "error",
    calibration: Annotated[
        Literal["cross", "conformal", "pac"],
        typer.Option(
            help="Guarantee on the mass. cross: none; the mass is right on average. conformal: a new row falls inside "
            "with probability at least --mass, on average over random draws of the table and of the new row. pac: with "
            "95 % confidence, the fitted set contains at least --mass of the distribution."
        ),
    ] = "cross",
    scaling: Annotated[
        Literal["auto", "standard", "whiten", "both"],
        typer.Option(
            help="How columns are scaled. standard: by standard deviation. whiten: correlations are removed, so that "
            "rows that break them are far away. both: a row must be normal in both views. auto: the scaling with "
            "smaller sets, or both if volumes do not show which."
        ),
    ] = "auto",
    detector: Annotated[
        Literal["mvset", "gaussian", "iforest", "lof", "knn"],
        typer.Option(
            help="Score to calibrate, of columns of numbers. mvset: Minimum Volume sets. gaussian: distance from the "
            "mean by all correlations (T²). iforest: isolation forest. lof: local outlier factor. knn: distance to the "
            "fifth nearest row."
        ),
    ] = "mvset",
    max_rows: Annotated[
        int | None, typer.Option(min=3, help="Fit to a random sample of this many rows if the table has more.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random number generator.")] = 0,
    jobs: options.Jobs = -1,
    engine: Engine = None,
    read: options.Read = None,
    query: options.Query = None,
    where: options.Where = None,
    as_json: options.AsJson = False,
) -> None:
    """Fit a model to a table of normal behaviour and write it to a file.

    Columns may have any units, and be correlated. Scaling and bandwidth are chosen to make the sets small. The offset
    is set on held-out rows, so that the requested share of new normal rows falls inside.

    The model file contains rows of the table: the support vectors and, with `--missing impute`, rows that fill missing
    values. Anyone with the file can read these rows.

    For example:

    - `mvset fit normal.csv --exclude id,time`

    - `mvset fit 'logs/*.parquet' --columns flow,pressure --mass 0.99 --out pump.mvset`

    - `mvset fit sensors.csv --time timestamp --strata site`

    - `mvset fit export.txt --read separator=tab --read na=ERR --missing drop`

    - `mvset fit process.csv --detector gaussian --time recorded_at`
    """
    if detector != "mvset":
        _check_options(detector, calibration=calibration, scaling=scaling, strata=strata, categories=categories)
        if missing == "impute":
            raise typer.BadParameter(f"--missing impute does not work with --detector {detector}: use --missing drop.")
    with exit_on_error(ValueError, on_interrupt="Nothing was written."):
        from mvset import CalibratedSet, MinimumVolumeSet, save
        from mvset.app.summaries.models import json_summary, text_summary
        from mvset.app.tables.columns import ColumnRoles
        from mvset.app.tables.sources import table_files
        from mvset.estimators.fitted_model import FittedModel
        from mvset.files.model_file import check_clock
        from mvset.metrics.detectors import detector_by_name

        files = table_files(tables, options.reading_options(read, query))
        options.check_output(out, *(file.path for file in files))
        check_clock()
        estimator: CalibratedSet | MinimumVolumeSet
        if detector == "mvset":
            estimator = MinimumVolumeSet(mass, scaling=scaling, calibration=calibration, n_jobs=jobs, random_state=seed)
        else:
            estimator = CalibratedSet(detector_by_name(detector), mass, n_jobs=jobs, random_state=seed)
        roles = ColumnRoles(columns or (), exclude or (), time, group, strata, categories or ())
        with running_on(engine):
            chosen = {"missing": missing, "where": where, "max_rows": max_rows, "seed": seed}
            fitted = options.fit_files(files, estimator, roles, **chosen)
        save(fitted.model, out)
        model = FittedModel.of(fitted.model)
        rows = {"rows": fitted.n_rows, "rows_used": fitted.n_used, "rows_dropped": fitted.n_dropped}
        if as_json:
            print_json({"model": str(out), **rows, **json_summary(model)})
            return
        of_all = f"{fitted.n_used} of {fitted.n_rows}"
        sampled = ", drawn at random" if fitted.n_used < fitted.n_rows - fitted.n_dropped else ""
        dropped = f", {fitted.n_dropped} left out for missing values" if fitted.n_dropped else ""
        print_pairs({"rows": of_all + sampled + dropped, **text_summary(model), "model": out})


def _check_options(detector: str, **chosen: Any) -> None:
    """Refuse options that only Minimum Volume sets have."""
    defaults = {"calibration": "cross", "scaling": "auto", "strata": None, "categories": None}
    for name, value in chosen.items():
        if value != defaults[name]:
            raise typer.BadParameter(f"--{name} does not work with --detector {detector}: leave one of them out.")
