"""Options that several commands share, and the work that they stand for: models, tables and fits."""

import errno
import os
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mvset.app.cli.failures import print_note
from mvset.app.cli.output import progress_bar
from mvset.app.tables.options import FORMAT_NAMES, ReadingOptions


def share(text: str | float) -> float:
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
        raise typer.BadParameter("must be a number of cores, or -1 for all; got 0.")
    return jobs


def text(metavar: str, help: str, **others: Any) -> Any:
    """Return an option whose value is text."""
    return typer.Option(metavar=metavar, help=help, **others)


def flag(name: str, help: str) -> Any:
    """Return an option without a value."""
    return typer.Option(name, help=help)


READING = "Reading tables"  # heading in the help

Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE…",
        help="Files: CSV and other text, Parquet, Feather, JSON, Excel, SQLite, also compressed; folders or patterns "
        "of files; - for standard input; postgresql://… with --query.",
        show_default=False,
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file of `mvset fit`.", show_default=False)]
OtherMass = Annotated[
    float | None,
    text("SHARE", "Use the nested set of this mass instead of the fitted one: 0.95, 95 or 95%.", parser=share),
]
Keep = Annotated[list[str] | None, text("NAMES", "Columns to copy to the results, e.g. id,time.")]
Time = Annotated[
    str | None,
    text("COLUMN", "Column with the time of each row, e.g. recorded_at. Default: as in the fit; '' for none."),
]
Strata = Annotated[str | None, text("COLUMN", "Column with the strata, e.g. site. By default, as in the fit.")]
OnlyOutside = Annotated[bool, flag("--only-outside", "Write only the rows outside the set.")]
FailOnDrift = Annotated[bool, flag("--fail-on-drift", "Exit with code 3 if there is drift.")]
Exclude = Annotated[list[str] | None, text("NAMES", "Columns to leave out, e.g. id,time.")]
Missing = Annotated[
    Literal["error", "drop", "impute"],
    typer.Option(
        help="What to do about rows with missing or infinite values: stop, leave them out, or fill them from similar "
        "rows, here and when rows are scored."
    ),
]
Jobs = Annotated[int, typer.Option(help="Cores to use; -1 for all. Results are the same.", callback=_checked_jobs)]
AsJson = Annotated[bool, flag("--json", "Print the results as JSON.")]
Read = Annotated[
    list[str] | None,
    text(
        "KEY=VALUE",
        f"How to read tables if the guess is wrong; may be repeated. format: {', '.join(FORMAT_NAMES)}. separator: a "
        "character, tab, or space for any white space. header: yes or no. names: a file with the names of the "
        "columns, one per line, if there is no header. decimal: the decimal mark, . or ,. date-format: day-first, "
        "month-first, or a pattern such as %d.%m.%y. encoding: such as latin-1. na: a value that stands for a missing "
        "one. skip-rows: number of lines above the table. comment: the mark before comments. sheet: name of a sheet. "
        "E.g. --read separator=tab --read na=ERR.",
        rich_help_panel=READING,
    ),
]
Query = Annotated[
    str | None, text("SQL", "Query to a database, e.g. 'SELECT * FROM readings'.", rich_help_panel=READING)
]
Where = Annotated[str | None, text("SQL", 'Condition on the rows to read, e.g. "flow > 3".', rich_help_panel=READING)]

_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
# The keys of --read: how to convert a value, or None if it is invalid, and what to write instead.
_KEYS: dict[str, tuple[Callable[[str], Any], str]] = {
    "format": (lambda value: value if value in FORMAT_NAMES else None, f"one of {', '.join(FORMAT_NAMES)}"),
    "separator": (lambda value: value if len(value) == 1 else _SEPARATORS.get(value), "one character, or tab or space"),
    "header": ({"yes": True, "no": False}.get, "yes or no"),
    "names": (lambda value: _lines(Path(value)), "a file with names, one per line"),
    "decimal": (lambda value: value if value in (".", ",") else None, ". or ,"),
    "date-format": (
        lambda value: value if value in ("day-first", "month-first") or "%" in value else None,
        "day-first, month-first, or a pattern such as %d.%m.%y",
    ),
    "encoding": (lambda value: value or None, "a name"),
    "na": (str, ""),
    "skip-rows": (lambda value: int(value) if value.isdecimal() else None, "a number of lines"),
    "comment": (str, ""),
    "sheet": (lambda value: value or None, "a name"),
}


def _lines(path: Path) -> tuple[str, ...] | None:
    """The lines of a file that are not empty; None if there are none."""
    return tuple(line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()) or None


