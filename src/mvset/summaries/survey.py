"""One pass over a table: every row judged, and what there is to say about all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvset.estimators.pipeline import FittedModel, columns_in_order
from mvset.inference.drift import DriftReport
from mvset.summaries.row_sample import RowSample

Array = NDArray[np.float64]

FALSE_ALARM_RATE = 0.01
LEVEL_EDGES = np.linspace(0.0, 1.0, 21)


@dataclass(frozen=True)
class Judgement:
    """What a model says about rows; why it does is asked for apart, since it costs twice as much."""

    sets: Any
    prepared: Array  # the rows as the nested sets take them
    scores: Array
    levels: Array
    inside: NDArray[np.bool_]

    def contributions(self, chosen: Any = slice(None)) -> Array:
        """How much each feature contributes to some of the rows, see `explain`."""
        with columns_in_order():
            return np.asarray(self.sets.explain(self.prepared[chosen]))

    def top_features(self) -> NDArray[np.intp]:
        """Index of the feature that contributes most to each row."""
        return np.asarray(np.abs(self.contributions()).argmax(axis=1))


@dataclass(frozen=True)
class UnusualRow:
    """A row far out, with what makes it so."""

    row: int
    score: float
    level: float
    values: dict[str, float]
    normal: dict[str, float]  # values that would be normal near by, where these can be told
    contributions: dict[str, float]
    kept: dict[str, Any]

    @property
    def distance(self) -> float:
        """From what is normal near by, in units of the bandwidth."""
        return float(_distances(np.array([list(self.contributions.values())]))[0])

    @property
    def top_feature(self) -> str:
        """The feature that contributes most."""
        return max(self.contributions, key=lambda name: abs(self.contributions[name]))

    @property
    def top_values(self) -> tuple[float | str, float | str]:
        """The value of that feature, and what would be normal; blank where it is no column of the table."""
        return self.values.get(self.top_feature, ""), self.normal.get(self.top_feature, "")


@dataclass(frozen=True)
class Sample:
    """Some of the rows, drawn at random, in their order."""

    rows: Array
    numbers: NDArray[np.int64]
    scores: Array
    levels: Array


@dataclass(frozen=True)
class SurveyResult:
    """What there is to say about a table."""

    mass: float
    drift: DriftReport
    masses: Array
    n_outside: NDArray[np.intp]  # for each of the masses
    level_counts: NDArray[np.intp]  # between LEVEL_EDGES
    unusual: list[UnusualRow]  # the most unusual first
    sample: Sample


class Survey:
    """Judges batches of rows and counts them; memory does not grow with their number."""

    def __init__(
        self,
        model: FittedModel,
        mass: float,
        *,
        masses: Sequence[float] = (),
        n_unusual: int = 10,
        n_sampled: int = 0,
    ) -> None:
        self.model = model
        self.mass = mass
        self._masses = np.array(sorted(masses))
        self._ascending_offsets = np.array([model.sets.offset(m) for m in self._masses[::-1]])
        self._tally = model.sets._drift_tally(mass, FALSE_ALARM_RATE)
        self._inside_counts = np.zeros(len(self._masses) + 1, dtype=np.intp)
        self._level_counts = np.zeros(len(LEVEL_EDGES) - 1, dtype=np.intp)
        self._n_unusual = n_unusual
        self._unusual: list[UnusualRow] = []
        self._sample = RowSample(n_sampled)

    def judge(self, X: Any) -> Judgement:
        """Judge rows; of a plain array the columns are those that the model was fitted with, in that order."""
        sets = self.model.sets
        with columns_in_order():
            prepared = self.model.prepared(X)
            scores = sets.score_samples(prepared)
        levels = sets._level_sets.level(scores)  # `level` would score once more
        return Judgement(sets, np.asarray(prepared), scores, levels, scores >= sets.offset(self.mass))

    def add(
        self, rows: Array, judged: Judgement, numbers: NDArray[np.int64], kept: Callable[[NDArray[np.intp]], list[Any]]
    ) -> None:
        """Count more rows; `kept` gives what else is known about some of them."""
        self._tally.update(judged.scores)
        reached = np.searchsorted(self._ascending_offsets, judged.scores, side="right")
        self._inside_counts += np.bincount(reached, minlength=len(self._inside_counts))
        self._level_counts += np.histogram(judged.levels, LEVEL_EDGES)[0]
        self._sample.add(np.column_stack([rows, numbers, judged.scores, judged.levels]))
        self._keep_unusual(rows, judged, numbers, kept)

    def result(self) -> SurveyResult:
        """What there is to say about all rows so far."""
        # A score that reaches k of the offsets is inside the sets of the k largest masses.
        n_outside = np.cumsum(self._inside_counts)[:-1][::-1]
        sample = self._sample.rows()
        return SurveyResult(
            self.mass,
            self._tally.report(),
            self._masses,
            n_outside,
            self._level_counts,
            self._unusual,
            Sample(sample[:, :-3], sample[:, -3].astype(np.int64), sample[:, -2], sample[:, -1]),
        )

    def _keep_unusual(
        self, rows: Array, judged: Judgement, numbers: NDArray[np.int64], kept: Callable[[NDArray[np.intp]], list[Any]]
    ) -> None:
        n = min(self._n_unusual, len(rows))
        if n == 0:
            return
        candidates = np.flatnonzero(judged.scores <= np.partition(judged.scores, n - 1)[n - 1])
        # Far out all scores are zero: there the displacement tells which is furthest.
        contributions = judged.contributions(candidates)
        furthest = np.lexsort((-_distances(contributions), judged.scores[candidates]))[:n]
        chosen, contributions = candidates[furthest], contributions[furthest]
        names, prepared_names = self.model.feature_names, self.model.prepared_names
        normal = self.model.restored(judged.prepared[chosen] - self.model.sets.sigma_ * contributions, rows[chosen])
        for k, (i, others) in enumerate(zip(chosen, kept(chosen), strict=True)):
            self._unusual.append(
                UnusualRow(
                    row=int(numbers[i]),
                    score=float(judged.scores[i]),
                    level=float(judged.levels[i]),
                    values=dict(zip(names, rows[i].tolist(), strict=True)),
                    normal={} if normal is None else dict(zip(names, normal[k].tolist(), strict=True)),
                    contributions=dict(zip(prepared_names, contributions[k].tolist(), strict=True)),
                    kept=others,
                )
            )
        self._unusual = sorted(self._unusual, key=lambda row: (row.score, -row.distance))[: self._n_unusual]


def _distances(contributions: Array) -> Array:
    with np.errstate(over="ignore"):  # at the ends of float64, where infinite is as good
        return np.asarray(np.linalg.norm(contributions, axis=1))
