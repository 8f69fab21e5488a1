"""Numbers of the chart over time: rows and their levels, the running share outside, and what is expected of it."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import betabinom

from mvset.app.summaries.scan import TableSummary
from mvset.estimators.fitted_model import FittedModel
from mvset.inference.timeline import FILE_STEP, Kind, TimelineSummary, as_dates
from mvset.plotting import palette
from mvset.values import Array, Indices

_MAX_POINTS = 1500  # rows outside that are drawn
_FEW = 0.005  # share of the rows at either end
_FAR = 4.0  # times the range of all others
_N_WINDOWS = 30  # in which the table is divided, if windows hold enough rows
_MIN_EXPECTED = 2.0  # rows outside, expected in a window
_N_SHARES = 300  # points of the running share
_N_TRENDS = 3  # columns drawn over time


@dataclass(frozen=True)
class ColumnTrend:
    """A column over time: times and values of rows inside and outside, and the range of normal values."""

    name: str
    inside: Array
    outside: Array
    normal_range: tuple[float, float]


@dataclass(frozen=True)
class OverTime:
    """What is drawn over time. Times are numbers, dates in microseconds since 1970, or positions of rows."""

    kind: Kind
    inside: Array  # times, levels and numbers of a sample of the rows inside, of shape (n, 3)
    outside: Array  # times, levels and numbers of rows outside, of shape (n, 3)
    top: Indices  # index of the column that contributes most to each of these
    coloured: list[str]  # columns with a colour of their own, most alarms first
    axis: tuple[float, float] | None  # of times, if few rows are far from all others: a wrong date, say
    window: int  # rows of the running share
    share_times: Array
    shares: Array
    band: tuple[float, float]  # of the running share, for rows like the training rows
    onset_times: Array  # first, low, high, and until if it ended; empty without drift
    event_times: Array  # first and last of each event, of shape (n, 2)
    trends: list[ColumnTrend]  # of the columns that explain what happened

    @classmethod
    def of(cls, model: FittedModel, survey: TableSummary, confidence: float) -> Self:
        """The chart of a table."""
        timeline, sample, flagged = survey.timeline, survey.sample, survey.flagged
        window, share_times, shares = _running_share(timeline, 1.0 - survey.mass)
        inside, outside = (
            np.column_stack([_positions(timeline, rows.times), rows.levels, rows.numbers])
            for rows in (sample, flagged.sample)
        )
        return cls(
            kind=timeline.kind,
            inside=inside[sample.levels <= survey.mass],
            outside=outside[:_MAX_POINTS],
            top=flagged.top[:_MAX_POINTS],
            coloured=[column.name for column in survey.columns if column.share > 0][: len(palette.COLUMNS)],
            axis=_axis(timeline),
            window=window,
            share_times=share_times,
            shares=shares,
            band=_expected_band(model, survey, window, confidence),
            onset_times=_positions(timeline, np.array(timeline.onset_times)),
            event_times=_positions(timeline, survey.findings.event_times.ravel()).reshape(-1, 2),
            trends=_trends(model, survey, inside[:, 0], outside[:, 0]),
        )

    def coloured_columns(self, names: list[str]) -> list[tuple[str, str, Array, list[str]]]:
        """Names and colours of columns, rows outside to which each contributes most, and to which column these belong.

        The last are all other columns together.
        """
        tops = np.array(names, dtype=object)[self.top]
        columns = [(name, tops == name) for name in self.coloured]
        columns.append(("other columns", ~np.isin(tops, self.coloured)))
        colours = [*palette.COLUMNS[: len(self.coloured)], palette.SOFT]
        return [
            (name, colour, self.outside[own], tops[own].tolist())
            for (name, own), colour in zip(columns, colours, strict=True)
            if own.any()
        ]

    def shown(self, times: Array) -> Any:
        """Times as charts take them."""
        return as_dates(times, self.kind) if self.kind.startswith("date") else times


class LevelScale:
    """Positions of levels: minus the logarithm of one minus the level, as far as calibration rows resolve it."""

    def __init__(self, n_calibration: int) -> None:
        self._least = 0.3 / (n_calibration + 1.0)
        self.top = float(-np.log10(self._least))

    def __call__(self, levels: Array) -> Array:
        """Positions on the axis."""
        return np.asarray(-np.log10(np.maximum(1.0 - levels, self._least)))

    @property
    def ticks(self) -> dict[str, Any]:
        """Round levels, and one on top: beyond all calibration rows."""
        levels = [0.0, 0.5, *(1.0 - 10.0**-k for k in range(1, 7) if 10.0**-k > 3.0 * self._least)]
        positions, texts = self(np.array(levels)).tolist(), [f"{level:.6g}" for level in levels]
        return {"tickvals": [*positions, self.top], "ticktext": [*texts, "1"]}


def _positions(timeline: TimelineSummary, times: Array) -> Array:
    """Times of rows; without a column of times, positions of rows, which continue from file to file."""
    if timeline.kind != "row" or timeline.last_time[-1] < FILE_STEP:
        return times
    block = np.searchsorted(timeline.first_time, times, side="right") - 1
    before = np.append(0.0, np.cumsum(timeline.n_rows)[:-1])
    return np.asarray(before[block] + times - timeline.first_time[block])


def _trends(model: FittedModel, survey: TableSummary, inside: Array, outside: Array) -> list[ColumnTrend]:
    """The columns of the events, then those that changed, then those that explain most rows outside."""
    findings = survey.findings
    names = [column.name for event in findings.events for column in event.columns[:1]]
    names += [column.name for column in findings.drift.changed_columns]
    names += [column.name for column in survey.columns if column.share > 0]
    ranges = {column.name: column.normal_range for column in survey.columns}
    chosen = [name for name in dict.fromkeys(names) if ranges.get(name) is not None][:_N_TRENDS]
    sample, flagged = survey.sample, survey.flagged.sample
    within = sample.levels <= survey.mass
    trends = []
    for name in chosen:
        j = model.feature_names.index(name)
        rows = [
            np.column_stack([times, values])
            for times, values in ((inside[within], sample.rows[within, j]), (outside, flagged.rows[:, j]))
        ]
        trends.append(ColumnTrend(name, rows[0], rows[1][:_MAX_POINTS], ranges[name] or (0.0, 0.0)))
    return trends


def _axis(timeline: TimelineSummary) -> tuple[float, float] | None:
    """Range of times without the few rows that would leave the others a small part of the axis; None without such."""
    up_to = np.cumsum(timeline.n_rows) / timeline.n_rows.sum()
    low = float(timeline.first_time[np.searchsorted(up_to, _FEW)])
    high = float(timeline.last_time[np.searchsorted(up_to, 1.0 - _FEW)])
    margin = 0.05 * (high - low)
    reach = 0.5 * timeline.last_time[-1] - 0.5 * timeline.first_time[0]  # halves: the difference may overflow
    if high == low or reach <= 0.5 * _FAR * (high - low):
        return None
    return low - margin, high + margin


def _running_share(timeline: TimelineSummary, expected: float) -> tuple[int, Array, Array]:
    """Share outside among so many rows up to each of several moments."""
    rows, outside = (np.append(0.0, np.cumsum(each)) for each in (timeline.n_rows, timeline.n_outside))
    n = int(rows[-1])
    window = min(n, max(round(_MIN_EXPECTED / expected), n // _N_WINDOWS))
    ends = np.unique(np.linspace(window, n, min(_N_SHARES, n - window + 1)).round())
    shares = (np.interp(ends, rows, outside) - np.interp(ends - window, rows, outside)) / window
    block = np.searchsorted(rows[1:], ends)
    return window, _positions(timeline, timeline.last_time[block]), np.asarray(shares)


def _expected_band(model: FittedModel, survey: TableSummary, window: int, confidence: float) -> tuple[float, float]:
    """Bounds for the share outside in one window, with the sampling error of calibration rows."""
    drift, m = survey.drift, model.sets.mass_interval(survey.mass).effective_rows
    rows = max(1, round(window * drift.effective_rows / drift.n_rows))
    share = min(max(drift.expected_share, 0.5 / m), 1.0 - 0.5 / m)
    counts = betabinom(rows, m * share, m * (1.0 - share))
    return float(counts.ppf(0.5 - 0.5 * confidence)) / rows, float(counts.ppf(0.5 + 0.5 * confidence)) / rows
