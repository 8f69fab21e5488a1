"""Read numeric rows from tables: select columns, drop or refuse missing values, count rows."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mvset.app.tables.columns import check_numeric, is_numeric
from mvset.app.tables.conditions import Condition, ConditionError
from mvset.app.tables.dates import DateError, TimeOrder, dates_begin_with, parsed_dates
from mvset.app.tables.errors import TableError, exclude_option, quoted
from mvset.app.tables.formats import TableFile
from mvset.app.tables.opening import unchanged
from mvset.inference.timeline import Kind, Times
from mvset.rows.categories import UNSEEN
from mvset.rows.columns import CodedRows, TableColumns
from mvset.rows.labels import label_text, label_texts
from mvset.values import Array, Flags
from mvset.wording import counted

OnShare = Callable[[float], None]  # told the share of a table that has been read
MissingRows = Literal["error", "drop", "note", "impute"]
_GAP = "missing "  # before the name of a column, in counts


def ignore_share(share: float) -> None:
    """For those who need not know how much has been read."""


@dataclass(frozen=True)
class Batch:
    """A batch of rows of a table, some of which may be incomplete."""

    values: Array  # one column per feature
    complete: Flags  # whether a row can be fitted to, and has an answer
    kept: pa.RecordBatch  # columns copied unchanged
    numbers: NDArray[np.int64]  # row numbers, counted from 0 in each file
    table: str  # the file, as it was named
    unseen: dict[int, dict[str, str]] = field(default_factory=dict)  # values that the fit did not see, by row, column
    strata: NDArray[np.object_] | None = None  # labels of the rows; None where one is missing

    @property
    def rows(self) -> Array:
        """The values of complete rows."""
        return self.values if self.complete.all() else self.values[self.complete]

    def only_complete(self) -> "Batch":
        """The batch without incomplete rows."""
        if self.complete.all():
            return self
        kept = self.kept.filter(pa.array(self.complete)) if self.kept.num_columns else self.kept
        numbers, places = self.numbers[self.complete], np.cumsum(self.complete) - 1
        unseen = {int(places[i]): values for i, values in self.unseen.items() if self.complete[i]}
        strata = None if self.strata is None else self.strata[self.complete]
        return Batch(self.rows, np.ones(len(numbers), dtype=bool), kept, numbers, self.table, unseen, strata)

    def notes(self, columns: TableColumns) -> pa.Array | None:
        """Return a note on each row: values that are missing or imputed, or that the fit did not see."""
        said = {
            i: f"unseen: {', '.join(f'{name} = {value}' for name, value in values.items())}"
            for i, values in self.unseen.items()
        }
        missing, names = ~np.isfinite(self.values), np.array([*columns.names, columns.strata], dtype=object)
        unlabelled = np.zeros(len(missing)) if self.strata is None else [label is None for label in self.strata]
        missing = np.column_stack([missing, np.asarray(unlabelled, dtype=bool)])
        for i in np.flatnonzero(missing.any(axis=1)).tolist():
            gaps = f"{'imputed' if self.complete[i] else 'missing'}: {', '.join(names[missing[i]])}"
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
    strata: str | None = None  # column, one of those kept, that says by which offset a row is judged
    where: str | None = None
    time: str | None = None  # column, one of those kept, that says when a row was recorded
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)  # values of the features that are categories
    counts: Counter[str] = field(default_factory=Counter, init=False)  # rows: all, selected, dropped; gaps by column
    order: TimeOrder = field(default_factory=TimeOrder, init=False)

    date_format: str | None = field(default=None, init=False)
    kept_fields: list[pa.Field] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        for file in self.files:  # all before any is read
            self._check(file)
        for name in self.keep:
            kinds = {file.copied_type(name) for file in self.files}
            if name in self.features and name not in self.categories:
                kinds = {pa.float64()}
            # If files disagree on a type, keep the column as text.
            self.kept_fields.append(pa.field(name, kinds.pop() if len(kinds) == 1 else pa.string()))

    @property
    def reordered(self) -> bool:
        """Whether the features of some file are in another order."""
        features = set(self.features)
        return any(
            [name for name in file.schema.names if name in features] != list(self.features) for file in self.files
        )

    @property
    def labels(self) -> list[str]:
        """The files as they were named."""
        return [file.label for file in self.files]

    @property
    def columns(self) -> TableColumns:
        """The columns that are read as numbers, and the strata."""
        return TableColumns(self.features, self.categories, self.missing == "impute", self.strata)

    def batches(self, on_progress: OnShare = ignore_share) -> Iterator[Batch]:
        """Batches of rows, file by file; calls `on_progress` with the share done."""
        sizes = [file.path.stat().st_size for file in self.files]
        done, total = 0, max(1, sum(sizes))
        for file, size in zip(self.files, sizes, strict=True):
            with unchanged(file.path, file.label, file.version):  # in place of what half a file looks like
                start, condition = file.start, self._condition(file)
                for record_batch, share in file.batches(self._wanted(file, condition)):
                    numbers = np.arange(start, start + record_batch.num_rows)
                    start += record_batch.num_rows
                    self.counts["all"] += record_batch.num_rows
                    batch = self._batch(file, record_batch, numbers, condition)
                    if len(batch.numbers):
                        yield batch
                    on_progress((done + share * size) / total)
            done += size
        if self.where is not None and not self.n_rows:
            raise ConditionError(f"no rows of {self.labels[0]} meet {self.where!r}.")

    @property
    def n_rows(self) -> int:
        """Number of rows that `where` selects."""
        return self.counts["selected"]

    @property
    def n_dropped(self) -> int:
        """Number of rows without an answer."""
        return self.counts["dropped"]

    def rows_in_words(self) -> str:
        """Say how many rows the files have, how many were read, and how many have no answer and why."""
        n_files = len(self.files)
        said = [f"{self.counts['all']} in {'the file' if n_files == 1 else f'{n_files} files'}"]
        if self.where is not None:
            said.append(f"{self.n_rows} selected by --where")
        if self.n_dropped:
            ordered = [name for name, count in self.counts.most_common() if count]
            gaps = ", ".join([name.removeprefix(_GAP) for name in ordered if name.startswith(_GAP)][:5])
            said.append(f"{self.n_dropped} without an answer for missing values ({gaps})")
        return ", ".join(said if self.n_dropped else [*said, "all with an answer"])

    def anew(self, files: Sequence[TableFile] | None = None) -> "TableReader":
        """A reader that has read nothing yet, of the same or of other files with the same columns."""
        reader = copy(self)
        reader.files, reader.counts, reader.order = files or self.files, Counter(), TimeOrder()
        return reader

    def parts(self) -> "list[TableReader]":
        """A reader for each part of the files, with the same columns."""
        found = []
        for file in self.files:
            if file.name:
                raise TableError(f"--engine: workers cannot read {file.label}: write it to a file of rows first.")
            there = replace(file, path=file.path.resolve(), name=file.label)  # workers may run in another folder
            found += [self.anew([part]) for part in there.parts()]
        return found

    def _check(self, file: TableFile) -> None:
        """Fail if a column is missing, a feature is not numeric, or the condition cannot be used."""
        schema = file.schema
        self._condition(file)
        for name in [*self.features, *self.keep]:
            if name not in schema.names:
                advice = f"Correct {'--time' if name == self.time else '--keep'}."
                if name == self.strata:
                    advice = f"The model has an offset for each of its values (fit --strata {name})."
                if name in self.features:
                    advice = f"Rename a column, or fit without it: {exclude_option([name])}."
                raise TableError(f"{file.label} has no column {name!r}; it has {quoted(schema.names)}. {advice}")
        check_numeric(file, schema, [name for name in self.features if name not in self.categories])

    def _condition(self, file: TableFile) -> Condition | None:
        """What rows must meet; it sees dates of text formats as text, as they are written."""
        if self.where is None:
            return None
        kinds = {
            name: kind if pa.types.is_boolean(kind) else pa.float64() if is_numeric(kind) else file.copied_type(name)
            for name, kind in zip(file.schema.names, file.schema.types, strict=True)
        }
        return Condition(self.where, pa.schema(kinds))

    def _wanted(self, file: TableFile, condition: Condition | None) -> pa.Schema:
        """Columns to read: numbers as float64, categories, the columns kept, and the columns of the condition."""
        used = [] if condition is None else condition.fields
        kinds = {each.name: each.type if each.type == pa.float64() else file.copied_type(each.name) for each in used}
        kinds |= dict.fromkeys(self.features, pa.float64()) | {name: file.copied_type(name) for name in self.categories}
        return pa.schema(kinds | {each.name: each.type for each in self.kept_fields})

    def _batch(
        self, file: TableFile, batch: pa.RecordBatch, numbers: NDArray[np.int64], condition: Condition | None
    ) -> Batch:
        """The rows of a record batch that meet the condition."""
        if condition is not None:
            holds = condition.holds(_seen(file, batch, condition, int(numbers[0]) if len(numbers) else 0))
            batch, numbers = batch.filter(holds), numbers[holds.to_numpy(zero_copy_only=False)]
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns |= {name: file.known(columns[name], values) for name, values in self.categories.items()}
        rows = self.columns.read(columns)
        unseen: dict[int, dict[str, str]] = {}
        for j, name in enumerate(self.features):
            for i in np.flatnonzero(rows.values[:, j] == UNSEEN).tolist() if name in self.categories else ():
                unseen.setdefault(i, {})[name] = str(label_text(columns[name][i]))
        self.counts["selected"] += len(numbers)
        if self.missing == "error" and not rows.answered.all():
            raise self._missing_values(file, np.isfinite(rows.values))
        self._count_dropped(rows)
        copied = [batch.column(name) for name in self.keep]
        kept = pa.RecordBatch.from_arrays(copied, schema=pa.schema(self.kept_fields))
        found = Batch(rows.values, rows.answered, kept, numbers, file.label, unseen, rows.strata)
        return found.only_complete() if self.missing == "drop" else found

    def _count_dropped(self, rows: CodedRows) -> None:
        """Count the rows without an answer, and in which columns their values are missing."""
        self.counts["dropped"] += int(np.sum(~rows.answered))
        gaps = ~np.isfinite(rows.values[~rows.answered])
        self.counts.update({_GAP + name: int(n) for name, n in zip(self.features, gaps.sum(axis=0), strict=True)})
        if rows.strata is not None:
            self.counts[f"{_GAP}{self.strata}"] += sum(label is None for label in rows.strata)

    def times(self, batch: Batch) -> Times | None:
        """When the rows of a batch were recorded; None without a column of times."""
        if self.time is None:
            return None
        times = row_times(batch.kept, self.time, self._date_format)
        self.order.add(times, batch.table)
        return times

    def time_notes(self) -> list[str]:
        """Notes for the user on the times of the rows that were read."""
        if self.time is None:
            return []
        order, given = self.date_format, self.files[0].options.date_format
        first = [f"dates in {self.time} are read {order.replace('-', ' ')}."] if order and not given else []
        return first + self.order.notes(self.time)

    def _date_format(self) -> str:
        """How dates are written that do not begin with the year: as given, or by all values of the column."""
        given = self.files[0].options.date_format
        wanted = pa.schema([(self.time, pa.string())])
        columns = (batch.column(0) for file in self.files for batch, _ in file.batches(wanted))
        if self.date_format is None:
            self.date_format = given or dates_begin_with(columns)
        return self.date_format

    def _missing_values(self, file: TableFile, finite: Flags) -> TableError:
        counts = {self.features[j]: int(np.sum(~finite[:, j])) for j in np.flatnonzero(~finite.all(axis=0)).tolist()}
        columns = " and ".join(f"{name!r} ({count})" for name, count in counts.items())
        n_incomplete = int(np.sum(~finite.all(axis=1)))
        return TableError(
            f"{file.label}: missing or infinite values in {columns}, in {n_incomplete} of the first {self.n_rows} "
            "rows. Fill them with --missing impute, leave such rows out with --missing drop, or fit without the "
            f"columns: {exclude_option(list(counts))}."
        )


def _seen(file: TableFile, batch: pa.RecordBatch, condition: Condition, start: int) -> pa.RecordBatch:
    """The columns that a condition uses; one at least, to count rows."""
    fields = condition.fields
    columns = [file.as_seen(batch.column(each.name), each, start) for each in fields]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)) if fields else batch.select([0])


def row_labels(kept: pa.RecordBatch, name: str) -> list[str]:
    """Labels of rows, from a column that is kept; fails if any is missing."""
    labels: list[str] = label_texts(kept.column(name)).tolist()
    _check_complete(name, sum(label is None for label in labels))
    return labels


def _check_complete(name: str, n_missing: int) -> None:
    if n_missing:
        said = counted(n_missing, "missing value")
        raise TableError(f"Column {name!r} has {said}: it must say something of every row.")


def row_times(kept: pa.RecordBatch, name: str, date_format: Callable[[], str]) -> Times:
    """Values of a time column as numbers: microseconds since 1970 for dates, in whatever unit they are stored."""
    column = kept.column(name)
    kind: Kind = "number"
    try:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            try:
                column = pc.cast(column, pa.float64())
            except pa.ArrowInvalid:
                column = parsed_dates(column, date_format)
        if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
            zone = getattr(column.type, "tz", None)
            kind = f"date {zone}" if zone else "date"
            column = pc.cast(column, pa.timestamp("us", zone), safe=False)
        if pa.types.is_temporal(column.type):
            column = pc.cast(column, pa.int64())
        times = np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    except DateError as error:
        raise TableError(f"--time: column {name!r}: {error}.") from None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise TableError(f"--time: column {name!r} has neither numbers nor dates like 2026-01-31 23:59:59.") from None
    _check_complete(name, int(np.sum(~np.isfinite(times))))
    return Times(times, kind)
