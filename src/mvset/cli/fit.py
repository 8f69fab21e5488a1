"""``mvset fit``: a table of normal behaviour → a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mvset.calibration.guarantees import CalibrationMode
from mvset.cli.failures import explained, need
from mvset.cli.info import facts_about, summary_of
from mvset.cli.options import AsJson, DropMissing, Jobs, Mass, Tables, check_out
from mvset.cli.output import print_facts, print_json
from mvset.cli.progress import progress_bar


def fit_command(
    tables: Tables,
    mass: Mass = 0.95,
    columns: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Columns to use, e.g. flow,pressure.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Columns to leave out, e.g. id,time.")
    ] = None,
    out: Annotated[Path, typer.Option(help="File for the model.")] = Path("model.mvset"),
    drop_missing: DropMissing = False,
    calibration: Annotated[
        CalibrationMode,
        typer.Option(help="What is promised about the mass: on average, for every new row, or with 95 % confidence."),
    ] = "split",
    max_rows: Annotated[
        int, typer.Option(min=3, help="Fit to a random sample of so many rows where there are more.")
    ] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is random.")] = 0,
    jobs: Jobs = -1,
    as_json: AsJson = False,
) -> None:
    """Learn what is normal from a table, and write it to a file.

    Columns are standardised, the bandwidth is chosen by volume, and the offset set on rows held out, so that of new
    normal rows the share asked for lies inside.

    For example:

    - `mvset fit normal.csv --exclude id,time`

    - `mvset fit 'logs/*.parquet' --columns flow,pressure --mass 0.99 --out pump.mvset`
    """
    need("pyarrow", "cli", "Reading tables needs one more package")
    with explained(ValueError, when_stopped="Nothing was written."):
        from mvset import MinimumVolumeSet, save
        from mvset.estimators.pipeline import FittedModel
        from mvset.tables.fitting import fit_table
        from mvset.tables.sources import table_files

        files = table_files(tables)
        check_out(out, *(file.path for file in files))
        estimator = MinimumVolumeSet(mass, calibration=calibration, n_jobs=jobs, random_state=seed)
        with progress_bar(1.0) as bar:
            fitted = fit_table(
                files,
                estimator,
                columns=columns or (),
                exclude=exclude or (),
                drop_missing=drop_missing,
                max_rows=max_rows,
                seed=seed,
                on_read=lambda share: bar.reach("reading", share, 1.0),
                on_fit=lambda done, total: bar.reach("fitting", done, total),
            )
        save(fitted.model, out)
        model = FittedModel.of(fitted.model)
        rows = {"rows": fitted.n_rows, "rows_used": fitted.n_used, "rows_dropped": fitted.n_dropped}
        if as_json:
            print_json({"model": str(out), **rows, **summary_of(model)})
            return
        of_all = f"{fitted.n_used} of {fitted.n_rows}"
        sampled = ", drawn at random" if fitted.n_used < fitted.n_rows - fitted.n_dropped else ""
        dropped = f", {fitted.n_dropped} left out for missing values" if fitted.n_dropped else ""
        print_facts({"rows": of_all + sampled + dropped, **facts_about(model), "model": out})
