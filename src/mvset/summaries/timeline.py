"""Levels of rows in the order of time: counts in blocks, in bounded memory, and since when rows are unlike the fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mvset.inference.onset import find_onset
from mvset.inference.results import DriftReport

Array = NDArray[np.float64]
Kind = Literal["row", "number", "date", "date UTC"]

MAX_BLOCKS = 4096
_ROW_BITS = 40  # of a row's place: above them the index of its file, below them its number in the file


@dataclass(frozen=True)
class Times:
    """When rows were recorded: as numbers, and what these are. Dates are microseconds since 1970."""

    values: Array
    kind: Kind


def row_places(numbers: NDArray[np.int64], file: int = 0) -> NDArray[np.int64]:
    """Places of rows, ascending in the order of files and of the rows of each file."""
    return (np.int64(file) << _ROW_BITS) + numbers


def level_bins(mass: float) -> Array:
    """Edges of the bins in which levels are counted: more of them where rows are unusual; the mass is one of them."""
    inside = [edge for edge in (0.0, 0.5, 0.75, 0.9) if edge < mass]
    return np.array([*inside, mass, 1.0 - 0.25 * (1.0 - mass), 1.0])


@dataclass(frozen=True)
class Moment:
    """A row and its time."""

    row: int  # number in its file, counted from 0
    table: str | None  # the file, if there are several
    time: str | float | None  # None without a column of times

    def __str__(self) -> str:
        row = f"row {self.row}" if self.table is None else f"row {self.row} of {self.table}"
        if self.time is None:
            return row
        return f"{self.time if isinstance(self.time, str) else format(self.time, '.10g')}"


@dataclass(frozen=True)
class OnsetReport:
    """Since when rows are unlike those of the fit.

    The first such row, the rows between which it lies with the confidence given, and the first row that was like the
    fit again, if there is one.
    """

    first: Moment
    low: Moment
    high: Moment
    until: Moment | None
    from_first_row: bool  # whether all rows may be unlike: the interval begins with the first row
    confidence: float

    def __str__(self) -> str:
        first = f"{self.first}" if self.first.time is None else f"{self.first}, row {self.first.row}"
        if self.first.table is not None and self.first.time is not None:
            first += f" of {self.first.table}"
        with_confidence = f"with {self.confidence:.0%} confidence"
        if self.from_first_row and self.first == self.low:
            since = f"the first row ({with_confidence} no later than {self.high})"
        elif self.low == self.high:
            since = f"{first} ({with_confidence})"
        else:
            low = "the first row" if self.from_first_row else str(self.low)
            since = f"{first} (between {low} and {_without_same_day(self.high, self.low)} {with_confidence})"
        return since if self.until is None else f"{since}, until {self.until}"


def _without_same_day(moment: Moment, other: Moment) -> str:
    """The time of day alone, if another moment is on the same day."""
    text, same = str(moment), isinstance(moment.time, str) and isinstance(other.time, str)
    return text[11:] if same and text[:11] == str(other)[:11] and len(text) > 11 else text


@dataclass(frozen=True)
class Blocks:
    """Rows that follow each other, counted by level; times are places in the table if there is no column of them."""

    kind: Kind
    counts: NDArray[np.intp]  # of shape (n_blocks, n_bins)
    first_time: Array
    last_time: Array
    first_place: NDArray[np.int64]
    last_place: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def n_rows(self) -> NDArray[np.intp]:
        """Number of rows of each block."""
        return np.asarray(self.counts.sum(axis=1))

    @classmethod
    def none(cls, n_bins: int) -> Blocks:
        """Before any row is counted."""
        nothing, nowhere = np.empty(0), np.empty(0, dtype=np.int64)
        return cls("row", np.zeros((0, n_bins), dtype=np.intp), nothing, nothing, nowhere, nowhere)

    def joined(self, other: Blocks) -> Blocks:
        """All blocks of both, in order."""
        if len(self) and len(other) and self.kind != other.kind:
            raise ValueError(f"--time: some rows have a {self.kind} for their time, others a {other.kind}.")
        kind = other.kind if len(other) else self.kind
        arrays: list[Any] = [
            np.concatenate([getattr(self, field.name), getattr(other, field.name)])
            for field in fields(self)
            if field.name != "kind"
        ]
        joined = Blocks(kind, *arrays)
        times = joined.first_time
        if (times[1:] >= times[:-1]).all():
            return joined
        order = np.lexsort((joined.first_place, times))
        return Blocks(kind, *(array[order] for array in arrays))

    def grouped(self, cells: Array) -> Blocks:
        """Blocks of the same cell as one; cells ascend."""
        starts = _starts(cells)
        if len(starts) == len(self):
            return self
        # The row that came first is that of the first block; the row that came last may be of any.
        last = np.lexsort((self.last_place, self.last_time, cells))[np.append(starts[1:], len(self)) - 1]
        return Blocks(
            self.kind,
            np.add.reduceat(self.counts, starts, axis=0),
            self.first_time[starts],
            self.last_time[last],
            self.first_place[starts],
            self.last_place[last],
        )


def _starts(cells: Array) -> NDArray[np.intp]:
    """Where the rows of each cell begin; cells ascend."""
    return np.flatnonzero(np.append(True, cells[1:] != cells[:-1])) if len(cells) else np.empty(0, dtype=np.intp)


class Timeline:
    """Counts levels in blocks of rows that follow each other, in the order of their times or of the rows.

    The blocks are the cells of a grid of times whose width is the least power of two with at most `max_blocks` cells
    that have rows: the result depends neither on how rows come in batches nor on their order in the file, and a gap
    or a wrong date costs one block.
    """

    def __init__(self, mass: float, max_blocks: int = MAX_BLOCKS) -> None:
        self.edges = level_bins(mass)
        self.blocks = Blocks.none(len(self.edges) - 1)
        self._mass, self._max_blocks = mass, max_blocks
        self._log_width: int | None = None  # None: every time is a cell of its own

    def add(self, levels: Array, places: NDArray[np.int64], times: Times | None = None) -> None:
        """Count rows, with their times, or else in the order of their places."""
        when = places.astype(np.float64) if times is None else times.values
        bins = np.searchsorted(self.edges[1:-1], levels, side="left")
        if (when[1:] < when[:-1]).any():
            order = np.lexsort((places, when))
            when, bins, places = when[order], bins[order], places[order]
        starts = _starts(self._cells(when))
        ends = np.append(starts[1:], len(when)) - 1
        n_bins = len(self.edges) - 1
        block = np.repeat(np.arange(len(starts)), ends - starts + 1)
        counts = np.bincount(block * n_bins + bins, minlength=len(starts) * n_bins).reshape(-1, n_bins)
        kind: Kind = "row" if times is None else times.kind
        self._take(Blocks(kind, counts, when[starts], when[ends], places[starts], places[ends]))

    def merge(self, other: Timeline) -> None:
        """Count what another has counted."""
        if other._log_width is not None:
            self._log_width = max(other._log_width, self._log_width or other._log_width)
        self._take(other.blocks)

    def summary(self, tables: Sequence[str], drift: DriftReport, calibration_rows: float) -> TimelineSummary:
        """What was counted; if there is drift, with its onset."""
        onset, times = self._onset(tables, drift, calibration_rows) if drift.drifted else (None, None)
        outside = self.blocks.counts[:, np.searchsorted(self.edges, self._mass) :].sum(axis=1)
        blocks = self.blocks
        return TimelineSummary(blocks.kind, blocks.first_time, blocks.last_time, blocks.n_rows, outside, onset, times)

    def _take(self, new: Blocks) -> None:
        joined = self.blocks.joined(new)
        self.blocks = joined.grouped(self._cells(joined.first_time))
        if len(self.blocks) > self._max_blocks:
            self._widen()

    def _cells(self, times: Array) -> Array:
        if self._log_width is None:
            return times
        with np.errstate(over="ignore"):  # times so far away that they share a cell
            return np.asarray(np.floor(np.ldexp(times, -self._log_width)))

    def _widen(self) -> None:
        """Choose the least width with few cells; those of a smaller power of two lie within those of a larger."""
        times = self.blocks.first_time
        least = int(np.floor(np.log2(np.diff(times).min()))) - 1
        low = least if self._log_width is None else self._log_width
        high = int(np.ceil(np.log2(0.5 * times[-1] - 0.5 * times[0]))) + 2  # halves: the difference may overflow
        while high - low > 1:
            self._log_width = (low + high) // 2
            enough = len(np.unique(self._cells(times))) <= self._max_blocks
            low, high = (low, self._log_width) if enough else (self._log_width, high)
        self._log_width = high
        self.blocks = self.blocks.grouped(self._cells(times))

    def _onset(
        self, tables: Sequence[str], drift: DriftReport, calibration_rows: float
    ) -> tuple[OnsetReport, tuple[float, float, float, float]]:
        dependence = drift.n_rows / drift.effective_rows
        found = find_onset(self.blocks.counts, np.diff(self.edges), calibration_rows, dependence)
        # A change within a block is found at its beginning or at that of the next.
        low = max(0, found.low - int(self.blocks.n_rows.max() > 1))
        first, last = self.blocks.first_time, self.blocks.last_time
        until = float(first[found.end]) if found.end < len(self.blocks) else np.inf
        report = OnsetReport(
            first=self._moment(found.first, tables),
            low=self._moment(low, tables),
            high=self._moment(found.high, tables, last=True),
            until=self._moment(found.end, tables) if found.end < len(self.blocks) else None,
            from_first_row=low == 0,
            confidence=found.confidence,
        )
        return report, (float(first[found.first]), float(first[low]), float(last[found.high]), until)

    def _moment(self, block: int, tables: Sequence[str], *, last: bool = False) -> Moment:
        blocks = self.blocks
        place = int((blocks.last_place if last else blocks.first_place)[block])
        time = float((blocks.last_time if last else blocks.first_time)[block])
        file, row = place >> _ROW_BITS, place & ((1 << _ROW_BITS) - 1)
        return Moment(row, tables[file] if len(tables) > 1 else None, shown_time(time, blocks.kind))


@dataclass(frozen=True)
class TimelineSummary:
    """Blocks of rows in the order of time: how many rows each has, and how many of them are outside."""

    kind: Kind
    first_time: Array
    last_time: Array
    n_rows: NDArray[np.intp]
    n_outside: NDArray[np.intp]
    onset: OnsetReport | None  # None without drift
    onset_times: tuple[float, float, float, float] | None  # first, low, high and until, which is infinite if it lasts


def shown_time(time: float, kind: Kind) -> str | float | None:
    """A time as people write it; None for the place of a row."""
    if kind == "row":
        return None
    if kind == "number":
        return time
    text = str(np.datetime_as_string(np.datetime64(round(time), "us"), unit="ms")).replace("T", " ")
    for zeros in (".000", ":00"):
        text = text.removesuffix(zeros)
    return text if kind == "date" else f"{text} UTC"
