"""Fit a model to a table, with the order and the groups of its rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mvset.categories import Categories
from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.estimators.pipeline import Pipeline
from mvset.parallel import Map
from mvset.progress import OnProgress, progress_listener
from mvset.row_sample import RowSample
from mvset.row_stream import Part, numbered
from mvset.tables.categories import as_categories, category_columns, find_categories
from mvset.tables.columns import check_columns
from mvset.tables.errors import TableError, exclude_option, quoted
from mvset.tables.formats import TableFile
from mvset.tables.reading import (
    OnShare,
    TableReader,
    existing_column,
    existing_columns,
    ignore_share,
    row_labels,
    selected_columns,
    split_names,
)
from mvset.tables.times import row_times

Array = NDArray[np.float64]

_MAX_COLUMNS = 10_000  # more take hours
_MIN_ROWS = 3  # two to train on and one to hold out


@dataclass(frozen=True)
class FittedTable:
    """A fitted model, its columns, and how many rows of the table were used."""

    model: Pipeline
    columns: list[str]
    n_rows: int  # all rows of the table
    n_used: int  # rows that the model was fitted to
    n_dropped: int  # rows left out because of missing values
    left_out: list[str]  # columns of dates, which are not fitted to
    too_many_values: dict[str, int]  # columns of text with so many values that they are not fitted to, and how many


@dataclass(frozen=True)
class ColumnRoles:
    """Which columns a model is fitted to, and which say something about the rows.

    Rows are put in the order of the column `time`; those with the same value of `group` stay on one side of every
    split; those with the same value of `by` have an offset of their own. These columns are not fitted to unless they
    are named in `columns`.
    """

    columns: Sequence[str] = ()  # all if empty
    exclude: Sequence[str] = ()
    time: str | None = None
    group: str | None = None
    by: str | None = None
    categories: Sequence[str] = ()  # columns of categories besides those of text

    @property
    def about_rows(self) -> dict[str, str]:
        """The columns that say something about the rows, by role."""
        roles = {"time": self.time, "group": self.group, "by": self.by}
        return {role: name for role, name in roles.items() if name is not None}

    def fitted_columns(self, file: TableFile) -> list[str]:
        """The columns of a table that the model is fitted to."""
        for role, name in self.about_rows.items():
            existing_column(file, name, f"--{role}")
        named = split_names(self.columns, file.schema().names)
        unfitted = [name for name in self.about_rows.values() if name not in named]
        return selected_columns(file, self.columns, [*self.exclude, *unfitted, *self.dates(file)])

    def named_categories(self, file: TableFile) -> list[str]:
        """The columns that are named as categories."""
        return existing_columns(self.categories, file, "--categories")

    def check_unnamed(self, file: TableFile, too_many: Mapping[str, int]) -> None:
        """Fail if columns are named that have too many values for a category."""
        schema = file.schema().names
        for name in [*split_names(self.columns, schema), *split_names(self.categories, schema)]:
            if name in too_many:
                raise TableError(
                    f"Column {name!r} of {file.label} has {too_many[name]} values or more: too many for a category. "
                    f"Exclude it with {exclude_option([name])}."
                )

    def dates(self, file: TableFile) -> list[str]:
        """Columns of dates and times, unless they are named: a set has no use for them."""
        named = {*split_names(self.columns, file.schema().names), *self.about_rows.values()}
        named |= set(self.named_categories(file))
        named |= set(split_names(self.exclude, file.schema().names))
        return [field.name for field in file.schema() if pa.types.is_temporal(field.type) and field.name not in named]


_ALL_COLUMNS = ColumnRoles()


def fit_table(
    files: Sequence[TableFile],
    estimator: MinimumVolumeSet,
    columns: ColumnRoles = _ALL_COLUMNS,
    *,
    missing: Literal["error", "drop", "impute"] = "error",
    where: str | None = None,
    max_rows: int | None = None,
    seed: int,
    on_progress: OnProgress = lambda doing, done, total: None,
) -> FittedTable:
    """Fit a Pipeline to the selected columns of all rows, or of a random sample of `max_rows` of them.

    Rows whose order or groups matter are held in memory; others are read in batches, twice if there are many, by the
    workers of a cluster if there is one.
    """
    roles, names, left_out = columns.about_rows, columns.fitted_columns(files[0]), columns.dates(files[0])
    estimator.reading_ = files[0].remembered  # so that later tables are read alike
    if len(names) > _MAX_COLUMNS:
        raise TableError(
            f"{files[0].label} has {len(names)} columns: at most {_MAX_COLUMNS} can be fitted to. Select some with "
            "--columns."
        )
    found = find_categories(
        files, category_columns(files[0], names, columns.named_categories(files[0])), where, missing=missing == "impute"
    )
    values = found.values
    columns.check_unnamed(files[0], found.too_many)
    names = [name for name in names if name not in found.too_many]
    if len(values) == len(names):
        raise TableError(
            f"{files[0].label} has no column of numbers to fit to. It has {quoted(files[0].schema().names)}."
        )
    estimator.set_params(missing="impute" if missing == "impute" else "error")
    if max_rows is None and not roles:
        table = _TableRows(
            TableReader(files, names, (), missing, where=where, categories=values),
            lambda share: on_progress("reading", share, 1.0),
        )
        with progress_listener(on_progress):
            estimator.set_params(time_order=False).fit(table)
        estimator.by_column_ = None
        model = Pipeline([("sets", estimator)])
        n_used = table.n_rows - table.n_dropped
        return FittedTable(model, names, table.n_rows, n_used, table.n_dropped, left_out, found.too_many)
    reader = TableReader(files, names, list(dict.fromkeys(roles.values())), missing, where=where, categories=values)
    size = sys.maxsize if max_rows is None else max_rows
    sample, labels = RowSample(size, seed), {role: _Labels() for role in roles if role != "time"}
    for batch in reader.batches(lambda share: on_progress("reading", share, 1.0)):
        others = [
            row_times(batch.kept, name).values if role == "time" else labels[role].codes(batch.kept, name)
            for role, name in roles.items()
        ]
        sample.add(np.column_stack([batch.rows, *others]))
    _check_number(files[0], reader.n_rows, reader.n_dropped)
    sampled = sample.rows()
    if "time" in roles:
        sampled = sampled[np.argsort(sampled[:, len(names)], kind="stable")]
    by_role = dict(zip(roles, sampled[:, len(names) :].T, strict=True))
    rows = np.ascontiguousarray(sampled[:, : len(names)])
    check_columns(rows, names, categories=values)
    parameters = {
        argument: labels[role].of(by_role[role])
        for role, argument in (("group", "groups"), ("by", "by"))
        if role in roles
    }
    estimator.set_params(time_order="time" in roles)
    with progress_listener(on_progress):
        estimator.fit(_SampledRows(rows, names, as_categories(names, values), missing == "impute"), **parameters)
    model = Pipeline([("sets", estimator)])
    estimator.by_column_ = columns.by  # which column to read when rows are scored
    return FittedTable(model, names, reader.n_rows, len(rows), reader.n_dropped, left_out, found.too_many)


@dataclass(frozen=True)
class _SampledRows:
    """Rows in memory, with codes in place of categories."""

    rows: Array
    names: list[str]
    categories: Categories
    missing: bool

    def batches(self) -> Iterator[Array]:
        """All rows at once."""
        yield self.rows


class _TableRows:
    """The complete rows of a table, in batches and in parts; counts all rows when it is first read."""

    def __init__(self, reader: TableReader, on_first: OnShare = ignore_share) -> None:
        self.names = list(reader.features)
        self.categories = as_categories(self.names, reader.categories)
        self.missing = reader.missing == "impute"
        self.n_rows = self.n_dropped = 0
        self._reader, self._on_first = reader, on_first

    def batches(self) -> Iterator[Array]:
        """Complete rows, file by file."""
        reader = copy(self._reader)
        for batch in reader.batches(self._on_first if self.n_rows == 0 else ignore_share):
            yield batch.rows
        self.n_rows, self.n_dropped = reader.n_rows, reader.n_dropped

    def parts(self, run: Map) -> list[Part]:
        """Parts of the files."""
        readers = self._reader.parts()
        counts = np.array(list(run(_counts, readers)))
        self.n_rows, self.n_dropped = counts.sum(axis=0).tolist()
        return numbered([_TableRows(reader) for reader in readers], (counts[:, 0] - counts[:, 1]).tolist())

    def check(self, rows: Array, lowest: Array, highest: Array) -> None:
        """Fail if there are too few rows, or columns that cannot be used; warn about columns that mislead."""
        _check_number(self._reader.files[0], self.n_rows, self.n_dropped)
        check_columns(rows, self.names, lowest, highest, self._reader.categories)


def _counts(reader: TableReader) -> tuple[int, int]:
    """Number of rows, and of those left out for missing values; they are read only if the file does not say."""
    known = None if reader.missing != "error" or reader.where else reader.files[0].known_rows()
    if known is not None:
        return known, 0
    for _ in reader.batches():
        pass
    return reader.n_rows, reader.n_dropped


def _check_number(file: TableFile, n_rows: int, n_dropped: int) -> None:
    """Fail if there are too few complete rows."""
    if n_rows - n_dropped < _MIN_ROWS:
        dropped = f", {n_dropped} of them left out for missing values" if n_dropped else ""
        raise TableError(f"{file.label}: too few rows to fit: {n_rows}{dropped}. At least {_MIN_ROWS} are needed.")


class _Labels:
    """Labels of rows as numbers, in the order in which they come."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def codes(self, kept: pa.RecordBatch, name: str) -> NDArray[np.float64]:
        """Number of the label of every row."""
        labels = row_labels(kept, name)
        return np.array([self._codes.setdefault(label, len(self._codes)) for label in labels], float)

    def of(self, codes: NDArray[np.float64]) -> NDArray[Any]:
        """Labels of numbers."""
        return np.asarray(np.array(list(self._codes), dtype=object)[codes.astype(int)])