def reading_options(read: Sequence[str] | None, query: str | None, model: Any = None) -> ReadingOptions:
    """Return the values of --read and --query; what they leave open is as in the table that the model was fitted to."""
    remembered = getattr(model and model.estimator, "reading_", None) or {}
    like, missing = remembered.get("dialect"), []
    columns = tuple(getattr(model, "feature_names", ()))
    given: dict[str, Any] = {"date_format": remembered.get("date_format"), "columns": columns}
    for item in read or ():
        key, equals, value = item.partition("=")
        if key not in _KEYS or not equals:
            raise typer.BadParameter(f"--read {item}: write KEY=VALUE, where KEY is one of {', '.join(_KEYS)}.")
        convert, expected = _KEYS[key]
        if (converted := convert(value)) is None:
            raise typer.BadParameter(f"--read {key}: must be {expected}; got {value!r}.")
        if key == "na":
            missing.append(value)
        else:
            given[key.replace("-", "_")] = converted
    if not missing:
        missing = remembered.get("missing", like["numbers"]["missing"] if like else ())
    return ReadingOptions(**given, missing=tuple(missing), query=query, like=like)


def load_fitted(path: Path, jobs: int = -1) -> Any:
    """Load a model file as a FittedModel, to run on `jobs` threads; fail if it contains no fitted sets with reasons."""
    from sklearn.exceptions import NotFittedError

    from mvset import load
    from mvset.estimators.explained import ExplainedSetEstimator
    from mvset.estimators.fitted_model import FittedModel
    from mvset.exceptions import ModelFileError

    model = load(path)
    try:
        fitted = FittedModel.of(model, ExplainedSetEstimator)
    except (TypeError, NotFittedError) as error:
        raise ModelFileError(f"{path}: {error}") from None
    fitted.estimator.n_jobs = jobs
    return fitted


def open_tables(
    model: Any,
    tables: Sequence[str],
    *,
    options: ReadingOptions,
    where: str | None = None,
    keep: Sequence[str] | None = None,
    time: str | None = None,
    strata: str | None = None,
) -> Any:
    """Open a reader of the model's columns in the tables, of the columns to keep, and of the time of the rows.

    By default, the time of the rows is in the column that the model was fitted with.
    """
    from mvset.app.tables.columns import split_names
    from mvset.app.tables.reading import TableReader
    from mvset.app.tables.sources import table_files

    files = table_files(tables, options)
    _note_reading(files)
    if time is None:
        time = _remembered_time(model, files)
    strata = model.strata_column(strata)
    kept = [*(name for name in (strata, time) if name), *split_names(keep or (), files[0].schema.names)]
    reader = TableReader(
        files,
        model.feature_names,
        list(dict.fromkeys(kept)),
        "impute" if model.imputes else "note",
        strata,
        where,
        time or None,
        model.category_values,
    )
    if reader.reordered:
        print_note("the columns are in a different order than in the fit; they are matched by name.")
    return reader


def _remembered_time(model: Any, files: Sequence[Any]) -> str | None:
    """Return the column of times in the fit, if the tables have it."""
    name = (getattr(model.estimator, "reading_", None) or {}).get("time")
    missing = [file.label for file in files if name not in file.schema.names]
    if name and missing:
        print_note(f"{missing[0]} has no column {name!r}, so rows are taken in their order. Name another with --time.")
    return None if missing else name


def note_times(reader: Any) -> None:
    """Print what is odd about the times of the rows that were read."""
    for note in reader.time_notes():
        print_note(note)


def fit_files(files: Sequence[Any], estimator: Any, roles: Any, **options: Any) -> Any:
    """Fit a model to files, with a line of progress and notes on what was guessed and left out."""
    from mvset.app.tables.fitting import fit_table
    from mvset.exceptions import BandwidthEdgeWarning, ConstantColumnWarning

    warnings.simplefilter("ignore", ConstantColumnWarning)  # fit_table warns by column name
    warnings.simplefilter("ignore", BandwidthEdgeWarning)  # the command has no option for the bandwidths
    _note_reading(files)
    with progress_bar(1.0) as bar:
        fitted = fit_table(files, estimator, roles, on_progress=bar.reach, **options)
    for note in fitted.notes:
        print_note(note)
    return fitted


def _note_reading(files: Sequence[Any]) -> None:
    """Print how tables are read, in one line for all that are read in the same way."""
    said = {file.dialect.said: file for file in reversed(files)}
    for how, file in said.items():
        if how:
            print_note(f"{file.label} is read as a table: {how}.")


def check_output(out: Path | None, *inputs: Path) -> None:
    """Fail before any work is done if `out` cannot be written or is one of the input files."""
    if out is None:
        return
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
