"""Numbers of the chart over time: rows and their levels, the running share outside, and what is expected of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import betabinom

from mvset.estimators.model_parts import ModelParts
from mvset.summaries.survey import SurveyResult
from mvset.summaries.timeline import Kind, OnsetReport, TimelineSummary, shown_time

Array = NDArray[np.float64]

MAX_COLOURED = 6  # columns with a colour of their own
_MAX_POINTS = 1500  # rows outside that are drawn
_FEW = 0.005  # share of the rows at either end
_FAR = 4.0  # times the range of all others
_N_WINDOWS = 30  # in which the table is divided, if windows hold enough rows
_MIN_EXPECTED = 2.0  # rows outside, expected in a window
_N_SHARES = 300  # points of the running share


@dataclass(frozen=True)
class OverTime:
    """What is drawn over time. Times are numbers, dates in microseconds since 1970, or positions of rows."""

    kind: Kind
    inside: Array  # times and levels of a sample of the rows inside, of shape (n, 2)
    outside: Array  # times and levels of rows outside, of shape (n, 2)
    top: NDArray[np.intp]  # index of the column that contributes most to each of these
    row_numbers: tuple[NDArray[np.int64], NDArray[np.int64]]  # of rows inside, of rows outside
    coloured: list[str]  # columns with a colour of their own, most alarms first
    axis: tuple[float, float] | None  # of times, if few rows are far from all others: a wrong date, say
    window: int  # rows of the running share
    share_times: Array
    shares: Array
    band: tuple[float, float]  # of the running share, for rows like those of the fit
    onset: OnsetReport | None
    onset_times: list[float] | None  # first, low, high and until, which is infinite if it lasts

    @classmethod
    def of(cls, model: ModelParts, survey: SurveyResult, confidence: float) -> OverTime:
        """The chart of a table."""
        timeline, sample, flagged = survey.timeline, survey.sample, survey.flagged
        position = _Positions(timeline)
        inside = sample.levels <= survey.mass
        drawn = slice(0, _MAX_POINTS)
        window, share_times, shares = _running_share(timeline, position, 1.0 - survey.mass)
        times = None if timeline.onset_times is None else position(np.array(timeline.onset_times)).tolist()
        return cls(
            kind=timeline.kind,
            inside=np.column_stack([position(sample.times[inside]), sample.levels[inside]]),
            outside=np.column_stack([position(flagged.times[drawn]), flagged.levels[drawn]]),
            top=flagged.top[drawn],
            row_numbers=(sample.numbers[inside], flagged.numbers[drawn]),
            coloured=[column.name for column in survey.columns if column.share > 0][:MAX_COLOURED],
            axis=_axis(timeline),
            window=window,
            share_times=share_times,
            shares=shares,
            band=_expected_band(model, survey, window, confidence),
            onset=timeline.onset,
            onset_times=times,
        )

    def without_rows(self) -> OverTime:
        """The running share and the onset only."""
        numbers = self.row_numbers[0][:0], self.row_numbers[1][:0]
        return replace(self, inside=self.inside[:0], outside=self.outside[:0], top=self.top[:0], row_numbers=numbers)

    def shown(self, times: Array) -> list[str | float]:
        """Times as plotly takes them: dates as text."""
        return [time if (text := shown_time(time, self.kind)) is None else _iso(text) for time in times.tolist()]


def _iso(time: str | float) -> str | float:
    return time.removesuffix(" UTC") if isinstance(time, str) else time


class _Positions:
    """Times of rows; without a column of times, positions of rows, which continue from file to file."""

    def __init__(self, timeline: TimelineSummary) -> None:
        self._counted = timeline.kind == "row" and len(timeline.n_rows) > 0 and timeline.last_time[-1] >= 2.0**40
        self._times = timeline.first_time
        self._before = np.append(0.0, np.cumsum(timeline.n_rows)[:-1])

    def __call__(self, times: Array | float) -> Array:
        if not self._counted:
            return np.asarray(times, dtype=np.float64)
        block = np.searchsorted(self._times, times, side="right") - 1
        return np.asarray(self._before[block] + np.asarray(times) - self._times[block])


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


def _running_share(timeline: TimelineSummary, position: _Positions, expected: float) -> tuple[int, Array, Array]:
    """Share outside among so many rows up to each of several moments."""
    rows, outside = (np.append(0.0, np.cumsum(each)) for each in (timeline.n_rows, timeline.n_outside))
    n = int(rows[-1])
    window = min(n, max(round(_MIN_EXPECTED / expected), n // _N_WINDOWS))
    ends = np.unique(np.linspace(window, n, min(_N_SHARES, n - window + 1)).round())
    shares = (np.interp(ends, rows, outside) - np.interp(ends - window, rows, outside)) / window
    block = np.searchsorted(rows[1:], ends)
    return window, position(timeline.last_time[block]), np.asarray(shares)


def _expected_band(model: ModelParts, survey: SurveyResult, window: int, confidence: float) -> tuple[float, float]:
    """Bounds for the share outside in one window, with the sampling error of calibration rows."""
    drift, m = survey.drift, model.sets.mass_interval(survey.mass).effective_rows
    rows = max(1, round(window * drift.effective_rows / drift.n_rows))
    share = min(max(drift.expected_share, 0.5 / m), 1.0 - 0.5 / m)
    counts = betabinom(rows, m * share, m * (1.0 - share))
    return float(counts.ppf(0.5 - 0.5 * confidence)) / rows, float(counts.ppf(0.5 + 0.5 * confidence)) / rows
