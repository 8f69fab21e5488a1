"""Levels of rows in the order of time: counts in blocks, in bounded memory, and since when rows are unlike the fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from mvset.inference.events import find_episodes
from mvset.inference.onset import find_onset
from mvset.inference.results import DriftResult
from mvset.values import Array, Indices
from mvset.wording import counted

Kind = str  # "row", "number", "date", or "date" and the zone in which it is shown, such as "date +01:00"

MAX_BLOCKS = 2**16
_ONSET_BLOCKS = 4096
_EVIDENCE = 2.0**20  # units of evidence in one: sums of whole numbers do not depend on their order
_BLOCK = [
    ("first_time", np.float64),
    ("last_time", np.float64),
    ("first_place", np.int64),
    ("last_place", np.int64),
    ("evidence", np.int64),
]
FILE_STEP = 2**40  # between the places of the first rows of two files; what is left is the number in the file


@dataclass(frozen=True)
class Times:
    """When rows were recorded: as numbers, and what these are. Dates are microseconds since 1970."""

    values: Array
    kind: Kind

    @classmethod
    def of(cls, times: Any, n_rows: int) -> "Times":
        """From numbers or dates, one for each row; dates with a zone are shown in UTC."""
        zoned = getattr(getattr(times, "dtype", None), "tz", None) is not None
        values = np.asarray(times.astype("datetime64[us, UTC]").to_numpy("datetime64[us]") if zoned else times)
        if values.dtype == object:  # dates of Python, say
            values = values.astype("datetime64[us]") if isinstance(values.flat[0], date) else values.astype(np.float64)
        if values.shape != (n_rows,) or values.dtype.kind not in "biufM":
            raise ValueError(
                f"times must be {n_rows} numbers or dates, one for each row; got {values.shape} values of "
                f"type {values.dtype}."
            )
        kind = "number" if values.dtype.kind != "M" else "date UTC" if zoned else "date"
        missing = np.isnat(values) if kind != "number" else ~np.isfinite(values.astype(np.float64))
        if missing.any():
            raise ValueError(
                f"times has no value for {counted(int(missing.sum()), 'row')}, the first of them row "
                f"{int(missing.argmax())}."
            )
        numbers = values if kind == "number" else values.astype("datetime64[us]").astype(np.int64)
        return cls(numbers.astype(np.float64), kind)


def row_places(numbers: NDArray[np.int64], file: int = 0) -> NDArray[np.int64]:
    """Places of rows, ascending in the order of files and of the rows of each file."""
    return np.int64(file * FILE_STEP) + numbers


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

    @property
    def index(self) -> Any:
        """The time, or the number of the row if there are no times."""
        return self.row if self.time is None else self.time

    @property
    def place(self) -> str:
        """The row in words."""
        return f"row {self.row}" if self.table is None else f"row {self.row} of {self.table}"

    def __str__(self) -> str:
        if self.time is None:
            return self.place
        return self.time if isinstance(self.time, str) else f"{self.time:.10g}"


@dataclass(frozen=True)
class OnsetReport:
    """Since when rows are unlike the training rows.

    The first such row, the rows between which it lies with the confidence given, and the first row that was like the
    fit again, if there is one.
    """

    first: Moment
    low: Moment
    high: Moment
    until: Moment | None
    from_first_row: bool  # whether all rows may be unlike: the interval begins with the first row
    confidence: float
    is_unknown: bool = False  # whether the change may have come at any row

    def __str__(self) -> str:
        first = f"{self.first}" if self.first.time is None else f"{self.first}, {self.first.place}"
        with_confidence = f"with {self.confidence:.0%} confidence"
        if self.is_unknown:
            since = "a row that cannot be told"
        elif self.from_first_row and self.first == self.low == self.high:
            since = "the first row, or longer"
        elif self.from_first_row and self.first == self.low:
            since = f"the first row, or longer ({with_confidence} no later than {self.high})"
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


class Timeline:
    """Counts levels in blocks of rows that follow each other, in the order of their times or of the rows.

    The blocks are the cells of a grid of times whose width is the least power of two with at most `max_blocks` cells
    that have rows: the result depends neither on how rows come in batches nor on their order in the file, and a gap
    or a wrong date costs one block. A block has its first and last time, the places of these rows, counts by level, and
    the evidence of its rows.
    """

    def __init__(self, mass: float, max_blocks: int = MAX_BLOCKS) -> None:
        self.edges = level_bins(mass)
        self.kind: Kind = "row"
        self.blocks: NDArray[np.void] = np.zeros(0, [*_BLOCK, ("counts", np.intp, len(self.edges) - 1)])
        self._mass, self._max_blocks = mass, max_blocks
        self._log_width: int | None = None  # None: every time is a cell of its own

    def add(self, levels: Array, evidence: Array, places: NDArray[np.int64], times: Times | None = None) -> None:
        """Count rows with their evidence and their times, or else in the order of their places."""
        rows = np.zeros(len(levels), self.blocks.dtype)  # every row is a block
        rows["first_time"] = rows["last_time"] = places if times is None else times.values
        rows["first_place"] = rows["last_place"] = places
        rows["evidence"] = np.round(evidence * _EVIDENCE)
        rows["counts"][np.arange(len(rows)), np.searchsorted(self.edges[1:-1], levels, side="left")] = 1
        self._take(rows, "row" if times is None else times.kind)

    def merge(self, other: "Timeline") -> None:
        """Count what another has counted."""
        if other._log_width is not None:
            self._log_width = max(other._log_width, self._log_width or other._log_width)
        self._take(other.blocks, other.kind)

    def summary(self, tables: Sequence[str], drift: DriftResult, calibration_rows: float) -> "TimelineSummary":
        """What was counted, in fewer blocks; if there is drift, with its onset."""
        coarse = Timeline(self._mass, _ONSET_BLOCKS)
        coarse.merge(self)
        return coarse._summary(tables, drift, calibration_rows)

    def episodes(self, rows_per_independent_row: float, fdr: float) -> list["Run"]:
        """Episodes of unusual rows that chance does not explain."""
        blocks, counts = self.blocks, self.blocks["counts"]
        outside = counts[:, np.searchsorted(self.edges, self._mass) :].sum(axis=1)
        runs = []
        evidence, n_rows = blocks["evidence"] / _EVIDENCE, counts.sum(axis=1)
        for found in find_episodes(evidence, n_rows, rows_per_independent_row, fdr):
            first, last = blocks[found.first], blocks[found.last]
            within = slice(found.first, found.last + 1)
            runs.append(
                Run(
                    (float(first["first_time"]), int(first["first_place"])),
                    (float(last["last_time"]), int(last["last_place"])),
                    int(counts[within].sum()),
                    int(outside[within].sum()),
                    found.by_chance,
                )
            )
        return runs

    def _summary(self, tables: Sequence[str], drift: DriftResult, calibration_rows: float) -> "TimelineSummary":
        blocks, counts = self.blocks, self.blocks["counts"]
        outside = counts[:, np.searchsorted(self.edges, self._mass) :].sum(axis=1)
        onset, times = self._onset(tables, drift, calibration_rows) if drift.drifted else (None, [])
        return TimelineSummary(
            self.kind, blocks["first_time"], blocks["last_time"], counts.sum(axis=1), outside, onset, times
        )

    def _take(self, new: NDArray[np.void], kind: Kind) -> None:
        if len(new):
            self.kind = self.kind if len(self.blocks) else kind
            # Times with zones are instants; all are shown in the zone of the first.
            if self.kind != kind and not (self.kind.startswith("date ") and kind.startswith("date ")):
                raise ValueError(f"--time: some rows have a {self.kind} for their time, others a {kind}.")
        self.blocks = self._grouped(np.concatenate([self.blocks, self._grouped(new)]))
        if len(self.blocks) > self._max_blocks:
            self._widen()

    def _grouped(self, blocks: NDArray[np.void]) -> NDArray[np.void]:
        """Blocks in the order of their times; blocks of the same cell become one."""
        times = blocks["first_time"]
        if (times[1:] < times[:-1]).any():
            blocks = blocks[np.lexsort((blocks["first_place"], times))]
        cells = self._cells(blocks["first_time"])
        starts = np.flatnonzero(np.append(True, cells[1:] != cells[:-1])[: len(cells)])
        if len(starts) == len(blocks):
            return blocks
        # The first block has the row that came first; any block may have the row that came last.
        grouped = blocks[starts]
        grouped["counts"] = np.add.reduceat(blocks["counts"], starts, axis=0)
        grouped["evidence"] = np.add.reduceat(blocks["evidence"], starts)
        grouped["last_time"] = np.maximum.reduceat(blocks["last_time"], starts)
        last = blocks["last_time"] == np.repeat(grouped["last_time"], np.diff(np.append(starts, len(blocks))))
        grouped["last_place"] = np.maximum.reduceat(np.where(last, blocks["last_place"], -1), starts)
        return grouped

    def _cells(self, times: Array) -> Array:
        if self._log_width is None:
            return times
        with np.errstate(over="ignore"):  # times so far away that they share a cell
            return np.asarray(np.floor(np.ldexp(times, -self._log_width)))

    def _widen(self) -> None:
        """Choose the least width with few cells; cells of a smaller power of two lie within cells of a larger one."""
        times = self.blocks["first_time"]
        least = int(np.floor(np.log2(np.diff(times).min()))) - 1
        low = least if self._log_width is None else self._log_width
        high = int(np.ceil(np.log2(0.5 * times[-1] - 0.5 * times[0]))) + 2  # halves: the difference may overflow
        while high - low > 1:
            self._log_width = (low + high) // 2
            enough = len(np.unique(self._cells(times))) <= self._max_blocks
            low, high = (low, self._log_width) if enough else (self._log_width, high)
        self._log_width = high
        self.blocks = self._grouped(self.blocks)

    def _onset(
        self, tables: Sequence[str], drift: DriftResult, calibration_rows: float
    ) -> tuple[OnsetReport, list[float]]:
        blocks, counts = self.blocks, self.blocks["counts"]
        found = find_onset(counts, np.diff(self.edges), calibration_rows, drift.n_rows / drift.effective_rows)
        # A change within a block is found where that block or the next begins.
        low = max(0, found.low - int(counts.sum(axis=1).max() > 1))
        begins, ends = (blocks[[f"{which}_time", f"{which}_place"]].tolist() for which in ("first", "last"))
        marked: list[tuple[float, int]] = [
            begins[found.first],
            begins[low],
            ends[found.high],
            *begins[found.end : found.end + 1],
        ]
        unknown = low == 0 and found.high == len(blocks) - 1 > 0
        first, low_end, high_end, *until = (self.moment(*each, tables) for each in marked)
        report = OnsetReport(first, low_end, high_end, until[0] if until else None, low == 0, found.confidence, unknown)
        return report, [time for time, _ in marked]

    def moment(self, time: float, place: int, tables: Sequence[str] = ()) -> Moment:
        """A row and its time, for people."""
        file, row = divmod(place, FILE_STEP)
        return Moment(row, tables[file] if len(tables) > 1 else None, shown_time(time, self.kind))


@dataclass(frozen=True)
class Run:
    """An episode: times and places of its first and last row, its rows, and how often chance makes one."""

    start: tuple[float, int]
    end: tuple[float, int]
    n_rows: int
    n_outside: int
    by_chance: float


@dataclass(frozen=True)
class TimelineSummary:
    """Blocks of rows in the order of time: how many rows each has, and how many of them are outside."""

    kind: Kind
    first_time: Array
    last_time: Array
    n_rows: Indices
    n_outside: Indices
    onset: OnsetReport | None  # None without drift
    onset_times: list[float]  # first, low, high, and until if it ended; empty without drift


def shown_time(time: float, kind: Kind) -> str | float | None:
    """A time as people write it; None for the place of a row."""
    if kind == "row":
        return None
    if kind == "number":
        return time
    text = str(np.datetime_as_string(as_dates(np.array([time]), kind)[0], unit="ms")).replace("T", " ")
    for zeros in (".000", ":00"):
        text = text.removesuffix(zeros)
    return " ".join([text, *kind.split()[1:]])


def as_dates(times: Array, kind: Kind) -> NDArray[np.datetime64]:
    """Dates, in the zone in which they are shown."""
    dates: NDArray[np.datetime64] = times.round().astype("datetime64[us]")
    zone = kind.removeprefix("date").strip()
    if not zone or zone == "UTC":
        return dates
    if zone[0] in "+-":
        hours, minutes = zone[1:].split(":")
        return dates + np.timedelta64(int(zone[0] + "1") * (60 * int(hours) + int(minutes)), "m")
    shown = [datetime.fromtimestamp(time / 1e6, ZoneInfo(zone)).replace(tzinfo=None) for time in times.tolist()]
    return np.array(shown, dtype="datetime64[us]")
