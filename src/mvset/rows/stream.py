"""Tables that are read in batches, because they are larger than memory; or in parts, by the workers of a cluster."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mvset.parallel import Map
from mvset.rows.validation import reject_non_numeric
from mvset.values import Array
from mvset.wording import are, columns_named

BATCH_ROWS = 65_536
PART_ROWS = 1_000_000  # of one task of a cluster


@runtime_checkable
class RowStream(Protocol):
    """A table that can be read in batches more than once, with the same rows in the same order."""

    @property
    def names(self) -> list[str]:
        """Names of the columns."""

    def batches(self) -> Iterator[Array]:
        """Rows as float64, one array after the other."""


@dataclass(frozen=True)
class Part:
    """Consecutive rows of a table, which a worker of a cluster reads by itself."""

    rows: RowStream  # can be pickled
    start: int  # number of rows before
    n_rows: int


@runtime_checkable
class Table(RowStream, Protocol):
    """A table of files: it can be read in parts, and may have something to say about its rows."""

    def parts(self, run: Map) -> list[Part]:
        """The parts in which workers read the table; `run` counts their rows."""

    def check(self, rows: Array, lowest: Array, highest: Array) -> None:
        """Refuse, or warn about, what a sample of rows and the range of all show."""


@dataclass(frozen=True)
class DatasetRows:
    """A dataset of pyarrow, or a fragment of one: files that are read anew each time."""

    dataset: Any
    schema: Any = None  # of the whole dataset
    missing: bool = False  # whether values may be missing

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list((self.schema or _schema(self.dataset)).names)

    def batches(self) -> Iterator[Array]:
        """Rows in the order of the files."""
        scanner = self.dataset
        if hasattr(scanner, "scanner"):  # read ahead little: by default it fills gigabytes
            of_fragment = {} if self.schema is None else {"schema": self.schema}
            scanner = scanner.scanner(**of_fragment, batch_size=BATCH_ROWS, batch_readahead=1, fragment_readahead=1)
        for batch in scanner.to_batches():
            yield _rows(batch)

    def parts(self, run: Map) -> list[Part]:
        """The files of the dataset; none if it is filtered, or not made of files."""
        if not getattr(self.dataset, "files", None) or getattr(self.dataset, "_scan_options", None):
            return []
        fragments = [part for each in self.dataset.get_fragments() for part in _divided(each)]
        streams = [DatasetRows(each, self.dataset.schema, self.missing) for each in fragments]
        return numbered(streams, run(_n_rows, fragments))

    def check(self, rows: Array, lowest: Array, highest: Array) -> None:
        """Nothing is known beyond the values."""


def numbered(streams: Sequence[RowStream], counts: Iterable[int]) -> list[Part]:
    """Parts of a table from their numbers of rows."""
    parts, start = [], 0
    for rows, n_rows in zip(streams, counts, strict=True):
        parts.append(Part(rows, start, n_rows))
        start += n_rows
    return parts


class SpooledRows:
    """A stream that can be read only once, kept in a temporary file."""

    def __init__(self, stream: Any, *, missing: bool = False) -> None:
        import pyarrow as pa

        self.missing = missing

        reader = pa.RecordBatchReader.from_stream(stream)
        _reject_other_types(reader.schema)
        self.names = list(reader.schema.names)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the object
        try:
            for batch in reader:
                self._file.write(_rows(batch).data)
            self._file.flush()
        except OSError as error:
            problem = f"{error.strerror}, where rows are kept until they are read again; set TMPDIR to a larger place"
            raise OSError(error.errno, problem, tempfile.gettempdir()) from None

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    def batches(self) -> Iterator[Array]:
        """Rows in the order in which they came."""
        self._file.seek(0)
        width = len(self.names)
        while len(values := np.fromfile(self._file, dtype=np.float64, count=BATCH_ROWS * width)):
            yield values.reshape(-1, width)


def row_stream(X: Any, *, missing: bool = False) -> RowStream | None:
    """X as a table to be read in batches, if it is one: a dataset of pyarrow, or an Arrow stream without an array.

    `missing` says that values may be missing.
    """
    if hasattr(X, "__array__"):  # it is in memory
        return None
    if isinstance(X, RowStream):
        return X
    if hasattr(X, "to_batches") and hasattr(X, "count_rows"):
        _reject_other_types(_schema(X))
        return DatasetRows(X, missing=missing)
    return SpooledRows(X, missing=missing) if hasattr(X, "__arrow_c_stream__") else None


def _divided(fragment: Any) -> list[Any]:
    """A file, or consecutive row groups of a Parquet file that have about `PART_ROWS` rows."""
    groups = getattr(fragment, "row_groups", None)
    if not groups:
        return [fragment]
    return [
        fragment.subset(row_group_ids=[groups[i].id for i in ids])
        for ids in consecutive([each.num_rows for each in groups])
    ]


def consecutive(sizes: Sequence[int]) -> list[range]:
    """Indices in a row whose sizes are `PART_ROWS` together, or what is left."""
    found, start, rows = [], 0, 0
    for i, size in enumerate(sizes):
        rows += size
        if rows >= PART_ROWS or i == len(sizes) - 1:
            found.append(range(start, i + 1))
            start, rows = i + 1, 0
    return found


def _n_rows(fragment: Any) -> int:
    groups = getattr(fragment, "row_groups", None)  # `count_rows` would count those of the whole file
    return int(fragment.count_rows() if groups is None else sum(group.num_rows for group in groups))


def _schema(dataset: Any) -> Any:
    return dataset.projected_schema if hasattr(dataset, "projected_schema") else dataset.schema


def _reject_other_types(schema: Any) -> None:
    """Refuse columns that are not numeric, by name."""
    reject_non_numeric(schema.empty_table())
    nested = [f"{field.name!r} ({field.type})" for field in schema if field.type.num_fields]
    if nested:
        raise ValueError(f"{columns_named(nested)} of X {are(len(nested))} not numeric. Drop such columns.")


def _rows(batch: Any) -> Array:
    rows = np.empty((batch.num_rows, batch.num_columns))
    for j, column in enumerate(batch.columns):
        rows[:, j] = column.to_numpy(zero_copy_only=False)  # null becomes NaN
    return rows
