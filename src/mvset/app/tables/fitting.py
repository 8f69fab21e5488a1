"""Fit a model to a table, with the order and the groups of its rows."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mvset.app.tables.columns import ColumnRoles, check_columns
from mvset.app.tables.errors import TableError, exclude_option, quoted
from mvset.app.tables.formats import TableFile
from mvset.app.tables.numbers import is_number
from mvset.app.tables.reading import Batch, OnShare, TableReader, ignore_share, row_labels
from mvset.estimators.calibrated_set import CalibratedSet
from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.parallel import Map
from mvset.progress import OnProgress, progress_listener
from mvset.rows.categories import MAX_VALUES, MISSING, NO_CATEGORIES, Categories, in_order, is_category
from mvset.rows.labels import distinct_labels
from mvset.rows.sample import RowSample
from mvset.rows.stream import Part, numbered
from mvset.values import Array
from mvset.wording import are, columns_named

_MAX_COLUMNS = 10_000  # more take hours
_CURRENCIES = "$€£¥₹ \u00a0"
_MIN_ROWS = 3  # two to train on and one to hold out


@dataclass(frozen=True)
class FittedTable:
    """A fitted model, its columns, and how many rows of the table were used."""

    model: CalibratedSet | MinimumVolumeSet
    columns: list[str]
    n_rows: int  # all rows of the table
    n_used: int  # rows that the model was fitted to
    n_dropped: int  # rows left out because of missing values
    notes: list[str]  # what was left out of the fit, and what may be wrong with the table


_ALL_COLUMNS = ColumnRoles()


def fit_table(
    files: Sequence[TableFile],
    estimator: CalibratedSet | MinimumVolumeSet,
    columns: ColumnRoles = _ALL_COLUMNS,
    *,
    missing: Literal["error", "drop", "impute"] = "error",
    where: str | None = None,
    max_rows: int | None = None,
    seed: int,
    on_progress: OnProgress = lambda doing, done, total: None,
) -> FittedTable:
    """Fit an estimator to the selected columns of all rows, or of a random sample of `max_rows` of them.

    Rows whose order or groups matter are held in memory; others are read in batches, twice if there are many, by the
    workers of a cluster if there is one.
    """
    files = [files[0], *(file.like(files[0]) for file in files[1:])]
    identifiers = columns.identifiers(files[0])
    names = columns.fitted_columns(files[0], identifiers)
    if len(names) > _MAX_COLUMNS:
        raise TableError(
            f"{files[0].label} has {len(names)} columns: at most {_MAX_COLUMNS} can be fitted to. Select some with "
            "--columns."
        )
    of_categories = columns.category_columns(files[0], names)
    categories, too_many = _find_categories(files, of_categories, where, missing=missing == "impute")
    columns.check_unnamed(files[0], too_many)
    names = [name for name in names if name not in too_many]
    if len(categories) == len(names):
        raise TableError(
            f"{files[0].label} has no column of numbers to fit to. It has {quoted(files[0].schema.names)}."
        )
    if categories and isinstance(estimator, CalibratedSet):
        named = f"{columns_named(categories)} {are(len(categories))}"
        raise TableError(
            f"The detector takes numbers only. {named} text: exclude with {exclude_option(list(categories))}."
        )
    kept = list(dict.fromkeys(columns.about_rows.values()))
    reader = TableReader(files, names, kept, missing, where=where, time=columns.time, categories=categories)
    estimator.set_params(time_order=columns.time is not None, **({"missing": "impute"} if missing == "impute" else {}))

    table = _TableRows(reader, lambda share: on_progress("reading", share, 1.0))
    parameters = {}
    if max_rows is not None or kept:
        parameters = table.hold(RowSample(sys.maxsize if max_rows is None else max_rows, seed), columns.about_rows)
    with progress_listener(on_progress):
        estimator.fit(table, **parameters)
    estimator.strata_column_ = columns.strata  # which column to read when rows are scored
    # Later tables are read in the same way.
    estimator.reading_ = files[0].remembered | {"time": columns.time, "date_format": reader.date_format}
    n_used = table.n_rows - table.n_dropped if table.held is None else len(table.held)
    notes = [
        *_left_out(columns.dates(files[0]), "dates are", " If rows are in time order, use --time."),
        *_left_out(
            identifiers, "whole numbers that increase from row to row are", " To use them, name them in --columns."
        ),
        *_left_out(too_many, "text with too many values for a category is"),
        *reader.time_notes(),
    ]
    if len(names) > table.n_rows:
        notes.append(f"there are more columns ({len(names)}) than rows ({table.n_rows}). Is the table transposed?")
    return FittedTable(estimator, names, table.n_rows, n_used, table.n_dropped, notes)


def _left_out(names: Collection[str], what: str, advice: str = "") -> list[str]:
    """A note on columns that the model is not fitted to; none if there are none."""
    listed = ", ".join(name or "the column without a name" for name in names)
    return [f"{what} left out of the fit: {listed}.{advice}"] if names else []


class _TableRows:
    """The complete rows of a table, in batches and in parts; counts all rows when it is first read."""

    def __init__(self, reader: TableReader, on_first: OnShare = ignore_share) -> None:
        self.names = list(reader.features)
        self.categories = Categories.named(self.names, reader.categories) if reader.categories else NO_CATEGORIES
        self.missing = reader.missing == "impute"
        self.n_rows = self.n_dropped = 0
        self.held: Array | None = None  # rows in memory, which are read instead
        self._reader, self._on_first = reader, on_first

    def hold(self, sample: RowSample, roles: Mapping[str, str]) -> dict[str, NDArray[Any]]:
        """Hold a sample of the rows in memory, in the order of their time; return the groups and strata of its rows."""
        labels: dict[str, dict[str, int]] = {role: {} for role in roles if role != "time"}  # in the order they come
        for each in self._read():
            batch = each.only_complete()
            times = self._reader.times(batch)
            others = [
                times.values
                if times is not None and role == "time"
                else [labels[role].setdefault(label, len(labels[role])) for label in row_labels(batch.kept, name)]
                for role, name in roles.items()
            ]
            sample.add(np.column_stack([batch.rows, *others]))
        self._check_number()
        sampled, n_columns = sample.rows(), len(self.names)
        if "time" in roles:
            sampled = sampled[np.argsort(sampled[:, n_columns], kind="stable")]
        self.held = np.ascontiguousarray(sampled[:, :n_columns])
        by_role = dict(zip(roles, sampled[:, n_columns:].astype(int).T, strict=True))
        return {
            {"group": "groups"}.get(role, role): np.array(list(codes), dtype=object)[by_role[role]]
            for role, codes in labels.items()
        }

    def batches(self) -> Iterator[Array]:
        """Complete rows, file by file."""
        return iter([self.held]) if self.held is not None else (batch.rows for batch in self._read())

    def _read(self) -> Iterator[Batch]:
        reader = self._reader.anew()
        yield from reader.batches(self._on_first if self.n_rows == 0 else ignore_share)
        self.n_rows, self.n_dropped = reader.n_rows, reader.n_dropped

    def parts(self, run: Map) -> list[Part]:
        """Parts of the files; none of rows in memory."""
        if self.held is not None:
            return []
        readers = self._reader.parts()
        counts = np.array(list(run(_counts, readers)))
        self.n_rows, self.n_dropped = counts.sum(axis=0).tolist()
        return numbered([_TableRows(reader) for reader in readers], (counts[:, 0] - counts[:, 1]).tolist())

    def check(self, rows: Array, lowest: Array, highest: Array) -> None:
        """Fail if there are too few rows, or columns that cannot be used; warn about columns that mislead."""
        self._check_number()
        check_columns(rows, self.names, lowest, highest, self._reader.categories)

    def _check_number(self) -> None:
        if self.n_rows - self.n_dropped < _MIN_ROWS:
            dropped = f", {self.n_dropped} of them left out for missing values" if self.n_dropped else ""
            raise TableError(
                f"{self._reader.files[0].label}: too few rows to fit: {self.n_rows}{dropped}. At least {_MIN_ROWS} are "
                "needed."
            )


def _counts(reader: TableReader) -> tuple[int, int]:
    """Number of rows, and of those left out for missing values; they are read only if the file does not say."""
    if reader.missing == "error" and not reader.where and (known := reader.files[0].known_rows()) is not None:
        return known, 0
    for _ in reader.batches():
        pass
    return reader.n_rows, reader.n_dropped


def _find_categories(
    files: Sequence[TableFile], names: Sequence[str], where: str | None, *, missing: bool
) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return the values of category columns, and how many values columns have that are no categories.

    With `missing`, rows without a value have one of their own.
    """
    if not names:
        return {}, {}
    reader = TableReader(files, (), names, "note", where=where)
    found: dict[str, set[str | None]] = {name: set() for name in names}
    for batch in reader.batches():
        for name, values in found.items():
            labels, _ = distinct_labels(files[0].known(batch.kept.column(name)))
            values.update(labels if len(values) <= MAX_VALUES + 1 else {None} & set(labels))
    categories, too_many = {}, {}
    for name, values in found.items():
        known = {value for value in values if value is not None}
        _reject_amounts(files[0], name, known)
        if is_category(len(known), reader.n_rows):
            categories[name] = in_order([*known, *([MISSING] if missing and None in values else [])])
        else:
            too_many[name] = len(known)
    return categories, too_many


def _reject_amounts(file: TableFile, name: str, values: set[str]) -> None:
    """Refuse text that is mostly numbers with the sign of a currency: taken for names, it would be lost."""
    bare = {value: value.strip(_CURRENCIES) for value in values}
    amounts = [value for value, number in bare.items() if number != value and is_number(number, file.dialect.numbers)]
    if 2 * len(amounts) > len(values):
        raise TableError(
            f"Column {name!r} of {file.label} holds amounts such as {in_order(amounts)[0]!r}, which are not numbers: "
            f"remove the sign, or exclude the column with {exclude_option([name])}."
        )
