"""The one object that a fit ends in: a score, its calibration, and the volumes of the nested sets."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from mvset.calibration.calibration import Calibration
from mvset.calibration.constant_columns import ConstantColumns
from mvset.calibration.guarantees import Guarantee
from mvset.calibration.strata import StratumCalibrations
from mvset.inference.drift import DriftCounter
from mvset.inference.projections import RowReference
from mvset.inference.results import MassInterval
from mvset.parallel import Map
from mvset.rows.validation import checked_share
from mvset.values import Array, ArrayValue, Indices, array_rule
from mvset.volume.measure import VolumeEstimate, VolumeSample, inside_sets, measure
from mvset.wording import Message, counted


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
    function : callable
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
    strata : StratumCalibrations or None
        The calibration of every group of rows, if the fit was told the groups.
    reference : RowReference or None
        What the rows of the fit are like, for tests of drift.
    """

    function: ScoreFunction
    mass: float
    masses: Array = field(metadata=array_rule(1))
    calibration: Calibration
    constants: ConstantColumns
    volume_sample: VolumeSample
    sample_scores: Array = field(metadata=array_rule(1, length=lambda self: len(self.volume_sample.log_weights)))
    strata: StratumCalibrations | None = None
    reference: RowReference | None = None

    def __post_init__(self) -> None:
        kinds = {"calibration": Calibration, "constants": ConstantColumns, "volume_sample": VolumeSample}
        optional = {"strata": StratumCalibrations | None, "reference": RowReference | None}
        for name, kind in (kinds | optional).items():
            self._require(isinstance(getattr(self, name), kind), f".{name} is of the wrong type.")
        object.__setattr__(self, "mass", checked_share(self.mass))
        object.__setattr__(self, "volume_sample", _without_points(self.volume_sample))
        super().__post_init__()

    def _check(self) -> None:
        ascend = len(self.masses) and (np.diff(self.masses) > 0).all() and 0 < self.masses[0] <= self.masses[-1] < 1
        self._require(ascend, ".masses must ascend between 0 and 1.")
        self._require(callable(self.function), ".function must be a function of rows.")
        known = self.n_columns is None or (self.constants.columns < self.n_columns).all()
        self._require(known, f".constants must be among the {self.n_columns} columns.")
        sized = self.reference is None or self.n_columns in (None, len(self.reference.columns.steps))
        self._require(sized, f".reference must describe the {self.n_columns} columns.")

    def __repr__(self) -> str:
        mode, n_rows = self.guarantee.mode, self.calibration.n_rows
        return f"Nested sets for every mass, fitted for {self.mass:g}: calibration {mode!r}, {counted(n_rows, 'row')}"

    @property
    def n_columns(self) -> int | None:
        """Number of columns of rows, if the score knows it."""
        return getattr(self.function, "n_columns", None)

    def scores(self, X: Array, run: Map = map) -> Array:
        """Scores of rows; below every offset where a column differs that never changed before."""
        scores = self.function(X, run)
        if not len(self.constants.columns):
            return scores
        return np.where(self.constants.changed(X), self.calibration.below_all, scores)

    # Offsets and levels

    @property
    def guarantee(self) -> Guarantee:
        """The calibration mode."""
        return self.calibration.guarantee

    def offset(self, mass: float | None = None) -> float:
        """Offset of the set of a mass, by default of the fitted one."""
        return self.calibration.offset(self._mass(mass))

    def row_offsets(self, mass: float | None, strata: Any, n_rows: int) -> Array:
        """Offset of every row, by its group; one for all rows without groups."""
        asked = self._mass(mass)
        return self._grouped(lambda group, rows: np.full(len(rows), group.offset(asked)), np.zeros(n_rows), strata)

    def level(self, scores: ArrayLike, strata: Any = None) -> Array:
        """Smallest mass whose set holds a point of this score, by the group of its row if given."""
        return self._grouped(Calibration.level, scores, strata)

    # Volumes

    def volume(self, mass: float | None = None) -> VolumeEstimate:
        """Volume of the set of a mass."""
        return measure(self.volume_sample, inside_sets(self.sample_scores, self.offset(mass))).estimate(0)

    # Inference: all from the scores of calibration rows

    def p_value(self, scores: ArrayLike, strata: Any = None) -> Array:
        """Conformal p-values of scores of new rows, by their groups if given."""
        return self._grouped(Calibration.p_value, scores, strata)

    def evidence(self, scores: ArrayLike, strata: Any = None) -> Array:
        """Evidence of rows of these scores that they are unusual, by their groups if given."""
        return self._grouped(Calibration.evidence, scores, strata)

    def mass_interval(self, mass: float | None = None, confidence: float = 0.95) -> MassInterval:
        """Interval for the true mass of a set."""
        return self.calibration.mass_interval(self._mass(mass), confidence)

    def drift_counter(
        self, mass: float | None = None, false_alarm_rate: float = 0.01, *, grouped: bool = False
    ) -> DriftCounter:
        """Counter of the scores of new rows, for the tests of drift against the calibration rows.

        With ``grouped=True`` it counts what `drift_scores` makes of scores and groups: one minus their levels.
        """
        if not grouped:
            return self.calibration.drift_counter(self._mass(mass), false_alarm_rate, reference=self.reference)
        # Other shares of the groups are no drift, so columns are not compared.
        return self.calibration.drift_counter(self._mass(mass), false_alarm_rate, 1.0 - self.checked_strata().levels)

    def drift_scores(self, scores: Array, strata: Any = None) -> Array:
        """What a drift counter counts: the scores, or one minus the levels of rows in groups."""
        return scores if strata is None else 1.0 - self.level(scores, strata)

    def _grouped(self, answer: Any, scores: ArrayLike, strata: Any) -> Array:
        """What the calibration of its group answers for every score."""
        scores = np.asarray(scores, dtype=np.float64)
        if strata is None:
            return np.asarray(answer(self.calibration, scores))
        found = np.empty(len(scores))
        for calibration, rows in self.by_stratum(strata, len(scores)):
            found[rows] = answer(calibration, scores[rows])
        return found

    def by_stratum(self, strata: Any, n_rows: int) -> list[tuple[Calibration, Indices]]:
        """Calibrations, and the rows that each one judges; that of the whole for groups not seen."""
        if strata is None:
            return [(self.calibration, np.arange(n_rows))]
        groups = self.checked_strata()
        codes = groups.codes(strata, n_rows)
        everything = [*groups.calibrations, self.calibration]
        return [(everything[code], np.flatnonzero(codes == code)) for code in np.unique(codes)]

    def checked_strata(self) -> StratumCalibrations:
        """The calibrations of the strata; refuse to answer if the model was fitted without them."""
        if self.strata is None:
            raise ValueError(Message("{strata} was given, but the model was fitted without strata.", "Leave it out."))
        return self.strata

    def _mass(self, mass: float | None) -> float:
        return self.mass if mass is None else checked_share(mass)


