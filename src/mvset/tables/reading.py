"""Rows of numbers from tables: which columns, which rows, and what is in their way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mvset.tables.errors import TableError, excluding, listed
from mvset.tables.formats import TableFile

Array = NDArray[np.float64]
OnProgress = Callable[[float], None]
_INFINITE = 1e300  # the largest float64 stands for no value as a rule, and is infinite once it is standardised


@dataclass(frozen=True)
class Batch:
    """Some rows of a table."""

    rows: Array  # one column per feature
    kept: pa.RecordBatch  # columns passed on as they are
    numbers: NDArray[np.int64]  # of the rows, counted over all tables from 0
    table: str


@dataclass
class TableReader:
    """The rows of several files as one table; counts what it leaves out."""

    files: Sequence[TableFile]
    features: Sequence[str]
    keep: Sequence[str] = ()
    drop_missing: bool = False
    n_rows: int = field(default=0, init=False)
    n_dropped: int = field(default=0, init=False)

    kept_fields: list[pa.Field] = field(default_factory=list, init=False)
    in_other_order: bool = field(default=False, init=False)  # whether some file has the features so; names find them

    def __post_init__(self) -> None:
        schemas = [self._checked(file) for file in self.files]  # before any of them is read
        for name in self.keep:
            kinds = {file.verbatim(schema.field(name).type) for file, schema in zip(self.files, schemas, strict=True)}
            if name in self.features:
                kinds = {pa.float64()}
            # Where files disagree on a type, text holds them all.
            self.kept_fields.append(pa.field(name, kinds.pop() if len(kinds) == 1 else pa.string()))
        orders = [[name for name in schema.names if name in set(self.features)] for schema in schemas]
        self.in_other_order = any(order != list(self.features) for order in orders)

    def batches(self, on_progress: OnProgress = lambda share: None) -> Iterator[Batch]:
        """Rows without missing values, file by file; `on_progress` hears the share that is done."""
        sizes = np.array([file.path.stat().st_size for file in self.files], dtype=float)
        done = 0.0
        for file, size in zip(self.files, sizes / max(1.0, sizes.sum()), strict=True):
            for batch, share in file.batches(self._wanted):
                whole = self._batch(file, batch)
                if len(whole.rows):
                    yield whole
                on_progress(done + share * size)
            done += size

    def _checked(self, file: TableFile) -> pa.Schema:
        schema = file.schema()
        for name in [*self.features, *self.keep]:
            if name not in schema.names:
                raise TableError(
                    f"{file.path} has no column {name!r}; it has {listed(schema.names)}. "
                    + (f"Rename it, or fit without: {excluding([name])}." if name in self.features else "Mend --keep.")
                )
        check_numeric(file, schema, self.features)
        return schema

    @property
    def _wanted(self) -> pa.Schema:
        """Columns to read: the features as numbers, those kept as they are."""
        others = [kept for kept in self.kept_fields if kept.name not in self.features]
        return pa.schema([*(pa.field(name, pa.float64()) for name in self.features), *others])

    def _batch(self, file: TableFile, batch: pa.RecordBatch) -> Batch:
        rows = np.empty((batch.num_rows, len(self.features)))
        for j in range(len(self.features)):
            rows[:, j] = batch.column(j).to_numpy(zero_copy_only=False)  # null becomes NaN
        numbers = np.arange(self.n_rows, self.n_rows + len(rows))
        self.n_rows += len(rows)
        finite = np.abs(rows) < _INFINITE
        whole = finite.all(axis=1)
        if not whole.all():
            if not self.drop_missing:
                raise self._missing(file, finite)
            self.n_dropped += int(np.sum(~whole))
            rows, numbers, batch = rows[whole], numbers[whole], batch.filter(pa.array(whole))
        kept = pa.RecordBatch.from_arrays(
            [batch.column(name) for name in self.keep], schema=pa.schema(self.kept_fields)
        )
        return Batch(rows, kept, numbers, str(file.path))

    def _missing(self, file: TableFile, finite: NDArray[np.bool_]) -> TableError:
        counts = {self.features[j]: int(np.sum(~finite[:, j])) for j in np.flatnonzero(~finite.all(axis=0)).tolist()}
        said = " and ".join(f"{name!r} ({count})" for name, count in counts.items())
        return TableError(
            f"{file.path}: missing or infinite values in {said}, in {int(np.sum(~finite.all(axis=1)))} of the first "
            f"{self.n_rows} rows. Leave such rows out with --drop-missing, or fit without the columns: "
            f"{excluding(list(counts))}."
        )


def check_numeric(file: TableFile, schema: pa.Schema, features: Sequence[str]) -> None:
    """Refuse features that are not numbers, all at once."""
    others = [name for name in features if not _is_numeric(schema.field(name).type)]
    if others:
        kinds = ", ".join(f"{name!r} ({schema.field(name).type})" for name in others)
        raise TableError(
            f"{file.path}: not numeric: {kinds}. Leave them out of the fit with {excluding(others)}, or name those to "
            "use with --columns."
        )


def chosen_columns(file: TableFile, columns: Sequence[str], exclude: Sequence[str]) -> list[str]:
    """Names of the columns to use: those named, or all but those excluded."""
    names = file.schema().names
    wanted = _named(columns, names, file, "--columns") or names
    left_out = set(_named(exclude, names, file, "--exclude"))
    chosen = [name for name in wanted if name not in left_out]
    if not chosen:
        raise TableError(f"No column of {file.path} is left. It has {listed(names)}.")
    if "" in chosen:  # often the row numbers of a data frame
        raise TableError(f"{file.path} has a column without a name. Name it, or leave it out with {excluding([''])}.")
    return chosen


def split_names(options: Sequence[str], names: Sequence[str]) -> list[str]:
    """Names given as one option each or separated by commas; a name may itself have a comma."""
    found: dict[str, None] = {}
    for option in options:
        for name in [option] if option in names else option.split(","):
            found[name if name in names else name.strip()] = None
    return list(found)


def _named(options: Sequence[str], names: Sequence[str], file: TableFile, option: str) -> list[str]:
    found = split_names(options, names)
    unknown = [name for name in found if name not in names]
    if unknown:
        raise TableError(f"{option}: {file.path} has no column {listed(unknown)}. It has {listed(names)}.")
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
