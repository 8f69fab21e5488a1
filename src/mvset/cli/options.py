"""Options that several commands share, each said once."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mvset.cli.failures import need


def _checked_mass(mass: float | None) -> float | None:
    if mass is not None and not 0.0 < mass < 1.0:
        raise typer.BadParameter(f"a share strictly between 0 and 1 is needed, e.g. 0.95; got {mass:g}.")
    return mass


def _checked_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("a number is needed, or -1 for all cores; got 0.")
    return jobs


Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE…",
        help="CSV, Parquet, Feather or NDJSON files; folders and patterns of such.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that `mvset fit` has written.", show_default=False)
]
OtherMass = Annotated[
    float | None,
    typer.Option(
        help="Judge by the nested set of this mass, not of that asked for in the fit.", callback=_checked_mass
    ),
]
Mass = Annotated[
    float,
    typer.Option(
        help="Share of normal rows to hold; new ones give alarms at a rate of 1 - mass.", callback=_checked_mass
    ),
]
Keep = Annotated[
    list[str] | None, typer.Option(metavar="NAMES", help="Columns to pass on to the results, e.g. id,time.")
]
DropMissing = Annotated[bool, typer.Option("--drop-missing", help="Leave out rows with missing or infinite values.")]
Jobs = Annotated[
    int, typer.Option(help="Threads; -1 for all cores. Results do not depend on it.", callback=_checked_jobs)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]


def model_in(path: Path) -> Any:
    """The model of a file, if it is one for the command line."""
    from sklearn.exceptions import NotFittedError

    from mvset import load
    from mvset.estimators.pipeline import FittedModel
    from mvset.files.model_file import ModelFileError

    model = load(path)
    try:
        FittedModel.of_minimum_volume_set(model)
    except (TypeError, NotFittedError) as error:
        raise ModelFileError(f"{path}: {error}") from None
    return model


def loaded(path: Path, jobs: int = -1) -> Any:
    """The model of a file, taken apart."""
    from mvset.estimators.pipeline import FittedModel

    model = FittedModel.of(model_in(path))
    model.sets.n_jobs = jobs
    return model


def reader_for(model: Any, tables: Sequence[str], keep: Sequence[str], drop_missing: bool) -> Any:
    """What reads the model's columns from tables."""
    need("pyarrow", "cli", "Reading tables needs one more package")
    from mvset.tables.reading import TableReader, split_names
    from mvset.tables.sources import table_files

    files = table_files(tables)
    reader = TableReader(files, model.feature_names, split_names(keep, files[0].schema().names), drop_missing)
    if reader.in_other_order:
        typer.echo("Note: the columns stand in another order than in the fit; they are found by name.", err=True)
    return reader


def check_not_read(out: Path | None, reader: Any, *others: Path) -> None:
    """Refuse to write where nothing can be, or over what is read."""
    if out is not None:
        check_out(out, *(file.path for file in reader.files), *others)


def check_out(out: Path, *read: Path) -> None:
    """The same, of a file that is written for sure: now, not when the work is done."""
    if any(out.resolve() == path.resolve() for path in read):
        raise typer.BadParameter(f"{out} is to be read, and would be written over. Give another name.")
    problem = 0
    if out.is_dir():
        problem, place = errno.EISDIR, out
    elif not (place := out.parent).is_dir():
        problem = errno.ENOTDIR if place.exists() else errno.ENOENT
    elif not os.access(place, os.W_OK):
        problem = errno.EACCES
    if problem:
        raise OSError(problem, os.strerror(problem), str(place))
