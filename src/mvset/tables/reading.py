"""Read numeric rows from tables: selects columns, drops or rejects missing values, counts rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mvset.categories import MISSING, UNSEEN, codes_of
from mvset.tables.conditions import Condition
from mvset.tables.errors import TableError, exclude_option, quoted
from mvset.tables.formats import TableFile
from mvset.tables.versions import unchanged
from mvset.validation import checked_labels
from mvset.wording import counted

Array = NDArray[np.float64]
OnShare = Callable[[float], None]  # told the share of a table that has been read
MissingRows = Literal["error", "drop", "note", "impute"]
_MISSING = 1e300  # values this large count as missing: often a placeholder, and infinite once standardised


def ignore_share(share: float) -> None:
    """For those who need not know how much has been read."""


@dataclass(frozen=True)
class Batch:
    """A batch of rows of a table, some of which may be incomplete."""

    values: Array  # one column per feature
    complete: NDArray[np.bool_]
    kept: pa.RecordBatch  # columns copied unchanged
    numbers: NDArray[np.int64]  # row numbers, counted from 0 in each file
    table: str  # the file, as it was named
    unseen: dict[int, dict[str, str]] = field(default_factory=dict)  # values that the fit did not see, by row, column

    @property
    def rows(self) -> Array:
        """The values of complete rows."""
        return self.values if self.complete.all() else self.values[self.complete]

    def only_complete(self) -> Batch:
        """The batch without incomplete rows."""
        if self.complete.all():
            return self
        kept = self.kept.filter(pa.array(self.complete)) if self.kept.num_columns else self.kept
        numbers, places = self.numbers[self.complete], np.cumsum(self.complete) - 1
        unseen = {int(places[i]): values for i, values in self.unseen.items() if self.complete[i]}
        return Batch(self.rows, np.ones(len(numbers), dtype=bool), kept, numbers, self.table, unseen)

    def notes(self, features: Sequence[str]) -> pa.Array | None:
        """What is to be said of each row: values that are missing or imputed, or that the fit did not see."""
        said = {
            i: f"unseen: {', '.join(f'{name} = {value}' for name, value in values.items())}"
            for i, values in self.unseen.items()
        }
        for i in np.flatnonzero(~(np.abs(self.values) < _MISSING).all(axis=1)).tolist():
            names = [name for name, value in zip(features, self.values[i], strict=True) if not abs(value) < _MISSING]
            gaps = f"{'imputed' if self.complete[i] else 'missing'}: {', '.join(names)}"
            said[i] = f"{gaps}; {said[i]}" if i in said else gaps
        if not said:
            return None
        notes = np.full(len(self.numbers), None, dtype=object)
        notes[list(said)] = list(said.values())
        return pa.array(notes, pa.string())


@dataclass
class TableReader:
    """Reads several files as one table; counts the rows read, and those with missing values.

    Rows with missing values are an error, dropped, kept for a note that they have no answer, or kept for a model that
    imputes them. `where` selects rows. Values of category columns become codes, their places in `categories`.
    """

    files: Sequence[TableFile]
    features: Sequence[str]
    keep: Sequence[str] = ()
    missing: MissingRows = "error"
    by: str | None = None  # column, one of those kept, that says by which offset a row is judged
    where: str | None = None
    time: str | None = None  # column, one of those kept, that says when a row was recorded
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)  # values of the features that are categories
    n_rows: int = field(default=0, init=False)
    n_dropped: int = field(default=0, init=False)

    labels: list[str] = field(default_factory=list, init=False)  # the files as they were named
    kept_fields: list[pa.Field] = field(default_factory=list, init=False)
    reordered: bool = field(default=False, init=False)  # whether the features of some file are in another order

    def __post_init__(self) -> None:
        schemas = [self._checked(file) for file in self.files]  # check all before reading any
        self.labels = [file.label for file in self.files]
        for name in self.keep:
            kinds = {
                file.unchanged_type(schema.field(name).type) for file, schema in zip(self.files, schemas, strict=True)
            }
            if name in self.features and name not in self.categories:
                kinds = {pa.float64()}
            # If files disagree on a type, keep the column as text.
            self.kept_fields.append(pa.field(name, kinds.pop() if len(kinds) == 1 else pa.string()))
        orders = [[name for name in schema.names if name in set(self.features)] for schema in schemas]
        self.reordered = any(order != list(self.features) for order in orders)

    def batches(self, on_progress: OnShare = ignore_share) -> Iterator[Batch]:
        """Batches of rows, file by file; calls `on_progress` with the share done."""
        sizes = np.array([file.path.stat().st_size for file in self.files], dtype=float)
        done = 0.0
        shares = sizes / max(1.0, sizes.sum())
        for file, label, size in zip(self.files, self.labels, shares, strict=True):
            with unchanged(file.path, label, file.version):  # in place of what half a file looks like
                start = file.start
                condition = None if self.where is None else Condition(self.where, _sql_schema(file))
                for record_batch, share in file.batches(self._wanted(file, condition)):
                    numbers = np.arange(start, start + record_batch.num_rows)
                    start += record_batch.num_rows
                    batch = self._batch(file, label, record_batch, numbers, condition)
                    if len(batch.numbers):
                        yield batch
                    on_progress(done + share * size)
            done += size
        if self.where is not None and not self.n_rows:
            raise TableError(f"--where: no rows of {self.labels[0]} meet {self.where!r}.")

    def parts(self) -> list[TableReader]:
        """A reader for each part of the files, with the same columns."""
        found = []
        for file in self.files:
            if file.name:
                raise TableError(f"--engine: workers cannot read {file.label}: write it to a file of rows first.")
            for part in replace(file, path=file.path.resolve()).parts():  # workers may run in another folder
                reader = copy(self)
                reader.files, reader.labels, reader.n_rows, reader.n_dropped = [part], [file.label], 0, 0
                found.append(reader)
        return found

    def _checked(self, file: TableFile) -> pa.Schema:
        """The schema of a file; fails if a column is missing or a feature is not numeric."""
        schema = file.schema()
        if self.where is not None:
            Condition(self.where, _sql_schema(file))
        for name in [*self.features, *self.keep]:
            if name not in schema.names:
                raise TableError(
                    f"{file.label} has no column {name!r}; it has {quoted(schema.names)}. "
                    + (
                        f"Rename a column, or fit without it: {exclude_option([name])}."
                        if name in self.features
                        else f"The model has an offset for each of its values (fit --by {name})."
                        if name == self.by
                        else "Correct --time."
                        if name == self.time
                        else "Correct --keep."
                    )
                )
        check_numeric(file, schema, [name for name in self.features if name not in self.categories])
        return schema

    def _wanted(self, file: TableFile, condition: Condition | None) -> pa.Schema:
        """Columns to read: numbers as float64, categories, the columns kept, and those of the condition."""
        fields = {name: pa.field(name, pa.float64()) for name in self.features}
        kept = {each.name: each for each in self.kept_fields}
        for name in self.categories:
            fields[name] = kept.get(name) or pa.field(name, file.unchanged_type(file.schema().field(name).type))
        for each in self.kept_fields:
            fields.setdefault(each.name, each)
        if condition is not None:
            for each in condition.fields:
                kind = file.unchanged_type(file.schema().field(each.name).type)
                fields.setdefault(each.name, each if each.type == pa.float64() else pa.field(each.name, kind))
        return pa.schema(list(fields.values()))

    def _batch(
        self,
        file: TableFile,
        label: str,
        batch: pa.RecordBatch,
        numbers: NDArray[np.int64],
        condition: Condition | None,
    ) -> Batch:
        """The rows of a record batch that meet the condition."""
        if condition is not None:
            holds = condition.holds(_seen(file, batch, condition, int(numbers[0]) if len(numbers) else 0))
            batch, numbers = batch.filter(holds), numbers[holds.to_numpy(zero_copy_only=False)]
        values = np.empty((batch.num_rows, len(self.features)))
        unseen: dict[int, dict[str, str]] = {}
        for j, name in enumerate(self.features):
            if name in self.categories:
                values[:, j] = _codes(file, batch.column(j), self.categories[name])
                for i in np.flatnonzero(values[:, j] == UNSEEN).tolist():
                    unseen.setdefault(i, {})[name] = str(file.label_of(batch.column(j)[i].as_py()))
            else:
                values[:, j] = batch.column(j).to_numpy(zero_copy_only=False)  # null becomes NaN
        self.n_rows += len(values)
        finite = np.abs(values) < _MISSING
        complete: NDArray[np.bool_] = np.asarray(finite.all(axis=1))
        if self.missing == "error" and not complete.all():
            raise self._missing_values(file, finite)
        if self.missing == "impute":
            values[~finite] = np.nan
            complete = self._has_values(values)
        self.n_dropped += int(np.sum(~complete))
        kept = pa.RecordBatch.from_arrays(
            [batch.column(name) for name in self.keep], schema=pa.schema(self.kept_fields)
        )
        found = Batch(values, complete, kept, numbers, label, unseen)
        return found.only_complete() if self.missing == "drop" else found

    def _has_values(self, values: Array) -> NDArray[np.bool_]:
        """Whether rows have any value: nothing can be said of empty ones."""
        known = np.isfinite(values)
        for j, name in enumerate(self.features):
            if MISSING in self.categories.get(name, ()):
                known[:, j] &= values[:, j] != self.categories[name].index(MISSING)
        return np.asarray(known.any(axis=1))

    def _missing_values(self, file: TableFile, finite: NDArray[np.bool_]) -> TableError:
        counts = {self.features[j]: int(np.sum(~finite[:, j])) for j in np.flatnonzero(~finite.all(axis=0)).tolist()}
        columns = " and ".join(f"{name!r} ({count})" for name, count in counts.items())
        n_incomplete = int(np.sum(~finite.all(axis=1)))
        return TableError(
            f"{file.label}: missing or infinite values in {columns}, in {n_incomplete} of the first {self.n_rows} "
            "rows. Fill them with --missing impute, leave such rows out with --missing drop, or fit without the "
            f"columns: {exclude_option(list(counts))}."
        )


def _codes(file: TableFile, column: pa.Array, values: Sequence[str]) -> Array:
    """Codes of a category column."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = codes_of([*(file.label_of(value) for value in encoded.dictionary.to_pylist()), None], values)
    indices = pc.fill_null(encoded.indices, len(codes) - 1).to_numpy(zero_copy_only=False)
    return np.asarray(codes[indices])


