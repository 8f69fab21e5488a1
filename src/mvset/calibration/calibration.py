"""What calibration rows say about masses: offsets by rank, and every answer that follows from a score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mvset.cached import cached_property
from mvset.calibration.aggregation import mean_offsets
from mvset.calibration.dependence import group_effects, is_dependent, order_effects, split_effects
from mvset.calibration.guarantees import Guarantee
from mvset.calibration.offsets import half_ranks, level_at, level_table, offset_at, order_statistics
from mvset.calibration.score_summary import N_EXACT, ScoreSummary
from mvset.calibration.splits import Indices, Split
from mvset.calibration.streamed_scores import N_ORDERED, StreamedScores
from mvset.exceptions import DependenceWarning, warn
from mvset.inference.bands import order_statistic_bounds
from mvset.inference.drift import CountedScores, DriftCounter, EffectiveSizes
from mvset.inference.intervals import binomial_interval
from mvset.inference.p_values import conformal_p_values
from mvset.inference.results import MassBand, MassInterval
from mvset.validation import checked_share
from mvset.values import ArrayValue, checked_array
from mvset.wording import counted

Array = NDArray[np.float64]

# In "split" mode a row held out is scored by the few models that have not seen it, a new row by the mean of all. From
# this mass on both scores have the same distribution, as far as we could measure; further inside the score is ragged.
COMPARABLE_FROM = 0.5
# The same if the scores of the splits are not brought to one height.
COMPARABLE_FROM_UNSCALED = 0.8
_MANY_COPIES = 10
# Calibration rows with one score, a share of all: rarer ones tie by chance, and change p-values by less than this.
_REPEATED_SHARE = 1 / 2000


@dataclass(frozen=True)
class HeldOut:
    """Scores of the rows that splits hold out, each by the model of its split; and one score for each of these rows."""

    rows: Indices  # held out by some split, ascending
    split_rows: list[Indices]  # by split: those it holds out, as indices into `rows`
    split_scores: list[Array]
    row_scores: Array  # mean score of each row by the models that have not seen it
    groups: NDArray[np.intp] | None  # of each row

    @classmethod
    def of(
        cls,
        X: Array,
        splits: Sequence[Split],
        split_scores: Sequence[Array],
        score: Callable[[Array], Array],
        groups: NDArray[Any] | None = None,
    ) -> HeldOut:
        """Pool the scores of all splits; `score` is the averaged one.

        One score per row, however many splits: the rows are independent of each other, the splits are not. Equal rows
        have the same score, the mean over all splits that hold one of them out; a row that is repeated ten times or
        more has the averaged score, to which one of its copies adds next to nothing. So it is where new rows of the
        same values are, inside or outside as one, and not cut in two by the differences between splits.
        """
        rows = np.unique(np.concatenate([split.held_out for split in splits]))
        split_rows = [np.searchsorted(rows, split.held_out) for split in splits]
        values, value, copies = np.unique(X[rows], axis=0, return_inverse=True, return_counts=True)
        value = value.ravel()
        total, times = np.zeros(len(values)), np.zeros(len(values))
        for held_out, scores in zip(split_rows, split_scores, strict=True):
            found, first = np.unique(value[held_out], return_index=True)
            total[found] += scores[first]
            times[found] += 1.0
        means = total / times
        if (copies >= _MANY_COPIES).any():
            means[copies >= _MANY_COPIES] = score(values[copies >= _MANY_COPIES])
        codes = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
        return cls(rows, split_rows, list(split_scores), means[value], codes)


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
        Number of calibration rows that each score stands for; one, unless given.
    exact_up_to : float
        From this score on, one stands for all up to the next.
    """

    guarantee: Guarantee
    offsets: Array
    scores: Array
    effects: Array
    order_effects: Array
    comparable_from: float = 0.0
    counts: Array | None = None
    exact_up_to: float = np.inf

    def __post_init__(self) -> None:
        """Check everything that an answer rests on."""
        owner = type(self).__name__
        if self.counts is None:
            object.__setattr__(self, "counts", np.ones(len(self.scores)))
        if not isinstance(self.guarantee, Guarantee):
            raise ValueError(f"{owner}.guarantee is of the wrong type.")
        if not isinstance(self.exact_up_to, float) or np.isnan(self.exact_up_to):
            raise ValueError(f"{owner}.exact_up_to must be a score; got {self.exact_up_to!r}.")
        if not isinstance(self.comparable_from, Real) or not 0.0 <= self.comparable_from < 1.0:
            raise ValueError(f"{owner}.comparable_from must be a mass.")
        for name in ("offsets", "scores", "effects", "order_effects"):
            length = len(self.offsets) if name.endswith("effects") else None
            object.__setattr__(self, name, checked_array(owner, name, getattr(self, name), 1, length=length))
        counts = checked_array(owner, "counts", self.counts, 1, length=len(self.scores))
        if (counts < 1.0).any() or (counts != np.floor(counts)).any():
            raise ValueError(f"{owner}.counts must be numbers of rows.")
        if (counts[self.scores < self.exact_up_to] != 1.0).any():
            raise ValueError(f"{owner}.counts must be one for the scores that are kept as they are.")
        object.__setattr__(self, "counts", counts)
        n_ranks = len(self.offsets)
        if not n_ranks or (np.diff(self.offsets) > 0).any():
            raise ValueError(f"{owner}.offsets must descend from rank to rank, and there must be at least one.")
        if (np.diff(self.scores) < 0).any():
            raise ValueError(f"{owner}.scores must ascend.")
        halves = self.guarantee.mode == "split" and not self.is_summary
        expected = 2 * len(self.scores) - 1 if halves else len(self.scores)
        if self.is_calibrated and self.guarantee.mode != "paper" and n_ranks != expected:
            raise ValueError(f"{owner} has {n_ranks} offsets for {len(self.scores)} calibration scores.")
        if (self.effects < 1.0).any() or (self.order_effects < 1.0).any():
            raise ValueError(f"{owner}.effects and .order_effects must be at least one.")

    @classmethod
    def from_splits(
        cls,
        held_out: HeldOut,
        *,
        of_paper: bool = False,
        ordered: bool | None = None,
        comparable_from: float = COMPARABLE_FROM,
    ) -> Calibration:
        """From the pooled scores of rows held out, or by the paper's rule.

        With ``ordered=None`` the order of the rows counts if their scores depend on it.
        """
        scores = held_out.row_scores
        if of_paper:
            offsets = mean_offsets(held_out.split_scores)
            none = np.ones(len(offsets))
            found = cls(Guarantee("paper"), offsets, np.sort(scores), none, none, comparable_from)
        else:
            found = cls.from_scores(scores, Guarantee("split"), comparable_from)
        effects = split_effects(held_out.split_rows, held_out.split_scores, found.offsets)
        if held_out.groups is not None:
            effects = effects * group_effects(scores, held_out.groups, found.offsets)
        return replace(found, effects=effects, order_effects=_order_effects(scores, found.offsets, ordered))

    @classmethod
    def from_reserved(
        cls,
        scores: Array,
        guarantee: Guarantee,
        *,
        groups: NDArray[Any] | None = None,
        ordered: bool | None = None,
    ) -> Calibration:
        """From the scores of reserved rows, in their order: offsets with a guarantee."""
        found = cls.from_scores(scores, guarantee)
        effects = found.effects
        if groups is not None:
            effects = group_effects(scores, np.unique(groups, return_inverse=True)[1], found.offsets)
        return replace(found, effects=effects, order_effects=_order_effects(scores, found.offsets, ordered))

    @classmethod
    def from_stream(cls, scores: StreamedScores, guarantee: Guarantee) -> Calibration:
        """The same from scores that came in parts, in bounded memory."""
        if len(scores) <= N_ORDERED:
            return cls.from_reserved(scores.first, guarantee)
        found = cls._from_summary(scores.summary, guarantee, order_statistics(scores.summary.values), 0.0)
        return replace(found, order_effects=_order_effects(scores.first, found.offsets, None))

    @classmethod
    def _from_summary(
        cls, summary: ScoreSummary, guarantee: Guarantee, offsets: Array, comparable_from: float
    ) -> Calibration:
        none, values = np.ones(len(offsets)), summary.values
        return cls(guarantee, offsets, values, none, none, comparable_from, summary.counts, summary.exact_up_to)

    @classmethod
    def from_scores(cls, scores: Array, guarantee: Guarantee, comparable_from: float = 0.0) -> Calibration:
        """From the scores of independent calibration rows: all of few, and a summary of many."""
        summary = ScoreSummary(N_EXACT if len(scores) > N_ORDERED else len(scores))
        summary.add(scores)
        halves = guarantee.mode == "split" and summary.exact_up_to == np.inf
        offsets = half_ranks(scores) if halves else order_statistics(summary.values)
        return cls._from_summary(summary, guarantee, offsets, comparable_from)

    @classmethod
    def from_training(cls, offsets: Array) -> Calibration:
        """Offsets set on the training rows: nothing is known about new rows."""
        none = np.ones(len(offsets))
        return cls(Guarantee("training"), offsets, np.empty(0), none, none)

    # Offsets and levels

    @cached_property
    def rank_masses(self) -> Array:
        """Mass that each rank stands for."""
        if not self.is_summary:
            return self.guarantee.masses_by_rank(len(self.offsets))
        return self.guarantee.masses_at(np.cumsum(self._counts[::-1]), self.n_rows)

    def can_guarantee(self, mass: float) -> bool:
        """Whether the calibration rows suffice for a mass."""
        return self.guarantee.reaches(mass, self.n_rows if self.is_summary else len(self.offsets))

    def offset(self, mass: float) -> float:
        """Offset of the set of a mass."""
        mass = checked_share(mass)
        if not self.can_guarantee(mass):
            raise ValueError(
                f"{counted(self.n_rows, 'calibration row')} cannot guarantee mass={mass:g} in {self.guarantee.mode!r} "
                f"mode: it takes {self.guarantee.min_rows(mass)}. Fit with more rows, or ask for "
                f"{np.floor(1e4 * self.rank_masses[-1]) / 1e4:g} at most."
            )
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
        exact = self.scores[self._counts == 1.0]
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
        return CountedScores(self.scores, self._counts, self.exact_up_to)

    @property
    def n_rows(self) -> int:
        """Number of calibration rows."""
        return int(self._counts.sum())

    @property
    def _counts(self) -> Array:
        return cast(Array, self.counts)

    @cached_property
    def _below(self) -> Array:
        """Number of calibration rows below each score, and of all rows."""
        return np.append(0.0, np.cumsum(self._counts))

    def p_value(self, scores: ArrayLike) -> Array:
        """Conformal p-values of scores of new rows."""
        edges, p_values = self.p_value_table
        return np.asarray(p_values[np.searchsorted(edges, scores, side="right")])

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
        self, mass: float, false_alarm_rate: float = 0.01, less_levels: Array | None = None
    ) -> DriftCounter:
        """Counter of the scores of new rows, for the tests of drift against the calibration rows.

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
        compared = self.rank_masses >= min(self.comparable_from, self.rank_masses[-1])
        effects = self.effects * self.order_effects
        slowest = float(self.order_effects[compared].max())
        return DriftCounter(
            before,
            offset,
            cap,
            rate,
            EffectiveSizes(self._at(effects, mass), self._at(self.order_effects, mass)),
            EffectiveSizes(float(effects[compared].max()), slowest),
        )

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
                f"There are no {what} here: the offsets were set on the training rows, whose scores differ from those "
                "of new rows. Use CalibratedSet around the detector, or MinimumVolumeSet."
            )


def warn_if_dependent(calibration: Calibration, mass: float) -> None:
    """Warn if rows that were split at random depend on their neighbours."""
    if calibration.decorrelation == 1:
        return
    warn(
        f"Neighbouring rows are alike: {calibration.n_rows} calibration rows count for about "
        f"{counted(calibration.effective_size(mass), 'independent one')}, and the set may hold less of new rows than "
        "asked for. If rows are in time order, use time_order=True; if several belong together, fit(X, groups=...); if "
        "their order means nothing, shuffle them.",
        DependenceWarning,
    )


def _order_effects(scores: Array, offsets: Array, ordered: bool | None) -> Array:
    scores = scores[:N_ORDERED]  # of so many rows, the first tell enough
    if ordered or (ordered is None and is_dependent(scores)):
        return order_effects(scores, offsets)
    return np.ones(len(offsets))
