"""One pass over a table, batch by batch: scores every row and summarises all rows in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvset.estimators.model_parts import ModelParts
from mvset.inference.results import DriftReport
from mvset.row_sample import RowSample
from mvset.summaries.flagged import ColumnAlarms, FlaggedRows, FlaggedSample, NormalRanges, explained
from mvset.summaries.levels import written_levels
from mvset.summaries.timeline import Timeline, TimelineSummary, Times, row_places

Array = NDArray[np.float64]

FALSE_ALARM_RATE = 0.01
LEVEL_EDGES = np.linspace(0.0, 1.0, 21)


@dataclass(frozen=True)
class ScoredRows:
    """Scores and levels of rows. Explanations are computed on demand, since they cost twice as much as scores."""

    estimator: Any
    prepared: Array  # the rows after the preprocessing steps of the model
    scores: Array
    levels: Array
    inside: NDArray[np.bool_]
    drift_scores: Array  # what the test of drift counts: scores, or one minus levels of rows in groups

    def contributions(self, selected: Any = slice(None)) -> Array:
        """Contribution of each feature to the anomaly of the selected rows; see :meth:`MinimumVolumeSet.explain`."""
        return np.asarray(self.estimator.explain(self.prepared[selected]))

    def top_features(self, selected: Any = slice(None)) -> NDArray[np.intp]:
        """Index of the feature with the largest contribution, for each of the selected rows."""
        return np.asarray(np.abs(self.contributions(selected)).argmax(axis=1))


@dataclass(frozen=True)
class UnusualRow:
    """One of the rows with the lowest scores, with the contributions of its features."""

    row: int
    score: float
    level: float
    values: dict[str, Any]  # by column of the table: numbers, or text; None where a value is missing
    normal: dict[str, Any]  # normal values near the row; empty if the preprocessing cannot be inverted
    contributions: dict[str, float]  # by feature of the estimator, in units of the bandwidth
    kept: dict[str, Any]  # columns copied from the table

    @property
    def distance(self) -> float:
        """Distance from the normal values near the row, in units of the bandwidth."""
        return float(_distances(np.array([list(self.contributions.values())]))[0])

    @property
    def top_feature(self) -> str:
        """The feature with the largest contribution."""
        return max(self.contributions, key=lambda name: abs(self.contributions[name]))

    @property
    def top_values(self) -> tuple[Any, Any]:
        """The value of the top feature and its normal value; empty strings if it is not a column of the table."""
        return self.values.get(self.top_feature, ""), self.normal.get(self.top_feature, "")


@dataclass(frozen=True)
class Sample:
    """A random sample of the rows, in their original order."""

    rows: Array
    numbers: NDArray[np.int64]  # row numbers in the table
    scores: Array
    levels: Array
    times: Array  # or places in the table

    def head(self, n: int) -> Sample:
        """The first rows."""
        return Sample(self.rows[:n], self.numbers[:n], self.scores[:n], self.levels[:n], self.times[:n])


@dataclass(frozen=True)
class SurveyResult:
    """Summary of a table: drift and its onset, counts by mass and by level, rows outside, columns, a sample."""

    mass: float  # of the set that decides which rows are inside
    drift: DriftReport
    masses: Array
    n_outside: NDArray[np.intp]  # number of rows outside, for each of the masses
    level_counts: NDArray[np.intp]  # number of rows with levels between LEVEL_EDGES
    unusual: list[UnusualRow]  # by ascending score
    sample: Sample
    timeline: TimelineSummary
    flagged: FlaggedRows  # all rows outside, or a sample of them
    columns: list[ColumnAlarms]  # by the share of the rows outside that they explain
    ranges: NormalRanges


@dataclass(frozen=True)
class PartOfSurvey:
    """What a worker counted in a part of a table; small, whatever the number of rows."""

    drift: tuple[NDArray[np.intp], int]
    outside_counts: NDArray[np.intp]
    level_counts: NDArray[np.intp]
    unusual: list[UnusualRow]
    timeline: Timeline
    flagged: FlaggedSample


class Survey:
    """Scores and summarises batches of rows; memory does not grow with their number."""

    def __init__(
        self,
        model: ModelParts,
        mass: float,
        *,
        masses: Sequence[float] = (),
        n_unusual: int = 10,
        n_sampled: int = 0,
        grouped: bool = False,
        tables: Sequence[str] = (),
    ) -> None:
        self.model = model
        self.mass = mass
        self._tables = list(tables)
        self._files = {name: i for i, name in enumerate(self._tables)}
        self._masses = np.array(sorted(masses))
        self._drift = model.sets.drift_counter(mass, FALSE_ALARM_RATE, grouped=grouped)
        self._outside_counts = np.zeros(len(self._masses) + 1, dtype=np.intp)
        self._level_counts = np.zeros(len(LEVEL_EDGES) - 1, dtype=np.intp)
        self._n_unusual = n_unusual
        self._unusual: list[UnusualRow] = []
        self._sample = RowSample(n_sampled)
        self._sample.add(np.empty((0, len(model.feature_names) + 4)))
        self._timeline = Timeline(mass)
        self._flagged = FlaggedSample(len(model.feature_names) + 3)

    def score(self, X: Any, by: Any = None, scores: Array | None = None) -> ScoredRows:
        """Score rows; an array must have the columns of the training rows, in the same order.

        `by` has their groups, of a `grouped` survey; `scores` their scores, if a device has computed them.
        """
        sets, prepared = self.model.sets, np.asarray(self.model.prepared(X), dtype=np.float64)
        if scores is None:
            scores = self.model.estimator.score_samples(prepared)
        levels = sets.level(scores, by)
        drift_scores = scores if by is None else 1.0 - levels
        return ScoredRows(self.model.estimator, prepared, scores, levels, levels <= self.mass, drift_scores)

    def add(
        self,
        rows: Array,
        scored: ScoredRows,
        numbers: NDArray[np.int64],
        kept: Callable[[NDArray[np.intp]], list[Any]],
        *,
        table: str | None = None,
        times: Times | None = None,
        unseen: Mapping[int, dict[str, str]] | None = None,
    ) -> None:
        """Add a batch of rows; `kept` returns the columns to keep of the rows with given indices.

        `table` is the file that they are from, one of `tables`; `times` says when they were recorded, in any order.
        `unseen` has values of categories that were not seen in the fit, by row of the batch and column.
        """
        self._drift.update(scored.drift_scores)
        n_sets = np.searchsorted(self._masses, scored.levels, side="left")  # number of sets that do not hold the row
        self._outside_counts += np.bincount(n_sets, minlength=len(self._outside_counts))
        self._level_counts += np.histogram(scored.levels, LEVEL_EDGES)[0]
        places = row_places(numbers, 0 if table is None else self._files.get(table, 0))
        when = places.astype(np.float64) if times is None else times.values
        self._sample.add(np.column_stack([rows, numbers, scored.scores, scored.levels, when]))
        self._timeline.add(scored.levels, places, times)
        outside = np.flatnonzero(~scored.inside)
        flagged = np.column_stack([rows[outside], numbers[outside], scored.levels[outside], when[outside]])
        self._flagged.add(flagged, places[outside])
        self._keep_unusual(rows, scored, numbers, kept, unseen or {})

    @property
    def part(self) -> PartOfSurvey:
        """All that was counted, without the sample."""
        return PartOfSurvey(
            self._drift.counts, self._outside_counts, self._level_counts, self._unusual, self._timeline, self._flagged
        )

    def merge(self, part: PartOfSurvey) -> None:
        """Add what another survey counted in the rows that follow."""
        self._drift.add_counts(part.drift)
        self._outside_counts = self._outside_counts + part.outside_counts
        self._level_counts = self._level_counts + part.level_counts
        self._keep_most_unusual(part.unusual)
        self._timeline.merge(part.timeline)
        self._flagged.merge(part.flagged)

    def result(self) -> SurveyResult:
        """The summary of all rows added so far."""
        n_outside = np.cumsum(self._outside_counts[::-1])[::-1][1:]
        sample, drift = self._sample.rows(), self._drift.report()
        calibration_rows = self.model.sets.mass_interval(self.mass).effective_rows
        ranges = NormalRanges.of(self.model, self.mass)
        known = [[v if isinstance(v, float) else np.nan for v in row.values.values()] for row in self._unusual]
        some_rows = np.array(known).reshape(-1, len(self.model.feature_names))
        flagged, columns = explained(self.model, self._flagged, ranges, some_rows)
        return SurveyResult(
            mass=self.mass,
            drift=drift,
            masses=self._masses,
            n_outside=n_outside,
            level_counts=self._level_counts,
            unusual=self._unusual,
            sample=Sample(sample[:, :-4], sample[:, -4].astype(np.int64), sample[:, -3], sample[:, -2], sample[:, -1]),
            timeline=self._timeline.summary(self._tables, drift, calibration_rows),
            flagged=flagged,
            columns=columns,
            ranges=ranges,
        )

    def _keep_unusual(
        self,
        rows: Array,
        scored: ScoredRows,
        numbers: NDArray[np.int64],
        kept: Callable[[NDArray[np.intp]], list[Any]],
        unseen: Mapping[int, dict[str, str]],
    ) -> None:
        """Merge the rows with the lowest scores of a batch into the most unusual ones so far."""
        n = min(self._n_unusual, len(rows))
        if n == 0:
            return
        highest = np.partition(scored.scores, n - 1)[n - 1]
        if len(self._unusual) == self._n_unusual:
            highest = min(highest, self._unusual[-1].score)
        candidates = np.flatnonzero(scored.scores <= highest)
        if not len(candidates):
            return
        # Scores far from all training rows underflow to zero: rank those by their distance.
        contributions = scored.contributions(candidates)
        furthest = np.lexsort((-_distances(contributions), scored.scores[candidates]))[:n]
        selected, contributions = candidates[furthest], contributions[furthest]
        prepared_names = self.model.prepared_names
        near = self.model.estimator._normal_near(scored.prepared[selected])
        normal = self.model.restored(near, rows[selected])
        self._keep_most_unusual(
            [
                UnusualRow(
                    row=int(numbers[i]),
                    score=float(scored.scores[i]),
                    level=float(written_levels(scored.levels[i], self.model.sets.calibration.n_rows)),
                    values=self.model.values_of(rows[i]) | unseen.get(int(i), {}),
                    normal={} if normal is None else self.model.values_of(normal[k]),
                    contributions=dict(zip(prepared_names, contributions[k].tolist(), strict=True)),
                    kept=others,
                )
                for k, (i, others) in enumerate(zip(selected, kept(selected), strict=True))
            ]
        )

    def _keep_most_unusual(self, found: list[UnusualRow]) -> None:
        every = [*self._unusual, *found]
        self._unusual = sorted(every, key=lambda row: (row.score, -row.distance))[: self._n_unusual]


def _distances(contributions: Array) -> Array:
    with np.errstate(over="ignore"):  # near the limits of float64 an infinite distance is good enough
        return np.asarray(np.linalg.norm(contributions, axis=1))
