"""What calibration rows say about masses: offsets by rank, and every answer that follows from a score."""

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from mvset.calibration.dependence import UNKNOWN, Dependence, is_dependent, order_effects
from mvset.calibration.guarantees import Guarantee
from mvset.calibration.offsets import half_ranks, level_at, level_table, offset_at, order_statistics
from mvset.calibration.score_summary import N_EXACT, ScoreSummary
from mvset.calibration.streamed_scores import N_ORDERED, StreamedScores
from mvset.inference.bands import order_statistic_bounds
from mvset.inference.drift import CountedScores, DriftCounter, EffectiveSizes
from mvset.inference.events import row_evidence
from mvset.inference.p_values import binomial_interval, conformal_p_values
from mvset.inference.projections import RowCounter, RowReference
from mvset.inference.results import MassBand, MassInterval
from mvset.rows.validation import checked_share
from mvset.values import Array, ArrayValue, Flags, array_rule, cached_property
from mvset.wording import Message, counted

# In "cross" mode a row held out is scored by the few models that have not seen it, a new row by the mean of all. From
# this mass on both scores have the same distribution, as far as we could measure; further inside the score is ragged.
COMPARABLE_FROM = 0.5
# The same if the scores of the splits are not brought to one height.
COMPARABLE_FROM_UNSCALED = 0.8
# Calibration rows with one score, a share of all: rarer ones tie by chance, and change p-values by less than this.
_REPEATED_SHARE = 1 / 2000


