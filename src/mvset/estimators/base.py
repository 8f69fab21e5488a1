"""What every fitted estimator of nested sets answers: scores, decisions, levels, volumes and inference about masses."""

import copy
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from mvset.bandwidth.curves import mass_grid
from mvset.calibration.calibration import Calibration
from mvset.calibration.constant_columns import ConstantColumns
from mvset.calibration.fitted_sets import FittedSets, HostAnswers, ScoreFunction
from mvset.devices.answers import ArrayAnswers
from mvset.devices.places import Place, place_of, validated_array
from mvset.estimators.drift_monitor import DriftMonitor
from mvset.exceptions import CalibrationWarning, warn
from mvset.inference.p_values import detect_outliers
from mvset.inference.projections import RowReference
from mvset.inference.results import Detection, DriftResult, MassBand, MassInterval
from mvset.parallel import thread_map
from mvset.rows.encoding import RowEncoding
from mvset.rows.validation import check_columns, checked_share, column_names, validated_rows
from mvset.svm.score import Score
from mvset.values import Array, Indices
from mvset.volume.measure import VolumeEstimate
from mvset.volume.sampler import MEASURED_COLUMNS, VolumeSampler, warn_if_unreliable
from mvset.wording import counted


class SetEstimator(OutlierMixin, BaseEstimator):
    """Base class of the estimators: `fit` assigns `sets_`, and every method scores rows and asks it.

    Intervals, bands, p-values and drift tests need calibration rows whose scores are comparable with the scores of new
    rows. Without such rows (the classes of :mod:`mvset.paper`) these methods raise an error that says so.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "mass": [Interval(Real, 0, 1, closed="neither")],
        "n_volume_points": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    mass: float
    n_jobs: int | None
    n_features_in_: int
    sets_: FittedSets

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Check what a file or a pickle holds."""
        super().__setstate__(state)
        if "sets_" not in state:
            return
        if not isinstance(self.sets_, FittedSets):
            raise ValueError(f"{type(self).__name__}.sets_ is of the wrong type.")
        check_columns(self, self.sets_.n_columns)

    @property
    def offset_(self) -> float:
        """Offset of the fitted set."""
        return self.sets_.offset()

    @property
    def volume_(self) -> VolumeEstimate:
        """Volume of the fitted set."""
        return self.sets_.volume()

    @property
    def mass_interval_(self) -> MassInterval:
        """95 % confidence interval for the true mass of the fitted set."""
        return self._calibrated_sets.mass_interval()

    @property
    def effective_sample_size_(self) -> float:
        """How many independent rows would tell as much about the mass of the fitted set as the calibration rows do."""
        return self._calibrated_sets.calibration.effective_size(self.sets_.mass)

    @property
    def _calibrated_sets(self) -> FittedSets:
        if not self.sets_.calibration.is_calibrated:  # as if there were no such attribute
            raise AttributeError(f"{type(self).__name__} keeps no calibration scores: its mass on new rows is unknown.")
        return self.sets_

    @property
    def guarantee_(self) -> str:
        """Sentence that states the guarantee for the mass of the fitted set."""
        stated = self.sets_.guarantee.stated(self.sets_.mass)
        return stated + (" This ignores the imputation of missing values." if self._encoding.imputation else "")

    def score_samples(self, X: Any) -> Array:
        """Return the score of each row, before the offset.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Higher is more normal. Scores of :class:`MinimumVolumeSet` are logarithms of the aggregated solution
            function. They fall without end with the distance from the data.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> model = MinimumVolumeSet(random_state=0).fit(X)
        >>> bool((model.decision_function(X) == model.score_samples(X) - model.offset_).all())
        True
        """
        return self._answer("scores", X)

    def _answer(self, question: str, X: Any, *arguments: Any) -> NDArray[Any]:
        """What the sets answer about rows: an array of numpy, or of the library and on the device of the rows."""
        check_is_fitted(self, "sets_")
        place = place_of(X)
        rows = self._rows(X) if place is None else self._rows_at(X, place)
        with thread_map(self.n_jobs) as run:
            answers = (
                HostAnswers(self.sets_, rows, run) if place is None else ArrayAnswers(self.sets_, rows, run, place)
            )
            answer: NDArray[Any] = getattr(answers, question)(*arguments)
            return answer

    def _rows_at(self, X: Any, place: Place) -> Any:
        """Rows of an array that is not one of numpy, validated where they are judged: there, or in host memory."""
        if place.in_host_memory:
            return self._rows(place.double_on_host(validated_array(self, X, place, self.n_features_in_, finite=False)))
        if self._encoding:
            what = "has categories" if self._encoding.categories else "fills missing values"
            raise ValueError(f"The model {what}: give the rows in host memory, as a table or an array.")
        return validated_array(self, X, place, self.n_features_in_)

    def _rows_on_host(self, X: Any) -> Array:
        """Rows as numbers in host memory, wherever they come from."""
        if (place := place_of(X)) is None:
            return self._rows(X)
        rows = self._rows_at(X, place)
        return rows if isinstance(rows, np.ndarray) else place.double_on_host(rows)

    @property
    def _encoding(self) -> RowEncoding:
        """The category columns and how missing values are filled."""
        function = self.sets_.function
        return function.encoding if isinstance(function, Score) else RowEncoding(self.n_features_in_)

    def _rows(self, X: Any) -> Array:
        """Rows as numbers, with codes in place of categories."""
        encoding = self._encoding
        coded = encoding.categories.coded(X, getattr(self, "feature_names_in_", None))
        return encoding.answerable(validated_rows(self, coded, reset=False, missing=encoding.imputation is not None))

    def decision_function(self, X: Any, mass: float | None = None, *, strata: Any = None) -> Array:
        """Score minus offset: negative outside the set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.
        mass : float, optional
            Mass of the nested set to compare with. The default is the mass of the estimator.
        strata : array-like of shape (n_samples,), optional
            The stratum of each row, if `strata` was passed to `fit`. Each row is compared with the offset of its
            stratum.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
            ``score_samples(X) - offset(mass)``.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(X)
        >>> bool((model.decision_function(X, mass=0.9) <= model.decision_function(X, mass=0.99)).all())
        True
        """
        return self._answer("decision", X, mass, strata)

    def predict(self, X: Any, mass: float | None = None, *, strata: Any = None) -> Indices:
        """Return for each row whether it lies in the set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to judge.
        mass : float, optional
            Mass of the nested set to compare with. The default is the mass of the estimator.
        strata : array-like of shape (n_samples,), optional
            The stratum of each row, if `strata` was passed to `fit`. Each row is compared with the offset of its
            stratum.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            +1 inside, -1 outside.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> model = MinimumVolumeSet(mass=0.95, random_state=0).fit(X)
        >>> inside, deep_inside = model.predict(X) == 1, model.predict(X, mass=0.5) == 1
        >>> bool(inside[deep_inside].all())
        True
        """
        return self._answer("labels", X, mass, strata)

    def level(self, X: Any, *, strata: Any = None) -> Array:
        """Smallest mass whose set contains each row.

        On new rows from the same distribution levels are close to uniform on [0, 1], in steps of one over the number
        of held-out rows; with "pac" they are higher, by its safety margin.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to judge.
        strata : array-like of shape (n_samples,), optional
            The stratum of each row, if `strata` was passed to `fit`. Each row is compared with the offset of its
            stratum.

        Returns
        -------
        levels : ndarray of shape (n_samples,)
            Between 0, in every set, and 1, in none; decreasing in the score. ``level(X) <= mass`` exactly where
            ``predict(X, mass)`` is +1.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> model = MinimumVolumeSet(random_state=0).fit(X)
        >>> model.level([[100.0, 100.0]])
        array([1.])
        >>> bool(((model.level(X) <= 0.9) == (model.predict(X, mass=0.9) == 1)).all())
        True
        """
        return self._answer("levels", X, strata)

    def offset(self, mass: float) -> float:
        """Offset of the set of a given mass.

        Parameters
        ----------
        mass : float
            In (0, 1).

        Returns
        -------
        offset : float
            Score of the calibration row whose rank stands for the mass.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(X)
        >>> model.offset(0.95) == model.offset_
        True
        >>> model.offset(0.9) > model.offset_
        True
        """
        check_is_fitted(self, "sets_")
        return self.sets_.offset(mass)

    def volume(self, mass: float) -> VolumeEstimate:
        """Volume of the set of a given mass.

        Parameters
        ----------
        mass : float
            In (0, 1).

        Returns
        -------
        volume : VolumeEstimate
            In the units of the columns: their product.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> model = MinimumVolumeSet(random_state=0).fit(two_moons(300, random_state=0))
        >>> model.volume(0.5).value < model.volume(0.95).value
        True
        """
        check_is_fitted(self, "sets_")
        return self.sets_.volume(mass)

    def mass_interval(self, mass: float | None = None, confidence: float = 0.95) -> MassInterval:
        """Interval for the true mass of a set.

        Parameters
        ----------
        mass : float, optional
            Mass of the set. The default is the mass of the estimator.
        confidence : float, default=0.95
            Confidence of the interval.

        Returns
        -------
        interval : MassInterval
            The binomial interval of Clopper and Pearson for the share of calibration rows inside, with their effective
            number. With a reserved calibration set and independent rows its coverage is at least `confidence` if scores
            do not tie, and one or two percent less at worst if they do. In "cross" mode each row counts once, however
            many splits hold it out, and for less where the splits disagree; the coverage is measured, not proved.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(500, random_state=0))
        >>> print(model.mass_interval(0.8))
        0.804 (0.749 to 0.851 with 95 % confidence)
        """
        check_is_fitted(self, "sets_")
        return self.sets_.mass_interval(mass, confidence)

    def mass_band(self, masses: ArrayLike | None = None, confidence: float = 0.95) -> MassBand:
        """Bounds for the true masses of all nested sets at once.

        Parameters
        ----------
        masses : array-like of shape (n_masses,), optional
            Masses of the sets to give bounds for; by default 0.01, 0.02, … 0.99 as far as the calibration rows reach,
            and in "cross" mode starting at 0.5.
        confidence : float, default=0.95
            Probability, over draws of the calibration rows, that the true masses of all sets lie in the band.

        Returns
        -------
        band : MassBand
            With a reserved calibration set the coverage is at least `confidence`, with or without ties. In "cross" mode
            it is the same bound on the scores of held-out rows: measured, not proved.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(1000, random_state=0))
        >>> band = model.mass_band([0.5, 0.9, 0.95])
        >>> band.lower.round(2), band.upper.round(2)
        (array([0.43, 0.85, 0.91]), array([0.57, 0.94, 0.98]))
        """
        check_is_fitted(self, "sets_")
        return self.sets_.calibration.mass_band(masses, confidence)

    def p_value(self, X: Any, *, strata: Any = None) -> Array:
        r"""Conformal p-value of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to judge.
        strata : array-like of shape (n_samples,), optional
            The stratum of each row, if `strata` was passed to `fit`. Each row is compared with the offset of its
            stratum.

        Returns
        -------
        p_values : ndarray of shape (n_samples,)
            :math:`(1 + \#\{i : s_i \le s\}) / (m + 1)` over the m calibration rows: between ``1 / (m + 1)`` and 1,
            increasing in the score. With a reserved calibration set, a new row of the same distribution has a p-value
            of at most t with probability t at most, for every t. In "cross" mode the calibration rows are those held
            out, scored by models that have not seen them; the same is then measured, not proved, and only for t up to
            0.5.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(498, random_state=0))
        >>> model.p_value([[100.0, 100.0]])
        array([0.004])
        """
        return self._answer("p_values", X, strata)

    def detect(self, X: Any, fdr: float = 0.1, *, strata: Any = None) -> Detection:
        """Flag rows of a batch with a bound on the expected share of false flags.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The batch, all rows of it: the threshold depends on them.
        fdr : float, default=0.1
            Bound on the expected share of normal rows among those flagged (false discovery rate).
        strata : array-like of shape (n_samples,), optional
            The stratum of each row, if `strata` was passed to `fit`. Each row is compared with the offset of its
            stratum.

        Returns
        -------
        detection : Detection
            By the procedure of Benjamini and Hochberg on conformal p-values, whose positive dependence it allows. With
            m calibration rows no p-value is below ``1 / (m + 1)``: to flag k of n rows takes ``m >= n / (k fdr) - 1``.

        References
        ----------
        S. Bates, E. Candès, L. Lei, Y. Romano, M. Sesia, "Testing for outliers with conformal p-values", Annals of
        Statistics 51 (2023).

        Examples
        --------
        >>> import numpy as np
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(1000, random_state=0))
        >>> batch = np.vstack([two_moons(90, random_state=1), np.full((10, 2), 5.0)])
        >>> model.detect(batch, fdr=0.1).flagged.nonzero()[0]
        array([90, 91, 92, 93, 94, 95, 96, 97, 98, 99])
        """
        fdr = checked_share(fdr, "fdr")
        p_values, place = self.p_value(X, strata=strata), place_of(X)
        found = detect_outliers(p_values if place is None else place.host(p_values), fdr)
        if strata is None and not found.flagged.any():
            _warn_if_none_can_be_flagged(self.sets_.calibration.n_rows, found)
        return found

    def check_drift(
        self, X: Any, *, mass: float | None = None, false_alarm_rate: float = 0.01, strata: Any = None
    ) -> DriftResult:
        """Test whether a batch of rows is still like the calibration rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows, not the training rows.
        mass : float, optional
            Mass of the set whose share outside is tested. The default is the mass of the estimator.
        false_alarm_rate : float, default=0.01
            Probability of an alarm without drift, at most.
        strata : array-like of shape (n_samples,), optional
            The stratum of each row, if `strata` was passed to `fit`. Each row is compared with the offset of its
            stratum.

        Returns
        -------
        report : DriftResult
            With a reserved calibration set the false-alarm rate is at most what it says. The tests of the columns are
            asymptotic, and above 10 000 rows also the test of the levels. In "cross" mode the calibration rows are the
            rows held out, and the rate is measured, not proved.

        See Also
        --------
        drift_monitor : For many batches one after the other.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(500, random_state=0))
        >>> drift = model.check_drift(two_moons(400, noise=0.3, random_state=2))
        >>> drift.drifted, drift.n_outside, f"{drift.share_p_value:.2g}"
        (True, 52, '0.00029')
        """
        check_is_fitted(self, "sets_")
        counter = self.sets_.drift_counter(mass, false_alarm_rate, grouped=strata is not None)
        scores, place = self._answer("scores", X, [] if mass is None else [mass], strata), place_of(X)
        scores = scores if place is None else place.host(scores)
        counter.update(self.sets_.drift_scores(scores, strata), self._rows_on_host(X))
        return counter.report(column_names(self))

    def drift_monitor(
        self, *, false_alarm_rate: float = 0.01, random_state: int | np.random.RandomState | None = None
    ) -> DriftMonitor:
        """Watch over batches of rows that come one after the other.

        Parameters
        ----------
        false_alarm_rate : float, default=0.01
            Probability that it ever gives a false alarm, however many batches it sees, at most: exactly so in every
            mode, as long as rows come in random order.
        random_state : int, RandomState instance or None, default=None
            Breaks ties between scores.

        Returns
        -------
        monitor : DriftMonitor
            Its ``update(X)`` takes a batch and says whether there has been a drift: from the calibration rows where
            these are reserved, else from the rows it watched first.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(500, random_state=0))
        >>> monitor = model.drift_monitor(random_state=0)
        >>> monitor.update(two_moons(200, random_state=1)), monitor.update(two_moons(200, noise=0.4, random_state=2))
        (False, True)
        """
        rate = checked_share(false_alarm_rate, "false_alarm_rate")
        check_is_fitted(self, "sets_")
        model = copy.deepcopy(self)  # a later fit does not change what is watched
        return DriftMonitor(model, self.sets_, false_alarm_rate=rate, random_state=random_state)


