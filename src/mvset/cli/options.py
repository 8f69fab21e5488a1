"""Options that several commands share, and the checks of their values."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any

import typer

from mvset.cli.failures import require_package


def _share(text: str | float) -> float:
    """A mass as users write it: 0.95, 95% or 95."""
    written = str(text).strip()
    try:
        number = Decimal(written.removesuffix("%").strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if written.endswith("%") or (number.is_finite() and number > 1):
        number /= 100  # decimal: 99.9 % is 0.999, and not 0.9990000000000001
    if not (number.is_finite() and 0 < number < 1):
        raise typer.BadParameter(
            f"must be strictly between 0 and 1, such as 0.95, or a percentage, such as 95 or 95%; got {written}."
        )
    return float(number)


def _checked_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("must be a number of threads, or -1 for all cores; got 0.")
    return jobs


_TABLES = typer.Argument(
    metavar="TABLE…",
    help="Files: CSV and other text, Parquet, Feather, JSON, Excel, SQLite, also compressed; folders or patterns "
    "of files; - for standard input; postgresql://… with --query.",
    show_default=False,
)
Tables = Annotated[list[str], _TABLES]
TablesOrNone = Annotated[list[str] | None, _TABLES]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file written by `mvset fit`.", show_default=False)
]
OtherMass = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Use the nested set of this mass instead of the fitted one: 0.95, 95 or 95%.",
        parser=_share,
    ),
]
Mass = Annotated[
    float,
    typer.Option(
        metavar="SHARE",
        help="Share of normal rows inside the set: 0.95, 95 or 95%. New normal rows are flagged at a rate of 1 - mass.",
        parser=_share,
    ),
]
Keep = Annotated[list[str] | None, typer.Option(metavar="NAMES", help="Columns to copy to the results, e.g. id,time.")]
Time = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of dates or numbers that says when rows were recorded, in any order; else rows are in order.",
    ),
]
Jobs = Annotated[
    int, typer.Option(help="Threads; -1 for all cores. Results do not depend on it.", callback=_checked_jobs)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]


def load_model(path: Path) -> Any:
    """Load a model file; fail if it does not contain a fitted MinimumVolumeSet."""
    from sklearn.exceptions import NotFittedError

    from mvset import load
    from mvset.estimators.model_parts import ModelParts
    from mvset.exceptions import ModelFileError

    model = load(path)
    try:
        ModelParts.of_minimum_volume_set(model)
    except (TypeError, NotFittedError) as error:
        raise ModelFileError(f"{path}: {error}") from None
    return model


def load_fitted(path: Path, jobs: int = -1) -> Any:
    """Load a model file as a ModelParts, to run on `jobs` threads."""
    from mvset.estimators.model_parts import ModelParts

    model = ModelParts.of(load_model(path))
    model.estimator.n_jobs = jobs
    return model


def open_tables(
    model: Any, tables: Sequence[str], keep: Sequence[str], options: Any, where: str | None, time: str | None = None
) -> Any:
    """Open a reader of the model's columns in the tables, of the columns to keep, and of the time of the rows."""
    require_package("pyarrow", "cli", "Reading tables needs one more package")
    from mvset.tables.reading import TableReader, split_names
    from mvset.tables.sources import table_files

    files = table_files(tables, options)
    by = getattr(model.estimator, "by_column_", None)
    kept = [*(name for name in (by, time) if name), *split_names(keep, files[0].schema().names)]
    reader = TableReader(
        files,
        model.feature_names,
        list(dict.fromkeys(kept)),
        "impute" if model.imputes else "note",
        by,
        where,
        time,
        model.category_values,
    )
    if reader.reordered:
        typer.echo("Note: the columns are in a different order than in the fit; they are matched by name.", err=True)
    return reader


def say_how_files_are_read(files: Sequence[Any]) -> None:
    """Say in one line what was guessed about a file, if it is not what is usual."""
    if said := files[0].said:
        typer.echo(f"Note: {files[0].label} is read as a table: {said}.", err=True)


def check_output_of_reader(out: Path | None, reader: Any, *inputs: Path) -> None:
    """Check an optional output file against the tables of a reader and other input files."""
    if out is not None:
        check_output(out, *(file.path for file in reader.files), *inputs)


def check_output(out: Path, *inputs: Path) -> None:
    """Fail before any work is done if `out` cannot be written or is one of the input files."""
    if any(out.resolve() == path.resolve() for path in inputs):
        raise typer.BadParameter(f"{out} is an input file and would be overwritten. Choose another name.")
    problem = 0
    if out.is_dir():
        problem, path = errno.EISDIR, out
    elif not (path := out.parent).is_dir():
        problem = errno.ENOTDIR if path.exists() else errno.ENOENT
    elif not os.access(path, os.W_OK):
        problem = errno.EACCES
    if problem:
        raise OSError(problem, os.strerror(problem), str(path))
