"""One pass over a table that is read in batches: its length, its range and a sample; and all other rows after that."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvset.parallel import Map
from mvset.rows.sample import RowSample
from mvset.rows.stream import BATCH_ROWS, Part, RowStream, Table
from mvset.rows.validation import not_finite
from mvset.values import Array, Indices


def all_rows(stream: RowStream) -> Array:
    """The whole table."""
    rows = np.concatenate([np.empty((0, len(stream.names))), *(batch for batch, _ in _checked(stream))])
    lowest, highest = np.fmin.reduce(rows, axis=0, initial=np.inf), np.fmax.reduce(rows, axis=0, initial=-np.inf)
    _check_table(stream, len(rows), rows, lowest, highest)
    return rows


@dataclass(frozen=True)
class Survey:
    """What one pass over a table tells: its length, its range, and a random sample of its rows."""

    stream: RowStream
    n_rows: int
    lowest: Array
    highest: Array
    rows: Array  # sampled, in their order; or all of them
    numbers: Indices  # of these rows
    parts: Sequence[Part] = ()  # in which the workers of a cluster read the table, if there is one

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
    cluster: Map | None = None,
) -> Survey | None:
    """Sample as many rows as `n_kept` says of their number, `size` at most.

    If it says that all are needed, these are returned, or None if they are more than `size`. `on_rows` is told how many
    rows have come. The workers of a `cluster` read the parts of the table: the rows sampled are the same.
    """
    cluster = map if hasattr(stream, "surveyed") else cluster  # an array on a device surveys itself
    parts = stream.parts(cluster) if cluster is not None and isinstance(stream, Table) else []
    if cluster is None or not parts:
        n_rows, lowest, highest, sample = _survey_rows(stream, RowSample(size, seed), on_rows)
    else:
        n_rows, lowest, highest, sample = _survey_parts(parts, RowSample(size, seed), on_rows, cluster)
    _check_table(stream, n_rows, sample.rows()[:, :-1], lowest, highest)
    kept = n_kept(n_rows)
    if kept is None and n_rows > size:
        return None
    sample.shrink(size if kept is None else kept)
    drawn = sample.rows()
    rows, numbers = np.ascontiguousarray(drawn[:, :-1]), drawn[:, -1].astype(np.intp)
    return Survey(stream, n_rows, lowest, highest, rows, numbers, parts)


def _survey_rows(
    stream: RowStream, sample: RowSample, on_rows: Callable[[int], None]
) -> tuple[int, Array, Array, RowSample]:
    """Number of rows, lowest and highest values, and a sample of rows with their numbers."""
    n_rows, width = 0, len(stream.names)
    lowest, highest = np.full(width, np.inf), np.full(width, -np.inf)
    sample.add(np.empty((0, width + 1)))
    for rows, start in _checked(stream):
        n_rows = start + len(rows)
        on_rows(n_rows)
        if len(rows):
            lowest, highest = np.fmin(lowest, np.fmin.reduce(rows)), np.fmax(highest, np.fmax.reduce(rows))
            sample.add(np.column_stack([rows, np.arange(start, n_rows, dtype=np.float64)]))
    return n_rows, lowest, highest, sample


def _survey_parts(
    parts: Sequence[Part], sample: RowSample, on_rows: Callable[[int], None], cluster: Map
) -> tuple[int, Array, Array, RowSample]:
    """The same on a cluster: which rows are sampled depends only on how many there are."""
    n_rows = sum(part.n_rows for part in parts)
    for start in range(0, max(1, n_rows), BATCH_ROWS):
        sample.add(np.arange(start, min(start + BATCH_ROWS, n_rows), dtype=np.float64)[:, np.newaxis])
    numbers = sample.rows()[:, 0]
    found = []
    for part, each in zip(parts, cluster(_survey_part, parts, [_within(numbers, part) for part in parts]), strict=True):
        on_rows(part.start + part.n_rows)
        found.append(each)
    lowest, highest, drawn = zip(*found, strict=True)
    sample.replace(np.column_stack([np.concatenate(drawn), numbers]))
    return n_rows, np.min(lowest, axis=0), np.max(highest, axis=0), sample


def _survey_part(part: Part, numbers: Array) -> tuple[Array, Array, Array]:
    """Lowest and highest values of a part, and its rows with given numbers."""
    if hasattr(part.rows, "surveyed"):
        surveyed: tuple[Array, Array, Array] = part.rows.surveyed(numbers)
        return surveyed
    width = len(part.rows.names)
    lowest, highest, drawn = np.full(width, np.inf), np.full(width, -np.inf), [np.empty((0, width))]
    for rows, start in _part_batches(part):
        if len(rows):
            lowest, highest = np.fmin(lowest, np.fmin.reduce(rows)), np.fmax(highest, np.fmax.reduce(rows))
        first, last = np.searchsorted(numbers, [start, start + len(rows)])
        drawn.append(rows[numbers[first:last].astype(np.intp) - start])
    return lowest, highest, np.concatenate(drawn)


def remaining(surveyed: Survey) -> Iterator[Array]:
    """All rows but those of the sample, batch by batch."""
    return remaining_of(Part(surveyed.stream, 0, surveyed.n_rows), surveyed.numbers)


def remaining_of(part: Part, numbers: Indices) -> Iterator[Array]:
    """All rows of a part but those with given numbers."""
    for rows, start in _part_batches(part):
        first, last = np.searchsorted(numbers, [start, start + len(rows)])
        yield np.delete(rows, numbers[first:last] - start, axis=0)


def numbers_of_parts(surveyed: Survey) -> list[Indices]:
    """The numbers of the sampled rows that are in each part."""
    return [_within(surveyed.numbers, part) for part in surveyed.parts]


def _within(numbers: NDArray[Any], part: Part) -> NDArray[Any]:
    first, last = np.searchsorted(numbers, [part.start, part.start + part.n_rows])
    return numbers[first:last]


def _part_batches(part: Part) -> Iterator[tuple[Array, int]]:
    """Batches of a part, and the number of rows before each; fails if the part has not the rows that were counted."""
    end = part.start
    for rows, start in _checked(part.rows, part.start):
        end = start + len(rows)
        yield rows, start
    if end != part.start + part.n_rows:
        raise ValueError(
            f"The table changed while it was read: it had {part.n_rows} rows, and now has {end - part.start}."
        )


def chosen(X: Array, numbers: Indices) -> Iterator[Array]:
    """Rows of an array, some at a time."""
    return (X[numbers[start : start + BATCH_ROWS]] for start in range(0, len(numbers), BATCH_ROWS))


def _checked(stream: RowStream, start: int = 0) -> Iterator[tuple[Array, int]]:
    """Batches and the number of rows before each; fails at values that are no numbers, or missing without leave."""
    missing = getattr(stream, "missing", False)
    for rows in stream.batches():
        finite = ~np.isinf(rows) if missing else np.isfinite(rows)
        if not finite.all():
            raise not_finite(finite, f"rows {start} to {start + len(rows) - 1}", stream.names, missing=missing)
        yield rows, start
        start += len(rows)


def _check_table(stream: RowStream, n_rows: int, rows: Array, lowest: Array, highest: Array) -> None:
    if isinstance(stream, Table):
        stream.check(rows, lowest, highest)
    if n_rows < 2:
        raise ValueError(f"Found array with {n_rows} sample(s) while a minimum of 2 is required.")
