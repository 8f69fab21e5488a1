"""One pass over a table, batch by batch: scores every row and summarises all rows in bounded memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mvset.app.summaries.flagged import (
    ColumnAlarms,
    FlaggedRows,
    FlaggedSample,
    Sample,
    explained,
    normal_ranges,
    outside_rows,
)
from mvset.estimators.events import Beyond, Findings, findings
from mvset.estimators.fitted_model import Answers, FittedModel
from mvset.inference.drift import DriftCounts
from mvset.inference.results import DriftResult
from mvset.inference.timeline import Timeline, TimelineSummary, Times, row_places
from mvset.rows.sample import RowSample
from mvset.values import Array, Indices

FALSE_ALARM_RATE = 0.01
LEVEL_EDGES = np.linspace(0.0, 1.0, 21)

_DIGITS = 6  # after the decimal point, at least


@dataclass(frozen=True)
class ScoredRows(Answers):
    """Answers about rows. Explanations are computed on demand, since they cost twice as much as scores."""

    evidence: Array  # that each row is unusual
    estimator: Any
    prepared: Array  # the rows after the preprocessing steps of the model

    def contributions(self, selected: Any = slice(None)) -> Array:
        """Contribution of each feature to the anomaly of the selected rows; see :meth:`MinimumVolumeSet.explain`."""
        return np.asarray(self.estimator.explain(self.prepared[selected]))

    def top_features(self, selected: Any = slice(None)) -> Indices:
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
class TableSummary:
    """Summary of a table: drift and its onset, counts by mass and by level, rows outside, columns, a sample."""

    mass: float  # of the set that decides which rows are inside
    findings: Findings
    masses: Array
    n_outside: Indices  # number of rows outside, for each of the masses
    level_counts: Indices  # number of rows with levels between LEVEL_EDGES
    unusual: list[UnusualRow]  # by ascending score
    sample: Sample
    timeline: TimelineSummary
    flagged: FlaggedRows  # all rows outside, or a sample of them
    columns: list[ColumnAlarms]  # by the share of the rows outside that they explain
    ranges: Array  # the lowest and the highest value of each column within the set; see normal_ranges

    @property
    def drift(self) -> DriftResult:
        """The verdict on the table as a whole."""
        return self.findings.drift


@dataclass(frozen=True)
class ScanPart:
    """What a worker counted in a part of a table; small, whatever the number of rows."""

    drift: DriftCounts
    outside_counts: Indices
    level_counts: Indices
    unusual: list[UnusualRow]
    timeline: Timeline
    flagged: FlaggedSample
    beyond: Beyond


class TableScan:
    """Scores and summarises batches of rows; memory does not grow with their number."""

    def __init__(
        self,
        model: FittedModel,
        mass: float,
        *,
        masses: Sequence[float] = (),
        n_unusual: int = 10,
        n_sampled: int = 0,
        grouped: bool = False,
        tables: Sequence[str] = (),
        keep_scores: bool = False,
    ) -> None:
        self.model, self.mass = model, mass
        self.scores = [np.empty(0)] if keep_scores else None  # of all rows, in their order
        self._tables, self._grouped = list(tables), grouped
        self._masses = np.array(sorted(masses))
        self._drift = model.sets.drift_counter(mass, FALSE_ALARM_RATE, grouped=grouped)
        self._outside_counts = np.zeros(len(self._masses) + 1, dtype=np.intp)
        self._level_counts = np.zeros(len(LEVEL_EDGES) - 1, dtype=np.intp)
        self._n_unusual = n_unusual
        self._unusual: list[UnusualRow] = []
        self._sample = RowSample(n_sampled)
        self._sample.add(np.empty((0, len(model.feature_names) + 5)))
        self._timeline = Timeline(mass)
        self._flagged = FlaggedSample(len(model.feature_names) + 5)
        self._beyond = Beyond.of(model.sets.calibration)

    @property
    def n_rows(self) -> int:
        """Number of rows scored and added."""
        return int(self._level_counts.sum())

    def score(self, X: Any, strata: Any = None, scores: Array | None = None) -> ScoredRows:
        """Score rows; an array must have the columns of the training rows, in the same order.

        `strata` has their groups, of a `grouped` survey; `scores` their scores, if a device has computed them.
        """
        prepared = np.asarray(self.model.prepared(X), dtype=np.float64)
        if scores is None:
            scores = self.model.estimator.score_samples(prepared)
        answers = self.model.answers(scores, strata, self.mass)
        evidence = self.model.sets.evidence(scores, strata)
        return ScoredRows(**vars(answers), evidence=evidence, estimator=self.model.estimator, prepared=prepared)

    def add(
        self,
        rows: Array,
        scored: ScoredRows,
        numbers: NDArray[np.int64],
        kept: Callable[[Indices], list[Any]],
        *,
        table: str | None = None,
        times: Times | None = None,
        unseen: Mapping[int, dict[str, str]] | None = None,
    ) -> None:
        """Add a batch of rows; `kept` returns the columns to keep of the rows with given indices.

        `table` is the file that they are from, one of `tables`; `times` says when they were recorded, in any order.
        `unseen` has values of categories that were not seen in the fit, by row of the batch and column.
        """
        self._drift.update(1.0 - scored.level if self._grouped else scored.score, scored.prepared)
        if self.scores is not None:
            self.scores.append(scored.score)
        n_sets = np.searchsorted(self._masses, scored.level, side="left")  # number of sets that do not hold the row
        self._outside_counts += np.bincount(n_sets, minlength=len(self._outside_counts))
        self._level_counts += np.histogram(scored.level, LEVEL_EDGES)[0]
        file = self._tables.index(table) if table in self._tables else 0
        places = row_places(numbers, file)
        when = places.astype(np.float64) if times is None else times.values
        known = np.column_stack([rows, np.full(len(rows), file), numbers, scored.score, scored.level, when])
        self._sample.add(known)
        self._timeline.add(scored.level, scored.evidence, places, times)
        self._beyond.add(scored.score, places, times)
        self._flagged.add_outside(known[~scored.inside], places[~scored.inside])
        self._keep_unusual(rows, scored, numbers, kept, unseen or {})

    @property
    def part(self) -> ScanPart:
        """All that was counted, without the sample."""
        drift, timeline, beyond = self._drift.counts, self._timeline, self._beyond
        return ScanPart(drift, self._outside_counts, self._level_counts, self._unusual, timeline, self._flagged, beyond)

    def merge(self, part: ScanPart) -> None:
        """Add what another survey counted in the rows that follow."""
        self._drift.add_counts(part.drift)
        self._outside_counts = self._outside_counts + part.outside_counts
        self._level_counts = self._level_counts + part.level_counts
        self._keep_most_unusual(part.unusual)
        self._timeline.merge(part.timeline)
        self._flagged.merge(part.flagged)
        self._beyond.merge(part.beyond)

    def result(self) -> TableSummary:
        """The summary of all rows added so far."""
        n_outside = np.cumsum(self._outside_counts[::-1])[::-1][1:]
        drift = self._drift.report(self.model.prepared_names)
        calibration_rows = self.model.sets.mass_interval(self.mass).effective_rows
        ranges = normal_ranges(self.model, self.mass)
        known = [[v if isinstance(v, float) else np.nan for v in row.values.values()] for row in self._unusual]
        some_rows = np.array(known).reshape(-1, len(self.model.feature_names))
        flagged, columns = explained(self.model, self._flagged, ranges, some_rows)
        timeline = self._timeline.summary(self._tables, drift, calibration_rows)
        outside = outside_rows(self.model, flagged)
        similar = self.model.sets.calibration.rows_per_independent_row
        return TableSummary(
            mass=self.mass,
            findings=findings(self._timeline, drift, timeline.onset, self._beyond, outside, similar, self._tables),
            masses=self._masses,
            n_outside=n_outside,
            level_counts=self._level_counts,
            unusual=self._unusual,
            sample=Sample.of(self._sample.rows()),
            timeline=timeline,
            flagged=flagged,
            columns=columns,
            ranges=ranges,
        )

    def _keep_unusual(
        self,
        rows: Array,
        scored: ScoredRows,
        numbers: NDArray[np.int64],
        kept: Callable[[Indices], list[Any]],
        unseen: Mapping[int, dict[str, str]],
    ) -> None:
        """Merge the rows with the lowest scores of a batch into the most unusual ones so far."""
        n = min(self._n_unusual, len(rows))
        if n == 0:
            return
        highest = np.partition(scored.score, n - 1)[n - 1]
        if len(self._unusual) == self._n_unusual:
            highest = min(highest, self._unusual[-1].score)
        candidates = np.flatnonzero(scored.score <= highest)
        if not len(candidates):
            return
        # Rows with values that were not seen have one score: they are ranked by their distance.
        contributions = scored.contributions(candidates)
        furthest = np.lexsort((-_distances(contributions), scored.score[candidates]))[:n]
        selected, contributions = candidates[furthest], contributions[furthest]
        normal = self.model.restored(self.model.estimator._normal_near(scored.prepared[selected]), rows[selected])
        self._keep_most_unusual(
            [
                UnusualRow(
                    row=int(numbers[i]),
                    score=float(scored.score[i]),
                    level=float(written_levels(scored.level[i], self.model.sets.calibration.n_rows)),
                    values=self.model.values_of(rows[i]) | unseen.get(int(i), {}),
                    normal={} if normal is None else self.model.values_of(normal[k]),
                    contributions=dict(zip(self.model.prepared_names, contributions[k].tolist(), strict=True)),
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


def written_levels(levels: ArrayLike, n_calibration_rows: int) -> Array:
    """Levels rounded up to a few digits, far more than calibration rows can resolve.

    A level is the mass of a rank plus 10⁻¹²: 0.950000000001 is beyond the set of mass 0.95. Rounded up it is 0.950001,
    so that ``level <= mass`` still says which rows lie inside, for every mass of as many digits.
    """
    n_units = 10.0 ** max(_DIGITS, int(np.ceil(np.log10(max(1, n_calibration_rows)))) + 2)
    return np.asarray(np.ceil(np.asarray(levels, dtype=np.float64) * n_units) / n_units)
