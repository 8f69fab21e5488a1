"""The one object that a fit ends in: calibrated nested sets, and every answer that follows from a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mvset.calibration.aggregation import mean_offsets
from mvset.calibration.guarantees import Guarantee
from mvset.calibration.offsets import level_at, offset_at, offsets_by_rank, order_statistics
from mvset.calibration.splits import Split, mean_by_row
from mvset.inference.bands import order_statistic_bounds
from mvset.inference.drift import DriftCounter
from mvset.inference.intervals import binomial_interval
from mvset.inference.p_values import conformal_p_values
from mvset.inference.results import MassBand, MassInterval
from mvset.parallel import Map
from mvset.validation import checked_share
from mvset.values import ArrayValue, checked_array
from mvset.volume.measure import VolumeEstimate, VolumeSample, inside_sets, measure

Array = NDArray[np.float64]

# In "split" mode a row held out is scored by the few models that have not seen it, a new row by the mean of all. In the
# tail both scores have the same distribution; below this mass, where the score is ragged, they do not.
_TAIL = 0.8


class ScoreFunction(Protocol):
    """A score of every row, high where the rows are."""

    def __call__(self, X: Array, run: Map = map) -> Array:
        """Scores of the rows of X."""


@dataclass(frozen=True, eq=False)
class FittedSets(ArrayValue):
    """Nested sets {score >= offset(mass)}, one for every mass in (0, 1), with what is known about their masses.

    Immutable and picklable. The constructor checks shapes, types and finiteness, also of what a file or a pickle holds.
    Methods take scores, never rows: estimators score rows and ask here.

    Attributes
    ----------
    score : callable
        The score function of the sets.
    mass : float
        The mass that was fitted; what methods use when none is given.
    masses : ndarray of shape (n_masses,)
        Masses around it, ascending: those of the mass-volume curve.
    offsets : ndarray of shape (n_ranks,)
        Offset that holds the k best calibration scores, for k = 1…n_ranks; descending.
    guarantee : Guarantee
        The calibration mode. It says which mass each rank stands for.
    calibration_scores : ndarray of shape (n_calibration,)
        Scores of the calibration rows by models that have not seen them, ascending, each row once; empty if the
        offsets come from the training rows.
    split_scores : ndarray of shape (n_splits, n_held_out)
        Scores of the rows that each split holds out, by the model of that split alone; of shape (0, 0) if the offsets
        are not a mean over splits.
    volume_sample : VolumeSample
        The sample that measures volumes. Its points are not kept: their scores say which sets hold them.
    sample_scores : ndarray of shape (n_points,)
        Scores of these points.
    """

    score: ScoreFunction
    mass: float
    masses: Array
    offsets: Array
    guarantee: Guarantee
    calibration_scores: Array
    split_scores: Array
    volume_sample: VolumeSample
    sample_scores: Array

    def __post_init__(self) -> None:
        """Check everything that an answer rests on."""
        owner = type(self).__name__
        if not isinstance(self.guarantee, Guarantee) or not isinstance(self.volume_sample, VolumeSample):
            raise ValueError(f"{owner}.guarantee or .volume_sample is of the wrong type.")
        object.__setattr__(self, "mass", checked_share(self.mass))
        object.__setattr__(self, "volume_sample", _without_points(self.volume_sample))
        for name, ndim, length in (
            ("masses", 1, None),
            ("offsets", 1, None),
            ("calibration_scores", 1, None),
            ("split_scores", 2, None),
            ("sample_scores", 1, len(self.volume_sample.log_weights)),
        ):
            array = checked_array(owner, name, getattr(self, name), ndim, length=length)
            object.__setattr__(self, name, array)
        if not len(self.offsets) or (np.diff(self.offsets) > 0).any():
            raise ValueError(f"{owner}.offsets must descend from rank to rank, and there must be at least one.")
        if (np.diff(self.calibration_scores) < 0).any():
            raise ValueError(f"{owner}.calibration_scores must ascend.")
        if not len(self.masses) or (np.diff(self.masses) <= 0).any() or not 0 < self.masses[0] <= self.masses[-1] < 1:
            raise ValueError(f"{owner}.masses must ascend between 0 and 1.")
        # The offsets are those of the rows that each split holds out, or of all calibration rows.
        by_split = len(self.split_scores) > 0
        n_ranks = self.split_scores.shape[1] if by_split else len(self.calibration_scores)
        if n_ranks != len(self.offsets) and (by_split or self.is_calibrated):
            raise ValueError(f"{owner} has {len(self.offsets)} offsets for {n_ranks} calibration scores.")
        if not callable(self.score):
            raise ValueError(f"{owner}.score must be a function of rows.")

    @classmethod
    def from_splits(
        cls,
        score: ScoreFunction,
        mass: float,
        masses: Array,
        splits: Sequence[Split],
        split_scores: Array,
        **measured: Any,
    ) -> FittedSets:
        """Offsets of the paper: for each rank the mean over splits of the offsets on the rows they hold out."""
        return cls(
            score=score,
            mass=mass,
            masses=masses,
            offsets=mean_offsets(offsets_by_rank(split_scores)),
            guarantee=Guarantee("split"),
            calibration_scores=np.sort(mean_by_row(splits, split_scores)),
            split_scores=split_scores,
            **measured,
        )

    @classmethod
    def from_reserved(
        cls,
        score: ScoreFunction,
        mass: float,
        masses: Array,
        reserved_scores: Array,
        guarantee: Guarantee,
        **measured: Any,
    ) -> FittedSets:
        """Offsets with a guarantee: the scores of reserved rows themselves."""
        return cls(
            score=score,
            mass=mass,
            masses=masses,
            offsets=order_statistics(reserved_scores),
            guarantee=guarantee,
            calibration_scores=np.sort(reserved_scores),
            split_scores=np.empty((0, 0)),
            **measured,
        )

    # Offsets and levels

    @cached_property
    def rank_masses(self) -> Array:
        """Mass that each rank guarantees."""
        return self.guarantee.masses_by_rank(len(self.offsets))

    def can_guarantee(self, mass: float) -> bool:
        """Whether the calibration rows suffice for a mass."""
        return self.guarantee.reaches(mass, len(self.offsets))

    def guaranteed(self, masses: ArrayLike) -> Array:
        """Of these masses, those for which the calibration rows suffice."""
        return np.array([mass for mass in np.atleast_1d(masses) if self.can_guarantee(mass)], dtype=np.float64)

    def offset(self, mass: float | None = None) -> float:
        """Offset of the set of a mass, by default of the fitted one."""
        mass = self.mass if mass is None else checked_share(mass)
        if not self.can_guarantee(mass):
            raise ValueError(
                f"{len(self.offsets)} calibration rows cannot guarantee mass={mass:g} in {self.guarantee.mode!r} mode: "
                f"it takes {self.guarantee.min_rows(mass)}. Fit with more rows, or ask for "
                f"{np.floor(1e4 * self.rank_masses[-1]) / 1e4:g} at most."
            )
        return float(offset_at(self.offsets, mass, self.rank_masses))

    def level(self, scores: ArrayLike) -> Array:
        """Smallest mass whose set holds a point of this score."""
        return level_at(self.offsets, scores, self.rank_masses)

    # Volumes

    def volume(self, mass: float | None = None) -> VolumeEstimate:
        """Volume of the set of a mass."""
        return measure(self.volume_sample, inside_sets(self.sample_scores, self.offset(mass))).estimate(0)

    # Inference: all from the scores of calibration rows

    @property
    def is_calibrated(self) -> bool:
        """Whether there are calibration scores, comparable with those of new rows."""
        return len(self.calibration_scores) > 0

    def p_value(self, scores: ArrayLike) -> Array:
        """Conformal p-values of scores of new rows."""
        self._check_calibrated("p-values")
        return conformal_p_values(self.calibration_scores, scores)

    def mass_interval(self, mass: float | None = None, confidence: float = 0.95) -> MassInterval:
        """Interval for the true mass of a set.

        The union of two: for the share of held-out rows inside the set of their own split, and inside the averaged set.
        """
        confidence = checked_share(confidence, "confidence")
        self._check_calibrated("intervals of the mass")
        n_rows = len(self.calibration_scores)
        share, direct = self.share_inside(mass), self._direct_share(self.offset(mass))
        ends = [binomial_interval(round(each * n_rows), n_rows, confidence) for each in (share, direct)]
        return MassInterval(share, min(low for low, _ in ends), max(high for _, high in ends), confidence, n_rows)

    def mass_band(self, masses: ArrayLike | None = None, confidence: float = 0.95) -> MassBand:
        """Simultaneous bounds for the true masses of the sets."""
        confidence = checked_share(confidence, "confidence")
        self._check_calibrated("bands of the mass")
        asked = self.comparable_masses if masses is None else np.atleast_1d(np.asarray(masses, dtype=np.float64))
        offsets = np.array([self.offset(float(mass)) for mass in asked])
        scores = self.calibration_scores
        lower, upper = order_statistic_bounds(len(scores), confidence)
        # Between the last row inside and the first outside, the mass is between their order statistics.
        inside = len(scores) - np.searchsorted(scores, offsets, side="left")
        return MassBand(asked, np.append(0.0, lower)[inside], np.append(upper, 1.0)[inside], confidence)

    def drift_counter(self, mass: float | None = None, false_alarm_rate: float = 0.01) -> DriftCounter:
        """Counter of the scores of new rows, for the tests of drift against the calibration rows."""
        rate = checked_share(false_alarm_rate, "false_alarm_rate")
        self._check_calibrated("drift tests")
        cap = np.inf if self.guarantee.reserves_rows else self.offset(self.least_comparable_mass)
        return DriftCounter(self.calibration_scores, self.offset(mass), self.share_inside(mass), cap, rate)

    def share_inside(self, mass: float | None = None) -> float:
        """Share of the calibration rows inside: of held-out rows, inside the set of their own split.

        If a split holds out too few rows to resolve the mass, its own set contains all of them. The share is then that
        inside the averaged set.
        """
        mass = self.mass if mass is None else checked_share(mass)
        n_splits, n_held_out = self.split_scores.shape
        if n_splits == 0 or mass > 1.0 - 1.0 / n_held_out:
            return self._direct_share(self.offset(mass))
        offsets = [offset_at(by_rank, mass) for by_rank in self._split_offsets]
        return float(np.mean(self.split_scores >= np.reshape(offsets, (-1, 1))))

    @cached_property
    def least_comparable_mass(self) -> float:
        """Least mass from which on the calibration scores have the distribution of the scores of new rows.

        Zero with reserved rows. In "split" mode the score may be flat inside the sets, at another height in every
        split: there scores differ between models more than between rows. Then the share of rows inside the set of their
        own split and the share inside the averaged set differ by more than twice their standard error. The last mass if
        they never agree.
        """
        if self.guarantee.reserves_rows:
            return 0.0
        n_splits, n_held_out = self.split_scores.shape
        if n_splits == 0:
            return _TAIL
        resolved = 1.0 - 1.0 / n_held_out
        masses = np.array([mass for mass in _TAIL + 0.01 * np.arange(20) if mass <= max(_TAIL, resolved)])
        by_split = np.array([self.share_inside(mass) for mass in masses])
        direct = np.array([self._direct_share(self.offset(mass)) for mass in masses])
        error = np.sqrt(masses * (1.0 - masses) / len(self.calibration_scores))
        disagree = np.flatnonzero(np.abs(direct - by_split) > 2.0 * error)
        return float(masses[min(disagree[-1] + 1, len(masses) - 1)] if len(disagree) else masses[0])

    @property
    def comparable_masses(self) -> Array:
        """Masses 0.01, 0.02, … 0.99 from this mass on, as far as the calibration rows reach."""
        masses = np.arange(1, 100) / 100
        return self.guaranteed(masses[masses > self.least_comparable_mass - 1e-9])

    def _direct_share(self, offset: float) -> float:
        n_rows = len(self.calibration_scores)
        return (n_rows - int(np.searchsorted(self.calibration_scores, offset, side="left"))) / n_rows

    @cached_property
    def _split_offsets(self) -> Array:
        return offsets_by_rank(self.split_scores)

    def _check_calibrated(self, what: str) -> None:
        if not self.is_calibrated:
            raise ValueError(
                f"There are no {what} here: the offsets were set on the training rows, whose scores differ from those "
                "of new rows. Use CalibratedSet around the detector, or MinimumVolumeSet."
            )


def _without_points(sample: VolumeSample) -> VolumeSample:
    return replace(sample, points=np.empty((0, sample.points.shape[1]))) if len(sample.points) else sample
