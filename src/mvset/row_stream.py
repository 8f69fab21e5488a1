"""Tables that are read in batches, because they are larger than memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
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
        return list(self.dataset.schema.names)

    def batches(self) -> Iterator[Array]:
        """Rows in the order of the files."""
        for batch in self.dataset.to_batches(batch_size=_BATCH_ROWS):
            yield _rows(batch)


class SpooledRows:
    """A stream that can be read only once, kept in a temporary file."""

    def __init__(self, stream: Any) -> None:
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_stream(stream)
        reject_non_numeric(reader.schema.empty_table())
        self.names = list(reader.schema.names)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the object
        for batch in reader:
            _rows(batch).tofile(self._file)
        self._file.flush()

    def batches(self) -> Iterator[Array]:
        """Rows in the order in which they came."""
        self._file.seek(0)
        width = len(self.names)
        while len(values := np.fromfile(self._file, dtype=np.float64, count=_BATCH_ROWS * width)):
            yield values.reshape(-1, width)


def row_stream(X: Any) -> RowStream | None:
    """X as a table to be read in batches, if it is one: a dataset of pyarrow, or an Arrow stream without an array."""
    if isinstance(X, RowStream):
        return X
    if hasattr(X, "to_batches") and hasattr(X, "count_rows"):
        reject_non_numeric(X.schema.empty_table())
        return DatasetRows(X)
    if hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array__"):
        return SpooledRows(X)
    return None


@dataclass(frozen=True)
class Survey:
    """What one pass over a table tells: its length, its range, and a random sample of its rows."""

    n_rows: int
    lowest: Array
    highest: Array
    rows: Array  # sampled, in their order; all of them if there are few
    numbers: NDArray[np.intp]  # of these rows

    @property
    def is_complete(self) -> bool:
        """Whether the sample has all rows."""
        return len(self.rows) == self.n_rows


def survey(stream: RowStream, size: int, seed: int, on_rows: Callable[[int], None] = lambda n_rows: None) -> Survey:
    """Sample so many rows; or take all if that would leave less than half of them. `on_rows` is told how many came."""
    n_rows, sample = 0, RowSample(2 * size - 1, seed)
    lowest, highest = np.full(len(stream.names), np.inf), np.full(len(stream.names), -np.inf)
    for rows in stream.batches():
        numbers = np.arange(n_rows, n_rows + len(rows), dtype=np.float64)
        n_rows += len(rows)
        on_rows(n_rows)
        finite = np.isfinite(rows)
        if not finite.all():
            columns = named_columns(stream.names, np.flatnonzero(~finite.all(axis=0)))
            raise ValueError(
                f"Input X contains NaN or infinity in {columns} ({int((~finite.all(axis=1)).sum())} of rows "
                f"{n_rows - len(rows)} to {n_rows - 1}). Drop these rows, or impute them."
            )
        if len(rows):
            lowest, highest = np.minimum(lowest, rows.min(axis=0)), np.maximum(highest, rows.max(axis=0))
            sample.add(np.column_stack([rows, numbers]))
    if n_rows < 2:
        raise ValueError(f"Found array with {n_rows} sample(s) while a minimum of 2 is required.")
    if n_rows >= 2 * size:
        sample.shrink(size)
    drawn = sample.rows()
    return Survey(n_rows, lowest, highest, np.ascontiguousarray(drawn[:, :-1]), drawn[:, -1].astype(np.intp))


def remaining(batches: Iterable[Array], numbers: NDArray[np.intp]) -> Iterator[Array]:
    """All rows but those of some ascending numbers, batch by batch."""
    start = 0
    for rows in batches:
        first, last = np.searchsorted(numbers, [start, start + len(rows)])
        start += len(rows)
        yield np.delete(rows, numbers[first:last] - (start - len(rows)), axis=0)


def chosen(X: Array, numbers: NDArray[np.intp]) -> Iterator[Array]:
    """Rows of an array, some at a time."""
    return (X[numbers[start : start + _BATCH_ROWS]] for start in range(0, len(numbers), _BATCH_ROWS))


def _rows(batch: Any) -> Array:
    rows = np.empty((batch.num_rows, batch.num_columns))
    for j, column in enumerate(batch.columns):
        rows[:, j] = column.to_numpy(zero_copy_only=False)  # null becomes NaN
    return rows
