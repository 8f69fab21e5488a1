"""Calibrated nested sets around any outlier detector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, _fit_context, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from mvset.calibration.calibration import COMPARABLE_FROM_UNSCALED, Calibration, HeldOut, warn_if_dependent
from mvset.calibration.constant_columns import ConstantColumns
from mvset.calibration.splits import RandomSplitting, Split, splitting, warn_if_unresolved
from mvset.estimators.base import measured_sets
from mvset.estimators.inference_estimator import InferenceEstimator
from mvset.metrics.detectors import InputFormat, check_row_by_row, input_format, score_function
from mvset.parallel import Map
from mvset.validation import check_extent, checked_labels, validated_rows, warn_if_constant
from mvset.values import ArrayValue
from mvset.volume.sampler import INDEPENDENT_DRAWS, VOLUME_METHODS, VolumeMethod, VolumeSampler


@dataclass(frozen=True)
class MeanScore(ArrayValue):
    """Mean of the scores of several fitted detectors."""

    detectors: Sequence[Any]
    as_input: InputFormat

    def __post_init__(self) -> None:
        """Check the parts, also of what a file holds."""
        if not self.detectors or not isinstance(self.as_input, InputFormat):
            raise ValueError(f"{type(self).__name__} needs detectors and the format of their rows.")

    def __call__(self, X: NDArray[np.float64], run: Map = map) -> NDArray[np.float64]:
        """Values at the rows of X."""
        if not len(X):
            return np.empty(0)
        rows = self.as_input(X)
        return np.asarray(np.mean([score_function(detector)(rows) for detector in self.detectors], axis=0))


class CalibratedSet(MetaEstimatorMixin, InferenceEstimator):
    """Nested sets of given mass from any outlier detector.

    What :class:`MinimumVolumeSet` does to the one-class SVM, for any detector with a score: it is fitted on part of the
    rows, for several random splits; the sets are those of the mean score. Offsets are set on the scores of rows that
    the detectors have not seen, so that the sets of different detectors hold the same share of new rows and their
    volumes can be compared. P-values, intervals, bands and drift tests come from the same scores: measured, not proved,
    and valid in the tail, for masses from 0.8 on.

    Parameters
    ----------
    detector : outlier detector
        With ``fit`` and ``score_samples`` or ``decision_function``: IsolationForest, LocalOutlierFactor(novelty=True),
        GaussianMixture, KernelDensity, a PyOD model, a Pipeline that ends in one. Scores of detectors fitted to
        different parts of the rows must be on the same scale, and each row must be scored by itself (PyOD's ECOD and
        COPOD do not).
    mass : float, default=0.95
        Share of the distribution that the set shall hold, in (0, 1).
    splits : int or splitter of scikit-learn, default=10
        The splits whose detectors are averaged, or their number.
    test_size : float, default=0.2
        Share of the rows held out in each split to set the offset; a splitter has its own.
    time_order : bool, default=False
        Whether rows are in time order; see :class:`MinimumVolumeSet`.
    volume_method : {"auto", "box", "importance"}, default="auto"
        How the points that measure volumes are drawn; see :class:`MinimumVolumeSet`.
    n_volume_points : int, default=10_000
        Number of these points.
    n_jobs : int or None, default=None
        Number of detectors fitted at the same time, by joblib; -1 for all cores.
    random_state : int, RandomState instance or None, default=None
        Draws the splits, the seeds of detectors that have none and the points that measure volumes.

    Attributes
    ----------
    detectors_ : list
        The fitted detectors, one per split.
    offset_ : float
        Offset of the set of mass `mass`: ``decision_function = score_samples - offset_``.
    volume_ : VolumeEstimate
        Volume of the set of mass `mass`, with its standard error.
    masses_ : ndarray of shape (10,)
        The masses of the columns of :meth:`transform`.
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string column names.

    See Also
    --------
    MinimumVolumeSet : The same for the one-class SVM, with a bandwidth chosen by volume.
    mass_volume_curve : Compare scores without calibrating them.

    Notes
    -----
    Each row is scored by the mean of the detectors that have not seen it, ``splits * test_size`` of them, and new
    rows by the mean of all. A score that is mostly chance (a forest of a few trees) varies less in the mean of more,
    and the set then holds more than asked for. More splits, or more trees, fix that.

    Examples
    --------
    >>> from sklearn.ensemble import IsolationForest
    >>> from mvset import CalibratedSet, MinimumVolumeSet
    >>> from mvset.datasets import two_moons
    >>> X = two_moons(500, random_state=0)
    >>> forest = CalibratedSet(IsolationForest(), mass=0.95, random_state=0).fit(X)
    >>> ours = MinimumVolumeSet(mass=0.95, random_state=0).fit(X)
    >>> ours.volume_.value < forest.volume_.value
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "detector": [HasMethods(["fit"])],
        "mass": [Interval(Real, 0, 1, closed="neither")],
        "splits": [Interval(Integral, 1, None, closed="left"), HasMethods("split")],
        "test_size": [Interval(Real, 0, 1, closed="neither")],
        "time_order": ["boolean"],
        "volume_method": [StrOptions(set(VOLUME_METHODS))],
        "n_volume_points": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        detector: Any,
        mass: float = 0.95,
        *,
        splits: Any = 10,
        test_size: float = 0.2,
        time_order: bool = False,
        volume_method: VolumeMethod = "auto",
        n_volume_points: int = 10_000,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.detector = detector
        self.mass = mass
        self.splits = splits
        self.test_size = test_size
        self.time_order = time_order
        self.volume_method = volume_method
        self.n_volume_points = n_volume_points
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> CalibratedSet:
        """Fit a detector on every split and calibrate their mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of normal behaviour.
        y : Ignored
            Present for API consistency.
        groups : array-like of shape (n_samples,), optional
            What several rows have in common; see :meth:`MinimumVolumeSet.fit`.

        Returns
        -------
        self : CalibratedSet
            The fitted estimator.

        Examples
        --------
        >>> from sklearn.mixture import GaussianMixture
        >>> from mvset import CalibratedSet
        >>> from mvset.datasets import paper_mixture
        >>> X = paper_mixture().sample(500, random_state=0)
        >>> model = CalibratedSet(GaussianMixture(2), random_state=0).fit(X)
        >>> model.predict([[2.5, 2.5], [5.0, 5.0]])
        array([ 1, -1])
        """
        as_input = input_format(X)
        X = validated_rows(self, X, reset=True)
        groups = None if groups is None else checked_labels(groups, len(X), "groups")
        check_extent(X)
        warn_if_constant(self, X)
        rng = check_random_state(self.random_state)
        rule = splitting(self.splits, self.test_size, X, groups=groups, time_order=self.time_order)
        splits = rule.splits(np.arange(len(X)), rng)
        seeded = [_with_seeds(clone(self.detector), rng) for _ in splits]
        pairs = zip(seeded, splits, strict=True)
        fits = (delayed(_fitted)(detector, as_input(X[split.train])) for detector, split in pairs)
        self.detectors_ = list(Parallel(self.n_jobs)(fits))
        scores = _unseen_scores(self.detectors_, splits, X, as_input)
        score = MeanScore(self.detectors_, as_input)
        calibration = Calibration.from_splits(
            HeldOut.of(X, splits, scores, score, groups),
            ordered=True if self.time_order else None,
            comparable_from=COMPARABLE_FROM_UNSCALED,
        )
        warn_if_unresolved(self.mass, calibration.n_rows)
        if isinstance(rule, RandomSplitting):
            warn_if_dependent(calibration, self.mass)
        self.sets_ = measured_sets(
            score,
            self.mass,
            calibration,
            ConstantColumns.of(X),
            VolumeSampler(self.volume_method, X, self.n_volume_points, rng, INDEPENDENT_DRAWS),
        )
        return self


def _with_seeds(detector: Any, rng: np.random.RandomState) -> Any:
    """The detector with a seed wherever it, or a part of it, takes one and has none."""
    parameters = detector.get_params()
    names = sorted(n for n, value in parameters.items() if n.split("__")[-1] == "random_state" and value is None)
    return detector.set_params(**{name: rng.randint(2**31 - 1) for name in names}) if names else detector


def _fitted(detector: Any, rows: Any) -> Any:
    detector.fit(rows)
    return detector


def _unseen_scores(
    detectors: Sequence[Any], splits: Sequence[Split], X: NDArray[np.float64], as_input: InputFormat
) -> list[NDArray[np.float64]]:
    """Scores of the rows that each split holds out, by its own detector."""
    scores = []
    for detector, split in zip(detectors, splits, strict=True):
        score, rows = score_function(detector), as_input(X[split.held_out])
        scores.append(np.asarray(score(rows), dtype=np.float64))
        check_row_by_row(detector, score, rows, scores[-1])
    return scores