def is_text(kind: Any) -> bool:
    """Whether a column of this type holds text."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _sql_schema(file: TableFile) -> pa.Schema:
    """The types in which a condition sees columns: dates of text formats are text, as they are written."""

    def seen(kind: Any) -> Any:
        if pa.types.is_boolean(kind):
            return kind
        return pa.float64() if _is_numeric(kind) else file.unchanged_type(kind)

    return pa.schema([(each.name, seen(each.type)) for each in file.schema()])


def _seen(file: TableFile, batch: pa.RecordBatch, condition: Condition, start: int) -> pa.RecordBatch:
    """The columns that a condition uses; one at least, to count rows."""
    fields = condition.fields
    columns = [file.as_seen(batch.column(each.name), each, start) for each in fields]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)) if fields else batch.select([0])


def check_numeric(file: TableFile, schema: pa.Schema, features: Sequence[str]) -> None:
    """Fail if features are not numeric; the message names all of them."""
    others = [name for name in features if not _is_numeric(schema.field(name).type)]
    if others:
        kinds = ", ".join(f"{name!r} ({schema.field(name).type})" for name in others)
        raise TableError(
            f"{file.label}: not numeric: {kinds}. Exclude them from the fit with {exclude_option(others)}, or select "
            "numeric columns with --columns."
        )


def selected_columns(file: TableFile, columns: Sequence[str], exclude: Sequence[str]) -> list[str]:
    """Names of the columns to use: `columns`, or all columns of the file, without those in `exclude`."""
    names = file.schema().names
    wanted = existing_columns(columns, file, "--columns") or names
    excluded = set(existing_columns(exclude, file, "--exclude"))
    selected = [name for name in wanted if name not in excluded]
    if not selected:
        raise TableError(f"All columns of {file.label} are excluded. It has {quoted(names)}.")
    if "" in selected:  # often the index of a data frame
        raise TableError(f"{file.label} has a column without a name. Name it, or exclude it: {exclude_option([''])}.")
    return selected


def complete_column(kept: pa.RecordBatch, name: str) -> pa.Array:
    """A column that is kept; fails if it has missing values."""
    column = kept.column(name)
    if column.null_count:
        raise TableError(
            f"Column {name!r} has {counted(column.null_count, 'missing value')}: it must say something of every row."
        )
    return column


def row_labels(kept: pa.RecordBatch, name: str) -> list[str]:
    """Labels of rows, from a column that is kept."""
    column = complete_column(kept, name)
    return list(checked_labels(column.to_pylist(), len(column), f"Column {name!r}"))


def existing_column(file: TableFile, name: str, option: str) -> None:
    """Fail if the file has no such column."""
    names = file.schema().names
    if name not in names:
        raise TableError(f"{option}: {file.label} has no column {name!r}. It has {quoted(names)}.")


def split_names(options: Sequence[str], names: Sequence[str]) -> list[str]:
    """Column names from repeated or comma-separated options; a name may itself contain a comma."""
    found: dict[str, None] = {}
    for option in options:
        for name in [option] if option in names else option.split(","):
            found[name if name in names else name.strip()] = None
    return list(found)


def existing_columns(options: Sequence[str], file: TableFile, option: str) -> list[str]:
    """The column names of an option; fails if the file does not have one of them."""
    names = file.schema().names
    found = split_names(options, names)
    unknown = [name for name in found if name not in names]
    if unknown:
        raise TableError(f"{option}: {file.label} has no column {quoted(unknown)}. It has {quoted(names)}.")
    return found


def _is_numeric(kind: Any) -> bool:
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )
