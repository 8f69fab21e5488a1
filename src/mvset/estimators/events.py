"""What happened: episodes with their columns, drift, rows beyond everything seen in the fit; and a verdict in words."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from mvset.calibration.calibration import Calibration
from mvset.inference.results import DriftResult, outside_in_words
from mvset.inference.timeline import Moment, OnsetReport, Run, Timeline, Times
from mvset.values import Array, Indices
from mvset.wording import counted

MAX_EXPLAINED = 200  # rows of an event
_NAMED = 3  # columns of an event
_LEAST_PART = 0.5  # of the part of the first column, to be named beside it
_FAR = 2.0  # times as far below the median score as the lowest score of the fit
_SHOWN = 5  # events in words
_NEVER = 1e-6


@dataclass(frozen=True)
class EventColumn:
    """A column that explains an event, and what is normal around its rows.

    Attributes
    ----------
    name : str
        The column.
    direction : str
        "above" or "below"; empty for a category.
    value : float, str or None
        The median in the event, or the most frequent category.
    normal : float, str or None
        The median of the nearest normal values; None if they are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from mvset import MinimumVolumeSet
    >>> rng = np.random.default_rng(0)
    >>> model = MinimumVolumeSet(sigma=1.0, random_state=0).fit(rng.normal(size=(500, 2)))
    >>> X = np.vstack([rng.normal(size=(100, 2)), rng.normal(size=(30, 2)) + [5.0, 0.0]])
    >>> findings = model.events(X)
    >>> column = findings.events[0].columns[0]
    >>> column.name, column.direction
    ('x0', 'above')
    """

    name: str
    direction: str
    value: Any
    normal: Any

    def __str__(self) -> str:
        value, normal = (f"{each:.4g}" if isinstance(each, float) else str(each) for each in (self.value, self.normal))
        if self.value is None:
            return f"{self.name} {self.direction} normal".replace("  ", " ")
        return f"{self.name} {value}" + ("" if self.normal is None else f", normal would be {normal}")


@dataclass(frozen=True)
class Event:
    """An episode of unusual rows that chance does not explain.

    Attributes
    ----------
    start, end : Moment
        First and last row, and their times.
    peak : Moment
        The row with the lowest score.
    n_rows, n_outside : int
        Rows from the first to the last, and how many of them are outside.
    by_chance : float
        Upper bound for the number of such episodes expected by chance, in as many normal rows.
    columns : tuple of EventColumn
        The columns that explain the rows outside, the most important first.
    times : tuple of float
        Times of the first and the last row as numbers. Dates are microseconds since 1970.

    Examples
    --------
    >>> import numpy as np
    >>> from mvset import MinimumVolumeSet
    >>> rng = np.random.default_rng(0)
    >>> model = MinimumVolumeSet(sigma=1.0, random_state=0).fit(rng.normal(size=(500, 2)))
    >>> X = np.vstack([rng.normal(size=(100, 2)), rng.normal(size=(30, 2)) + [5.0, 0.0]])
    >>> findings = model.events(X)
    >>> event = findings.events[0]
    >>> event.start.row, event.end.row
    (100, 129)
    """

    start: Moment
    end: Moment
    peak: Moment
    n_rows: int
    n_outside: int
    by_chance: float
    columns: tuple[EventColumn, ...]
    times: tuple[float, float]  # of the first and the last row, as numbers

    def __str__(self) -> str:
        why = f" ({'; '.join(map(str, self.columns))})" if self.columns else ""
        if self.n_rows == 1:
            where = self.start.place if self.start.time is None else f"{self.start.place} ({self.start})"
            return f"{where[0].upper()}{where[1:]} lies outside{why}"
        rows = "" if self.start.time is None else f" ({self.start.place} to {self.end.place})"
        outside = f"{self.n_outside} of {counted(self.n_rows, 'row')} lie outside"
        return f"From {self.start} to {self.end}{rows}, {outside}{why}"


@dataclass(frozen=True)
class Findings:
    """What happened in a batch of rows, and how sure that is.

    Attributes
    ----------
    status : str
        "unusual" if chance does not explain the rows; "nothing unusual found"; or "cannot tell".
    events : tuple of Event
        Episodes of unusual rows, in their order.
    drift : DriftResult
        Whether the batch as a whole departs from the rows of the fit.
    onset : OnsetReport or None
        Since when, if it does.
    n_beyond : int
        Rows far beyond everything seen in the fit: with scores twice as far below the median as the lowest score there.
    first_beyond : Moment or None
        The first of them.

    Examples
    --------
    >>> import numpy as np
    >>> from mvset import MinimumVolumeSet
    >>> rng = np.random.default_rng(0)
    >>> model = MinimumVolumeSet(sigma=1.0, random_state=0).fit(rng.normal(size=(500, 2)))
    >>> X = np.vstack([rng.normal(size=(100, 2)), rng.normal(size=(30, 2)) + [5.0, 0.0]])
    >>> findings = model.events(X)
    >>> findings.status, len(findings.events)
    ('unusual', 1)
    """

    events: tuple[Event, ...]
    drift: DriftResult
    onset: OnsetReport | None
    n_beyond: int
    first_beyond: Moment | None

    @property
    def status(self) -> str:
        """The verdict."""
        if self.events or self.drift.drifted:
            return "unusual"
        return "nothing unusual found" if self.drift.is_testable and not self.n_beyond else "cannot tell"

    @property
    def event_times(self) -> Array:
        """Times of the first and the last row of each event, as numbers."""
        return np.array([event.times for event in self.events]).reshape(-1, 2)

    def without_values(self) -> "Findings":
        """Return the same without values of rows."""
        events = [
            replace(each, columns=tuple(replace(column, value=None, normal=None) for column in each.columns))
            for each in self.events
        ]
        return replace(self, events=tuple(events))

    def to_frame(self) -> Any:
        """Return the events as a pandas DataFrame, one row for each."""
        import pandas as pd  # type: ignore[import-untyped]

        def row(event: Event) -> dict[str, Any]:
            moments = {name: getattr(event, name).index for name in ("start", "end", "peak")}
            numbers = {name: getattr(event, name) for name in ("n_rows", "n_outside", "by_chance")}
            return {**moments, **numbers, "columns": ", ".join(map(str, event.columns))}

        return pd.DataFrame([row(event) for event in self.events])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers and text, for JSON."""
        return {"status": self.status, "verdict": str(self), **asdict(self)}

    @property
    def headline(self) -> str:
        """The verdict, without the events one by one."""
        return " ".join(filter(None, [self._verdict, self._chance, *self._others]))

    def __str__(self) -> str:
        return " ".join(filter(None, [self._verdict, *self._list, self._chance, *self._others]))

    __repr__ = __str__

    @property
    def _verdict(self) -> str:
        if self.events:
            return f"Unusual. There {'is one event' if len(self.events) == 1 else f'are {len(self.events)} events'}."
        if self.drift.drifted:
            return "Unusual."
        if self.status == "nothing unusual found":
            return "Nothing unusual found."
        return f"Cannot tell{self.drift.why_not}."

    @property
    def _list(self) -> list[str]:
        strongest = sorted(self.events, key=lambda event: event.by_chance)[:_SHOWN]
        shown = [f"{event}." for event in self.events if event in strongest]
        return [*shown, f"There are {len(self.events) - _SHOWN} more."] if len(self.events) > _SHOWN else shown

    @property
    def _chance(self) -> str:
        if not self.events:
            return ""
        chance = max(event.by_chance for event in self.events)
        tables = f"{1.0 / chance:,.0f}" if chance > _NEVER else "a million"
        return f"Among normal rows such an event occurs less than once in {tables} tables."

    @property
    def _others(self) -> list[str]:
        """What there is to say beside events: drift, rows far out, the share outside."""
        drift, sentences = self.drift, []
        if drift.drifted:
            since = f" since {self.onset}" if self.onset is not None else ""
            unknown = self.onset is not None and self.onset.is_unknown
            sentences.append(f"{drift.verdict}{', whose beginning cannot be told' if unknown else since}.")
        elif self.n_beyond and not self.events:
            sentences.append(self._beyond)
        n_rows = drift.n_rows - sum(event.n_rows for event in self.events)
        if self.events and not drift.drifted and n_rows:
            n_outside = drift.n_outside - sum(event.n_outside for event in self.events)
            shares = f"({n_outside / n_rows:.2%}, normally {drift.expected_share:.2%})"
            return [*sentences, f"Of the other {counted(n_rows, 'row')}, {outside_in_words(n_outside)} {shares}."]
        return [*sentences, f"{drift.share_in_words}.{drift.columns_in_words if drift.drifted else ''}"]

    @property
    def _beyond(self) -> str:
        which = f"{self.first_beyond} lies" if self.n_beyond == 1 else f"{self.n_beyond} rows lie"
        first = "" if self.n_beyond == 1 else f", the first of them {self.first_beyond}"
        few = f"{self.drift.calibration_rows} calibration rows are too few to test single rows, so look at"
        which = f"{which[0].upper()}{which[1:]}"
        return f"{which} far beyond everything seen in the fit{first}. {few} {'it' if self.n_beyond == 1 else 'them'}."


@dataclass(frozen=True)
class ExplainedRows:
    """Rows outside, with what is needed to explain events by them."""

    times: Array  # or places
    places: Indices
    scores: Array
    contributions: Callable[[Indices], Array]
    values: Callable[[Indices], Array]
    normal: Callable[[Indices], Array | None]
    names: Sequence[str]
    categories: dict[str, list[str]]

    def event(self, run: Run, timeline: Timeline, tables: Sequence[str] = ()) -> Event:
        """An episode, with its columns."""
        within = np.flatnonzero((self.times >= run.start[0]) & (self.times <= run.end[0]))
        start, end = timeline.moment(*run.start, tables), timeline.moment(*run.end, tables)
        peak, columns = start, tuple[EventColumn, ...]()
        if len(within):
            lowest = within[np.argsort(self.scores[within], kind="stable")]
            peak = timeline.moment(float(self.times[lowest[0]]), int(self.places[lowest[0]]), tables)
            columns = self._columns(lowest[:: -(-len(lowest) // MAX_EXPLAINED)])
        times = run.start[0], run.end[0]
        return Event(start, end, peak, run.n_rows, run.n_outside, run.by_chance, columns, times)

    def _columns(self, rows: Indices) -> tuple[EventColumn, ...]:
        contributions = self.contributions(rows)
        sizes = np.abs(contributions)
        # Each row counts as much as any other, however far out it is.
        parts = np.mean(sizes / np.maximum(sizes.max(axis=1, keepdims=True), 1e-300), axis=0)
        chosen = [j for j in np.argsort(-parts, kind="stable")[:_NAMED] if parts[j] >= _LEAST_PART * parts.max()]
        values, normal = self.values(rows), self.normal(rows)
        return tuple(
            EventColumn(
                self.names[j],
                self._direction(j, contributions[:, j]),
                self._typical(j, values),
                self._typical(j, normal),
            )
            for j in chosen
        )

    def _direction(self, j: int, contributions: Array) -> str:
        if self.names[j] in self.categories:
            return ""
        return "above" if np.median(contributions) > 0 else "below"

    def _typical(self, j: int, values: Array | None) -> Any:
        """The median of a column, or its most frequent category."""
        if values is None or j >= values.shape[1]:
            return None
        known = values[np.isfinite(values[:, j]), j]
        if not len(known):
            return None
        if self.names[j] not in self.categories:
            return float(np.median(known))
        codes, counts = np.unique(known, return_counts=True)
        code = int(codes[counts.argmax()])
        return self.categories[self.names[j]][code] if code >= 0 else "a value not seen before"


@dataclass
class Beyond:
    """Counts rows whose score is far below all calibration scores."""

    limit: float
    n_rows: int = 0
    first: tuple[float, int] | None = None  # time and place

    @classmethod
    def of(cls, calibration: Calibration) -> "Beyond":
        """Rows are far below if they are twice as far from the median as the lowest calibration score."""
        median, lowest = float(calibration.quantiles(np.array([0.5]))[0]), float(calibration.scores[0])
        return cls(median - _FAR * (median - lowest))

    def add(self, scores: Array, places: Indices, times: Times | None) -> None:
        """Count rows."""
        found = np.flatnonzero(scores < self.limit)
        if len(found):
            when = (places if times is None else times.values)[found]
            i = int(np.argmin(when))
            self.merge(Beyond(self.limit, len(found), (float(when[i]), int(places[found[i]]))))

    def merge(self, other: "Beyond") -> None:
        """Count what another has counted."""
        self.n_rows += other.n_rows
        self.first = min((each for each in (self.first, other.first) if each is not None), default=None)


def findings(
    timeline: Timeline,
    drift: DriftResult,
    onset: OnsetReport | None,
    beyond: Beyond,
    outside: ExplainedRows,
    rows_per_independent_row: float,
    tables: Sequence[str] = (),
) -> Findings:
    """Put together what happened."""
    runs = timeline.episodes(rows_per_independent_row, drift.false_alarm_rate)
    events = tuple(outside.event(run, timeline, tables) for run in runs)
    first = None if beyond.first is None else timeline.moment(*beyond.first, tables)
    return Findings(events, drift, onset, beyond.n_rows, first)