def _without_points(sample: VolumeSample) -> VolumeSample:
    return replace(sample, points=np.empty((0, sample.points.shape[1]))) if len(sample.points) else sample


@dataclass(frozen=True)
class HostAnswers:
    """The answers of fitted sets about rows of numbers. `ArrayAnswers` has the same methods for rows on a device."""

    sets: FittedSets
    X: Any  # validated
    run: Map = map

    def scores(self, masses: Sequence[float] = (), strata: Any = None) -> Array:
        """Scores of all rows, whatever masses and strata are asked about later."""
        return np.asarray(self.sets.scores(self.X, self.run))

    def decision(self, mass: float | None, strata: Any) -> Array:
        """Scores less offsets."""
        offset = self.sets.offset(mass)  # before any work, for the error
        scores = self.scores()
        return np.asarray(scores - (offset if strata is None else self.sets.row_offsets(mass, strata, len(scores))))

    def labels(self, mass: float | None, strata: Any) -> Indices:
        """+1 inside, -1 outside."""
        return np.where(self.decision(mass, strata) >= 0, 1, -1)

    def levels(self, strata: Any) -> Array:
        """Smallest masses whose sets contain the rows."""
        return self.sets.level(self.scores(), strata)

    def p_values(self, strata: Any) -> Array:
        """Conformal p-values."""
        return self.sets.p_value(self.scores(), strata)
