"""Calibrated nested sets around any outlier detector."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import MetaEstimatorMixin, _fit_context, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval

from mvset.calibration.calibration import COMPARABLE_FROM_UNSCALED
from mvset.calibration.constant_columns import ConstantColumns
from mvset.calibration.row_order import RowOrder, warn_about_order
from mvset.calibration.split_models import pooled_scores
from mvset.calibration.splits import Split, splitting
from mvset.calibration.views import HeldOut
from mvset.calibration.ways import HeldOutRows
from mvset.estimators.base import measured_sets
from mvset.estimators.explained import ExplainedSetEstimator
from mvset.metrics.detectors import InputFormat, check_row_by_row, input_format, score_function
from mvset.parallel import Map
from mvset.rows.stream import row_stream
from mvset.rows.survey import all_rows
from mvset.rows.validation import checked_labels, checked_ranges, column_names, validated_rows
from mvset.svm.scaling import Scaling
from mvset.svm.score import Score, View
from mvset.values import Array, ArrayValue
from mvset.volume.sampler import INDEPENDENT_DRAWS, VolumeSampler

_N_EXAMPLES = 1000


@dataclass(frozen=True)
class MeanScore(ArrayValue):
    """Mean of the scores of several fitted detectors."""

    detectors: Sequence[Any]
    as_input: InputFormat

    def _check(self) -> None:
        usable = self.detectors and isinstance(self.as_input, InputFormat)
        self._require(usable, " needs detectors and the format of their rows.")

    def __call__(self, X: Array, run: Map = map) -> Array:
        """Values at the rows of X."""
        if not len(X):
            return np.empty(0)
        rows = self.as_input(X)
        return np.asarray(np.mean([score_function(detector)(rows) for detector in self.detectors], axis=0))


@dataclass(repr=False, eq=False)
class CalibratedSet(MetaEstimatorMixin, ExplainedSetEstimator):
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
    time_order : bool, default=False
        Whether rows are in time order; see :class:`MinimumVolumeSet`.
    n_volume_points : int, default=10_000
        Number of the points that measure volumes.
    n_jobs : int or None, default=None
        Number of detectors fitted at the same time, by joblib; -1 for all cores.
    random_state : int, RandomState instance or None, default=None
        Draws the splits, the seeds of detectors that have none and the points that measure volumes.

    Attributes
    ----------
    detectors_ : list
        The fitted detectors, one per split.
    examples_ : ndarray of shape (n_examples, n_features_in_)
        Up to a thousand training rows inside the set, with which rows are compared that are explained.
    offset_ : float
        Offset of the set of mass `mass`: ``decision_function = score_samples - offset_``.
    volume_ : VolumeEstimate
        Volume of the set of mass `mass`, with its standard error.
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
    Each row is scored by the mean of the detectors that have not seen it, a fifth of them, and new
    rows by the mean of all. A score that is mostly chance (a forest of a few trees) varies less in the mean of more,
    and the set then holds more than asked for. More splits, or more trees, fix that.

    Examples
    --------
    >>> from sklearn.ensemble import IsolationForest
    >>> from mvset import CalibratedSet, MinimumVolumeSet
    >>> from mvset.paper.datasets import two_moons
    >>> X = two_moons(500, random_state=0)
    >>> forest = CalibratedSet(IsolationForest(), mass=0.95, random_state=0).fit(X)
    >>> ours = MinimumVolumeSet(mass=0.95, random_state=0).fit(X)
    >>> ours.volume_.value < forest.volume_.value
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ExplainedSetEstimator._parameter_constraints,
        "detector": [HasMethods(["fit"])],
        "splits": [Interval(Integral, 1, None, closed="left"), HasMethods("split")],
        "time_order": ["boolean"],
    }

    detector: Any
    mass: float = 0.95
    _: KW_ONLY
    splits: Any = 10
    time_order: bool = False
    n_volume_points: int = 10_000
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Fit a detector on every split and calibrate their mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream of rows
            Rows of normal behaviour, all numbers. Streams are read into memory.
        y : Ignored
            Present for API consistency.
        groups : array-like of shape (n_samples,), optional
            Labels of rows that belong together; see :meth:`MinimumVolumeSet.fit`.

        Returns
        -------
        self : CalibratedSet
            The fitted estimator.

        Examples
        --------
        >>> from sklearn.mixture import GaussianMixture
        >>> from mvset import CalibratedSet
        >>> from mvset.paper.datasets import paper_mixture
        >>> X = paper_mixture().sample(500, random_state=0)
        >>> model = CalibratedSet(GaussianMixture(2), random_state=0).fit(X)
        >>> model.predict([[2.5, 2.5], [5.0, 5.0]])
        array([ 1, -1])
        """
        stream = row_stream(X)
        if stream is not None:
            X = all_rows(stream)
        as_input = input_format(X)
        X = validated_rows(self, X, reset=True)
        if stream is not None:
            self.feature_names_in_ = np.array(stream.names, dtype=object)
        groups = None if groups is None else checked_labels(groups, len(X), "groups")
        lowest, highest = checked_ranges(self, X, one_scale=False)
        rng = check_random_state(self.random_state)
        rule = splitting(self.splits, X, groups=groups, time_order=self.time_order)
        splits = rule.splits(np.arange(len(X)), rng)
        seeded = [_with_seeds(clone(self.detector), rng) for _ in splits]
        pairs = zip(seeded, splits, strict=True)
        fits = (delayed(_fitted)(detector, as_input(X[split.train])) for detector, split in pairs)
        self.detectors_ = list(Parallel(self.n_jobs)(fits))
        scores = _unseen_scores(self.detectors_, splits, X, as_input)
        score = MeanScore(self.detectors_, as_input)
        order = RowOrder.of(X, time_order=self.time_order, groups=groups)
        held_out = HeldOutRows(X, np.arange(len(X)), splits, groups, order.dependence(rule))
        found = HeldOut(*pooled_scores(X, splits, scores, score), scores)
        calibration = held_out.cross_calibrated(found, COMPARABLE_FROM_UNSCALED).calibration
        warn_about_order(order, calibration, self.mass, rule, column_names(self))
        self.sets_ = measured_sets(
            score,
            self.mass,
            calibration,
            ConstantColumns.between(lowest, highest),
            VolumeSampler("auto", X, self.n_volume_points, rng, INDEPENDENT_DRAWS),
            order.reference,
        )
        drawn = X[np.sort(rng.permutation(len(X))[:_N_EXAMPLES])]
        known = self.sets_.scores(drawn)
        self.examples_ = drawn[known >= min(self.offset_, known.max())]
        return self

    @property
    def _neighbourhood(self) -> Score:
        """A kernel density estimate of the examples, with correlations removed; its bandwidth is by Scott's rule."""
        rows = self.examples_
        n_rows, n_columns = rows.shape
        scaling = Scaling.fitted("whiten" if n_rows > n_columns else "standard", rows, np.zeros(n_columns))
        view = View(np.full((1, n_rows), 1.0 / n_rows), n_rows ** (-1.0 / (n_columns + 4.0)), [scaling])
        return Score(self._encoding, rows, rows.mean(axis=0), [view])


def _with_seeds(detector: Any, rng: np.random.RandomState) -> Any:
    """The detector with a seed wherever it, or a part of it, takes one and has none."""
    parameters = detector.get_params()
    names = sorted(n for n, value in parameters.items() if n.split("__")[-1] == "random_state" and value is None)
    return detector.set_params(**{name: rng.randint(2**31 - 1) for name in names}) if names else detector


def _fitted(detector: Any, rows: Any) -> Any:
    detector.fit(rows)
    return detector


def _unseen_scores(detectors: Sequence[Any], splits: Sequence[Split], X: Array, as_input: InputFormat) -> list[Array]:
    """Scores of the rows that each split holds out, by its own detector."""
    scores = []
    for detector, split in zip(detectors, splits, strict=True):
        score, rows = score_function(detector), as_input(X[split.held_out])
        scores.append(np.asarray(score(rows), dtype=np.float64))
        check_row_by_row(detector, score, rows, scores[-1])
    return scores
