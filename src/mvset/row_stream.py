"""Tables that are read in batches, because they are larger than memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mvset.row_sample import RowSample
from mvset.validation import named_columns, reject_non_numeric

Array = NDArray[np.float64]

_BATCH_ROWS = 65_536


@runtime_checkable
class RowStream(Protocol):
    """A table that can be read in batches more than once, with the same rows in the same order."""

    @property
    def names(self) -> list[str]:
        """Names of the columns."""

    def batches(self) -> Iterator[Array]:
        """Rows as float64, one array after the other."""


@dataclass(frozen=True)
class DatasetRows:
    """A dataset of pyarrow: files that are read anew each time."""

    dataset: Any

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(_schema(self.dataset).names)

    def batches(self) -> Iterator[Array]:
        """Rows in the order of the files."""
        scanner = self.dataset
        if hasattr(scanner, "scanner"):  # read ahead little: by default it fills gigabytes
            scanner = scanner.scanner(batch_size=_BATCH_ROWS, batch_readahead=1, fragment_readahead=1)
        for batch in scanner.to_batches():
            yield _rows(batch)


class SpooledRows:
    """A stream that can be read only once, kept in a temporary file."""

    def __init__(self, stream: Any) -> None:
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_stream(stream)
        _reject_other_types(reader.schema)
        self.names = list(reader.schema.names)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the object
        for batch in reader:
            _rows(batch).tofile(self._file)
        self._file.flush()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    def batches(self) -> Iterator[Array]:
        """Rows in the order in which they came."""
        self._file.seek(0)
        width = len(self.names)
        while len(values := np.fromfile(self._file, dtype=np.float64, count=_BATCH_ROWS * width)):
            yield values.reshape(-1, width)


def row_stream(X: Any) -> RowStream | None:
    """X as a table to be read in batches, if it is one: a dataset of pyarrow, or an Arrow stream without an array."""
    if hasattr(X, "__array__"):  # it is in memory
        return None
    if isinstance(X, RowStream):
        return X
    if hasattr(X, "to_batches") and hasattr(X, "count_rows"):
        _reject_other_types(_schema(X))
        return DatasetRows(X)
    return SpooledRows(X) if hasattr(X, "__arrow_c_stream__") else None


def all_rows(stream: RowStream) -> Array:
    """The whole table."""
    rows = np.concatenate([np.empty((0, len(stream.names))), *(batch for batch, _ in _checked(stream))])
    _check_number(len(rows))
    return rows


@dataclass(frozen=True)
class Survey:
    """What one pass over a table tells: its length, its range, and a random sample of its rows."""

    stream: RowStream
    n_rows: int
    lowest: Array
    highest: Array
    rows: Array  # sampled, in their order; or all of them
    numbers: NDArray[np.intp]  # of these rows

    @property
    def is_complete(self) -> bool:
        """Whether all rows are there."""
        return len(self.rows) == self.n_rows


def survey(
    stream: RowStream,
    size: int,
    seed: int,
    n_kept: Callable[[int], int | None],
    on_rows: Callable[[int], None] = lambda n_rows: None,
) -> Survey | None:
    """Sample as many rows as `n_kept` says of their number, `size` at most.

    If it says that all are needed, these are returned, or None if they are more than `size`. `on_rows` is told how many
    rows have come.
    """
    n_rows, sample = 0, RowSample(size, seed)
    lowest, highest = np.full(len(stream.names), np.inf), np.full(len(stream.names), -np.inf)
    for rows, start in _checked(stream):
        n_rows = start + len(rows)
        on_rows(n_rows)
        if len(rows):
            lowest, highest = np.minimum(lowest, rows.min(axis=0)), np.maximum(highest, rows.max(axis=0))
            sample.add(np.column_stack([rows, np.arange(start, n_rows, dtype=np.float64)]))
    _check_number(n_rows)
    kept = n_kept(n_rows)
    if kept is None and n_rows > size:
        return None
    sample.shrink(size if kept is None else kept)
    drawn = sample.rows()
    rows, numbers = drawn[:, :-1], drawn[:, -1].astype(np.intp)
    return Survey(stream, n_rows, lowest, highest, np.ascontiguousarray(rows), numbers)


def remaining(surveyed: Survey) -> Iterator[Array]:
    """All rows but those of the sample, batch by batch."""
    n_rows = 0
    for rows, start in _checked(surveyed.stream):
        n_rows = start + len(rows)
        first, last = np.searchsorted(surveyed.numbers, [start, n_rows])
        yield np.delete(rows, surveyed.numbers[first:last] - start, axis=0)
    if n_rows != surveyed.n_rows:
        raise ValueError(f"The table changed while it was read: it had {surveyed.n_rows} rows, and now has {n_rows}.")


def chosen(X: Array, numbers: NDArray[np.intp]) -> Iterator[Array]:
    """Rows of an array, some at a time."""
    return (X[numbers[start : start + _BATCH_ROWS]] for start in range(0, len(numbers), _BATCH_ROWS))


def _checked(stream: RowStream) -> Iterator[tuple[Array, int]]:
    """Batches and the number of rows before each; fails at values that are no numbers."""
    start = 0
    for rows in stream.batches():
        finite = np.isfinite(rows)
        if not finite.all():
            columns = named_columns(stream.names, np.flatnonzero(~finite.all(axis=0)))
            raise ValueError(
                f"Input X contains NaN or infinity in {columns} ({int((~finite.all(axis=1)).sum())} of rows "
                f"{start} to {start + len(rows) - 1}). Drop these rows, or impute them."
            )
        yield rows, start
        start += len(rows)


def _check_number(n_rows: int) -> None:
    if n_rows < 2:
        raise ValueError(f"Found array with {n_rows} sample(s) while a minimum of 2 is required.")


def _schema(dataset: Any) -> Any:
    return dataset.projected_schema if hasattr(dataset, "projected_schema") else dataset.schema


def _reject_other_types(schema: Any) -> None:
    """Refuse columns that are not numeric, by name."""
    reject_non_numeric(schema.empty_table())
    nested = [f"{field.name!r} ({field.type})" for field in schema if field.type.num_fields]
    if nested:
        raise ValueError(f"Column(s) {', '.join(nested)} of X are not numeric. Drop them.")


def _rows(batch: Any) -> Array:
    rows = np.empty((batch.num_rows, batch.num_columns))
    for j, column in enumerate(batch.columns):
        rows[:, j] = column.to_numpy(zero_copy_only=False)  # null becomes NaN
    return rows
