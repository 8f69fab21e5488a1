"""The one object that a fit ends in: a score, its calibration, and the volumes of the nested sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mvset.calibration.calibration import Calibration
from mvset.calibration.constant_columns import ConstantColumns
from mvset.calibration.group_calibration import GroupCalibrations
from mvset.calibration.guarantees import Guarantee
from mvset.inference.drift import DriftCounter
from mvset.inference.results import MassBand, MassInterval
from mvset.parallel import Map
from mvset.svm.expansion import KernelExpansion
from mvset.svm.metric_expansion import MetricExpansion
from mvset.svm.table_score import TableScore
from mvset.validation import checked_share
from mvset.values import ArrayValue, checked_array
from mvset.volume.measure import VolumeEstimate, VolumeSample, inside_sets, measure

Array = NDArray[np.float64]


_ROUNDING = 1e-9


class ScoreFunction(Protocol):
    """A score of every row, high where the rows are."""

    def __call__(self, X: Array, run: Map = map) -> Array:
        """Scores of the rows of X."""


@dataclass(frozen=True, eq=False)
class FittedSets(ArrayValue):
    """Nested sets {score >= offset(mass)}, one for every mass in (0, 1), with what is known about their masses.

    Immutable and picklable. The constructor checks shapes, types and finiteness, also of what a file or a pickle holds.
    Estimators score rows with `scores` and ask the other methods about these scores.

    Attributes
    ----------
    score : callable
        The score function of the sets.
    mass : float
        The mass that was fitted; what methods use when none is given.
    masses : ndarray of shape (n_masses,)
        Masses around it, ascending: those of the mass-volume curve.
    calibration : Calibration
        Offsets by rank, and the scores of calibration rows.
    constants : ConstantColumns
        Columns that never changed.
    volume_sample : VolumeSample
        The sample that measures volumes. Its points are not kept: their scores say which sets hold them.
    sample_scores : ndarray of shape (n_points,)
        Scores of these points.
    groups : GroupCalibrations or None
        The calibration of every group of rows, if the fit was told the groups.
    """

    score: ScoreFunction
    mass: float
    masses: Array
    calibration: Calibration
    constants: ConstantColumns
    volume_sample: VolumeSample
    sample_scores: Array
    groups: GroupCalibrations | None = None

    def __post_init__(self) -> None:
        """Check everything that an answer rests on."""
        owner = type(self).__name__
        for name, kind in (
            ("calibration", Calibration),
            ("constants", ConstantColumns),
            ("volume_sample", VolumeSample),
        ):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{owner}.{name} is of the wrong type.")
        if not isinstance(self.groups, GroupCalibrations | None):
            raise ValueError(f"{owner}.groups is of the wrong type.")
        object.__setattr__(self, "mass", checked_share(self.mass))
        object.__setattr__(self, "volume_sample", _without_points(self.volume_sample))
        n_points = len(self.volume_sample.log_weights)
        object.__setattr__(self, "masses", checked_array(owner, "masses", self.masses, 1))
        scores = checked_array(owner, "sample_scores", self.sample_scores, 1, length=n_points)
        object.__setattr__(self, "sample_scores", scores)
        if not len(self.masses) or (np.diff(self.masses) <= 0).any() or not 0 < self.masses[0] <= self.masses[-1] < 1:
            raise ValueError(f"{owner}.masses must ascend between 0 and 1.")
        if not callable(self.score):
            raise ValueError(f"{owner}.score must be a function of rows.")
        # The weights of a split's function have sum one, and so has their mean over splits, weighted with mean one.
        function = self.score.function if isinstance(self.score, TableScore) else self.score
        if isinstance(function, KernelExpansion | MetricExpansion) and abs(function.weights.sum() - 1.0) > _ROUNDING:
            raise ValueError(f"{owner}.score must have weights whose sum is one; got {function.weights.sum()!r}.")
        if self.n_columns is not None and (self.constants.columns >= self.n_columns).any():
            raise ValueError(f"{owner}.constants must be among the {self.n_columns} columns.")

    @property
    def n_columns(self) -> int | None:
        """Number of columns of rows, if the score knows it."""
        return getattr(self.score, "n_columns", None)

    def scores(self, X: Array, run: Map = map) -> Array:
        """Scores of rows; below every offset where a column differs that never changed before."""
        scores = self.score(X, run)
        if not len(self.constants.columns):
            return scores
        return np.where(self.constants.changed(X), self.calibration.below_all, scores)

    # Offsets and levels

    @property
    def guarantee(self) -> Guarantee:
        """The calibration mode."""
        return self.calibration.guarantee

    def can_guarantee(self, mass: float) -> bool:
        """Whether the calibration rows suffice for a mass."""
        return self.calibration.can_guarantee(mass)

    def guaranteed(self, masses: ArrayLike) -> Array:
        """Of these masses, those for which the calibration rows suffice."""
        return self.calibration.guaranteed(masses)

    def offset(self, mass: float | None = None) -> float:
        """Offset of the set of a mass, by default of the fitted one."""
        return self.calibration.offset(self._mass(mass))

    def row_offsets(self, mass: float | None, by: Any, n_rows: int) -> Array:
        """Offset of every row, by its group; one for all rows without groups."""
        parts = self.by_group(by, n_rows)
        offsets = np.empty(n_rows)
        for calibration, rows in parts:
            offsets[rows] = calibration.offset(self._mass(mass))
        return offsets

    def level(self, scores: ArrayLike, by: Any = None) -> Array:
        """Smallest mass whose set holds a point of this score, by the group of its row if given."""
        return self._grouped(Calibration.level, scores, by)

    # Volumes

    def volume(self, mass: float | None = None) -> VolumeEstimate:
        """Volume of the set of a mass."""
        return measure(self.volume_sample, inside_sets(self.sample_scores, self.offset(mass))).estimate(0)

    # Inference: all from the scores of calibration rows

    @property
    def is_calibrated(self) -> bool:
        """Whether there are calibration scores, comparable with those of new rows."""
        return self.calibration.is_calibrated

    def p_value(self, scores: ArrayLike, by: Any = None) -> Array:
        """Conformal p-values of scores of new rows, by their groups if given."""
        return self._grouped(Calibration.p_value, scores, by)

    def mass_interval(self, mass: float | None = None, confidence: float = 0.95) -> MassInterval:
        """Interval for the true mass of a set."""
        return self.calibration.mass_interval(self._mass(mass), confidence)

    def mass_band(self, masses: ArrayLike | None = None, confidence: float = 0.95) -> MassBand:
        """Simultaneous bounds for the true masses of the sets."""
        return self.calibration.mass_band(masses, confidence)

    def drift_counter(
        self, mass: float | None = None, false_alarm_rate: float = 0.01, *, grouped: bool = False
    ) -> DriftCounter:
        """Counter of the scores of new rows, for the tests of drift against the calibration rows.

        With ``grouped=True`` it counts what `drift_scores` makes of scores and groups: one minus their levels.
        """
        if not grouped:
            return self.calibration.drift_counter(self._mass(mass), false_alarm_rate)
        return self.calibration.drift_counter(self._mass(mass), false_alarm_rate, 1.0 - self._checked_groups().levels)

    def drift_scores(self, scores: Array, by: Any = None) -> Array:
        """What a drift counter counts: the scores, or one minus the levels of rows in groups."""
        return scores if by is None else 1.0 - self.level(scores, by)

    def _grouped(self, answer: Any, scores: ArrayLike, by: Any) -> Array:
        """What the calibration of its group answers for every score."""
        scores = np.asarray(scores, dtype=np.float64)
        if by is None:
            return np.asarray(answer(self.calibration, scores))
        found = np.empty(len(scores))
        for calibration, rows in self.by_group(by, len(scores)):
            found[rows] = answer(calibration, scores[rows])
        return found

    def by_group(self, by: Any, n_rows: int) -> list[tuple[Calibration, NDArray[np.intp]]]:
        """Calibrations, and the rows that each one judges; that of the whole for groups not seen."""
        if by is None:
            return [(self.calibration, np.arange(n_rows))]
        groups = self._checked_groups()
        codes = groups.codes(by, n_rows)
        everything = [*groups.calibrations, self.calibration]
        return [(everything[code], np.flatnonzero(codes == code)) for code in np.unique(codes)]

    def _checked_groups(self) -> GroupCalibrations:
        if self.groups is None:
            raise ValueError("by was given, but the model was fitted without groups: use fit(X, by=...).")
        return self.groups

    def _mass(self, mass: float | None) -> float:
        return self.mass if mass is None else checked_share(mass)


def _without_points(sample: VolumeSample) -> VolumeSample:
    return replace(sample, points=np.empty((0, sample.points.shape[1]))) if len(sample.points) else sample