def _warn_if_none_can_be_flagged(m: int, found: Detection) -> None:
    """Warn if calibration rows are too few to flag the rows whose p-values are as small as they can be."""
    n, extreme = len(found.p_values), max(1, int(np.sum(found.p_values <= 1.0 / (m + 1.0))))
    needed = int(np.ceil(n / (extreme * found.fdr) - 1.0))
    if m < needed:
        rows, least = counted(m, "calibration row"), 1.0 / (m + 1.0)
        warn(
            f"{rows} are too few to flag any row, because no p-value is below {least:.2g}. To flag the {extreme} most "
            f"extreme of {n} rows at a false discovery rate of {found.fdr:g} takes {needed} calibration rows.",
            CalibrationWarning,
        )


def measured_sets(
    score: ScoreFunction,
    mass: float,
    calibration: Calibration,
    constants: ConstantColumns,
    sampler: VolumeSampler,
    reference: RowReference | None = None,
) -> FittedSets:
    """Nested sets of any score, with a volume sample for the largest set around the mass; warns if it is too small."""
    masses = mass_grid(mass)
    largest = calibration.offset(masses[-1])
    draw = sampler.draw_if_sufficient if sampler.n_varying > MEASURED_COLUMNS else sampler.draw
    sample = draw(lambda points: score(points) >= largest)
    sets = FittedSets(
        function=score,
        mass=mass,
        masses=masses,
        calibration=calibration,
        constants=constants,
        volume_sample=sample,
        sample_scores=score(sample.points),
        reference=reference,
    )
    warn_if_unreliable(sets.volume(masses[-1]), sample, f"the set of mass {masses[-1]:.3g}", "n_volume_points")
    return sets