@dataclass(frozen=True, eq=False)
class Calibration(ArrayValue):
    """Offsets by rank, and the scores of the calibration rows that they come from.

    Immutable and picklable; the constructor checks every part, also of what a file or a pickle holds.

    Attributes
    ----------
    guarantee : Guarantee
        The calibration mode. It says which mass each rank stands for.
    offsets : ndarray of shape (n_ranks,)
        Offset of the set of rank k = 1…n_ranks; descending.
    scores : ndarray of shape (n_scores,)
        Scores of the calibration rows by models that have not seen them, ascending, each row once; of very many rows
        a summary (see :class:`ScoreSummary`); empty if the offsets come from the training rows.
    effects : ndarray of shape (n_ranks,)
        Design effect of each rank: how many calibration rows count as one independent row, because splits disagree or
        rows of one group are alike.
    order_effects : ndarray of shape (n_ranks,)
        The same for the order of the rows. New rows that come in order have it as well.
    comparable_from : float
        Least mass from which on the calibration scores have the distribution of the scores of new rows.
    counts : ndarray of shape (n_scores,)
        Number of calibration rows that each score stands for.
    exact_up_to : float
        From this score on, one stands for all up to the next.
    """

    guarantee: Guarantee
    offsets: Array = field(metadata=array_rule(1))
    scores: Array = field(metadata=array_rule(1))
    effects: Array = field(metadata=array_rule(1, length=lambda self: len(self.offsets)))
    order_effects: Array = field(metadata=array_rule(1, length=lambda self: len(self.offsets)))
    comparable_from: float
    counts: Array = field(metadata=array_rule(1, length=lambda self: len(self.scores)))
    exact_up_to: float

    def _check(self) -> None:
        exact, least, n_ranks, n_scores = self.exact_up_to, self.comparable_from, len(self.offsets), len(self.scores)
        self._require(isinstance(self.guarantee, Guarantee), ".guarantee is of the wrong type.")
        self._require(isinstance(exact, float) and not np.isnan(exact), f".exact_up_to must be a score; got {exact!r}.")
        self._require(isinstance(least, Real) and 0.0 <= least < 1.0, ".comparable_from must be a mass.")
        counted = (self.counts >= 1.0).all() and (self.counts == np.floor(self.counts)).all()
        self._require(counted, ".counts must be numbers of rows.")
        ones = (self.counts[self.scores < exact] == 1.0).all()
        self._require(ones, ".counts must be one for the scores that are kept as they are.")
        descend = n_ranks and (np.diff(self.offsets) <= 0).all()
        self._require(descend, ".offsets must descend from rank to rank, and there must be at least one.")
        self._require((np.diff(self.scores) >= 0).all(), ".scores must ascend.")
        halves = self.guarantee.mode == "cross" and not self.is_summary
        fits = not self.is_calibrated or n_ranks == (2 * n_scores - 1 if halves else n_scores)
        self._require(fits, f" must have an offset for each score; has {n_ranks} for {n_scores} scores.")
        effects = (self.effects >= 1.0).all() and (self.order_effects >= 1.0).all()
        self._require(effects, ".effects and .order_effects must be at least one.")

    @classmethod
    def from_scores(cls, scores: Array | StreamedScores, guarantee: Guarantee, comparable_from: float = 0.0) -> Self:
        """From the scores of independent calibration rows: all of few, and a summary of many."""
        if isinstance(scores, StreamedScores) and len(scores) > N_ORDERED:
            summary, scores = scores.summary, scores.first
        else:
            scores = scores.first if isinstance(scores, StreamedScores) else scores
            summary = ScoreSummary(N_EXACT if len(scores) > N_ORDERED else len(scores))
            summary.add(scores)
        halves = guarantee.mode == "cross" and summary.exact_up_to == np.inf
        offsets = half_ranks(scores) if halves else order_statistics(summary.values)
        none, values = np.ones(len(offsets)), summary.values
        return cls(guarantee, offsets, values, none, none, comparable_from, summary.counts, summary.exact_up_to)

    @classmethod
    def without_scores(cls, offsets: Array) -> Self:
        """Offsets by rank alone, as in the paper: nothing is known about the masses of their sets."""
        none, nothing = np.ones(len(offsets)), np.empty(0)
        return cls(Guarantee("paper"), offsets, nothing, none, none, 0.0, nothing, np.inf)

    def dependent(
        self,
        scores: Array,
        dependence: Dependence = UNKNOWN,
        effects: Array | None = None,
        group_effects: Array | None = None,
    ) -> "Calibration":
        """The same for rows that depend on each other, from their scores in order, and design effects of other kinds.

        Rows of one group are similar to each other, and so are neighbours in the order: the larger effect counts.
        """
        scores = scores[:N_ORDERED]  # of so many rows, the first tell enough
        found, ordered = self if effects is None else replace(self, effects=effects), dependence.ordered
        if ordered or (ordered is None and is_dependent(scores)):
            in_order = np.maximum(order_effects(scores, self.offsets), dependence.row_effect)
            found = replace(found, order_effects=in_order)
        if group_effects is not None:
            found = replace(found, effects=found.effects * np.maximum(group_effects / found.order_effects, 1.0))
        return found

    # Offsets and levels

    @cached_property
    def rank_masses(self) -> Array:
        """Mass that each rank stands for."""
        if not self.is_summary:
            return self.guarantee.masses_by_rank(len(self.offsets))
        return self.guarantee.masses_at(np.cumsum(self.counts[::-1]), self.n_rows)

    def can_guarantee(self, mass: float) -> bool:
        """Whether the calibration rows suffice for a mass."""
        return self.guarantee.reaches(mass, self.n_rows if self.is_summary else len(self.offsets))

    def offset(self, mass: float) -> float:
        """Offset of the set of a mass."""
        mass = checked_share(mass)
        if not self.can_guarantee(mass):
            message = Message(
                "{rows} cannot guarantee {mass:{asked:g}} in {mode!r} mode, which takes {needed}.",
                "Fit with more rows, or use at most {mass:{most:g}}.",
                rows=counted(self.n_rows, "calibration row"),
                asked=mass,
                mode=self.guarantee.mode,
                needed=self.guarantee.min_rows(mass),
                most=np.floor(1e4 * self.rank_masses[-1]) / 1e4,
            )
            raise ValueError(message)
        return float(offset_at(self.offsets, mass, self.rank_masses))

    @property
    def below_all(self) -> float:
        """A score below every offset."""
        return float(self.offsets[-1] - max(1.0, abs(self.offsets[-1])))

    def level(self, scores: ArrayLike) -> Array:
        """Smallest mass whose set holds a point of this score."""
        return level_at(self.offsets, scores, self.rank_masses)

    @property
    def level_table(self) -> tuple[Array, Array]:
        """Edges and levels: that of a score is the one at the number of edges below minus the score."""
        return level_table(self.offsets, self.rank_masses)

    @property
    def p_value_table(self) -> tuple[Array, Array]:
        """Edges and p-values: that of a score is the one at the number of edges up to the score."""
        self._check_calibrated("p-values")
        return self.scores, conformal_p_values(self._below, self.n_rows)

    @cached_property
    def repeated_scores(self) -> Array:
        """Scores that many calibration rows have: those of values that repeat, not of chance, nor of rounding."""
        exact = self.scores[self.counts == 1.0]
        values, counts = np.unique(exact, return_counts=True)
        return np.asarray(values[counts >= max(3.0, _REPEATED_SHARE * len(exact))])

    def offsets_of(self, masses: ArrayLike) -> Array:
        """Offsets of masses; the last one for masses that the calibration rows cannot guarantee."""
        return offset_at(self.offsets, masses, self.rank_masses)

    # Inference: all from the scores of calibration rows

    @property
    def is_calibrated(self) -> bool:
        """Whether there are calibration scores, comparable with those of new rows."""
        return len(self.scores) > 0

    @property
    def is_summary(self) -> bool:
        """Whether some scores stand for more than one row."""
        return self.exact_up_to < np.inf

    @property
    def counted_scores(self) -> CountedScores:
        """The calibration scores, or the offsets if there are none."""
        if not self.is_calibrated:
            return CountedScores.of(self.offsets)
        return CountedScores(self.scores, self.counts, self.exact_up_to)

    @property
    def n_rows(self) -> int:
        """Number of calibration rows."""
        return int(self.counts.sum())

    @cached_property
    def _below(self) -> Array:
        """Number of calibration rows below each score, and of all rows."""
        return np.append(0.0, np.cumsum(self.counts))

    def p_value(self, scores: ArrayLike) -> Array:
        """Conformal p-values of scores of new rows."""
        edges, p_values = self.p_value_table
        return np.asarray(p_values[np.searchsorted(edges, scores, side="right")])

    def evidence(self, scores: ArrayLike) -> Array:
        """Evidence of each row that it is unusual: of its p-value among as many rows as these count for."""
        self._check_calibrated("p-values")
        share = self._below[np.searchsorted(self.scores, scores, side="right")] / self.n_rows
        size = self.n_rows / float((self.effects * self.order_effects)[self._compared].max())
        return row_evidence((1.0 + share * size) / (size + 1.0))

    def quantiles(self, shares: Array) -> Array:
        """Quantiles of the calibration scores."""
        if not self.is_summary:
            return np.asarray(np.quantile(self.scores, shares))
        return np.asarray(self.scores[np.searchsorted(self._below[1:], shares * self.n_rows)])

    def share_inside(self, mass: float) -> float:
        """Share of the calibration rows inside the set of a mass."""
        below = self._below[np.searchsorted(self.scores, self.offset(mass), side="left")]
        return float((self.n_rows - below) / self.n_rows)

    def effective_size(self, mass: float) -> float:
        """How many independent rows would tell as much about the mass of a set as the calibration rows do."""
        return self.n_rows / self._at(self.effects * self.order_effects, mass)

    def independent_rows(self, mass: float) -> float:
        """How many rows in any order would tell as much as the calibration rows do in theirs."""
        return self.n_rows / self._at(self.order_effects, mass)

    def mass_interval(self, mass: float, confidence: float = 0.95) -> MassInterval:
        """Interval for the true mass of a set."""
        confidence = checked_share(confidence, "confidence")
        self._check_calibrated("intervals of the mass")
        share, size = self.share_inside(mass), self.effective_size(mass)
        low, high = binomial_interval(share * size, size, confidence)
        return MassInterval(share, low, high, confidence, self.n_rows, size)

    def mass_band(self, masses: ArrayLike | None = None, confidence: float = 0.95) -> MassBand:
        """Simultaneous bounds for the true masses of the sets."""
        confidence = checked_share(confidence, "confidence")
        self._check_calibrated("bands of the mass")
        asked = self.comparable_masses if masses is None else np.atleast_1d(np.asarray(masses, dtype=np.float64))
        shares = np.array([self.share_inside(float(mass)) for mass in asked])
        size = int(min((self.effective_size(float(mass)) for mass in asked), default=1.0))
        lower, upper = order_statistic_bounds(max(size, 1), confidence)
        # Between the last row inside and the first outside, the mass is between their order statistics.
        inside = shares * max(size, 1)
        return MassBand(
            asked,
            np.append(0.0, lower)[np.floor(inside + 1e-9).astype(int)],
            np.append(upper, 1.0)[np.ceil(inside - 1e-9).astype(int)],
            confidence,
        )

    def drift_counter(
        self,
        mass: float,
        false_alarm_rate: float = 0.01,
        less_levels: Array | None = None,
        reference: RowReference | None = None,
    ) -> DriftCounter:
        """Counter of new rows and their scores, for the tests of drift against the calibration rows and their columns.

        With `less_levels`, one minus the levels of calibration rows, it counts such values instead of scores.
        """
        rate = checked_share(false_alarm_rate, "false_alarm_rate")
        self._check_calibrated("drift tests")
        before = self.counted_scores
        offset = self.offset(mass)
        if less_levels is not None:
            before, offset = CountedScores.of(less_levels), 1.0 - mass
        cap = np.inf
        if self.comparable_from > 0:
            cap = self.offset(self.comparable_from) if less_levels is None else 1.0 - self.comparable_from
        # A test of the whole distribution is only as good as where rows tell least.
        effects, compared = self.effects * self.order_effects, self._compared
        return DriftCounter(
            before,
            offset,
            cap,
            rate,
            EffectiveSizes(self._at(effects, mass), self._at(self.order_effects, mass)),
            EffectiveSizes(float(effects[compared].max()), self.rows_per_independent_row),
            None if reference is None else RowCounter(reference),
        )

    @cached_property
    def _compared(self) -> Flags:
        """Ranks whose calibration scores have the distribution of the scores of new rows."""
        return np.asarray(self.rank_masses >= min(self.comparable_from, self.rank_masses[-1]))

    @cached_property
    def rows_per_independent_row(self) -> float:
        """How many neighbouring rows count as one: the largest design effect of their order at any of these ranks."""
        return float(self.order_effects[self._compared].max())

    @property
    def comparable_masses(self) -> Array:
        """Masses 0.01, 0.02, … 0.99 from the least comparable one on, as far as the calibration rows reach."""
        masses = np.arange(1, 100) / 100
        return self.guaranteed(masses[masses > self.comparable_from - 1e-9])

    def guaranteed(self, masses: ArrayLike) -> Array:
        """Of these masses, those for which the calibration rows suffice."""
        return np.array([mass for mass in np.atleast_1d(masses) if self.can_guarantee(mass)], dtype=np.float64)

    @property
    def decorrelation(self) -> int:
        """Number of rows in order after which rows are about independent: twice the autocorrelation time, or one."""
        largest = float(self.order_effects.max())
        return 1 if largest == 1.0 else int(np.ceil(2.0 * largest))

    def _at(self, by_rank: Array, mass: float) -> float:
        return float(offset_at(by_rank, mass, self.rank_masses))

    def _check_calibrated(self, what: str) -> None:
        if not self.is_calibrated:
            raise ValueError(
                f"There are no {what} here: the model keeps no calibration scores that are comparable with scores of "
                "new rows. Use CalibratedSet around the detector, or MinimumVolumeSet."
            )
