"""Statistical inference from the calibration scores: intervals, bands, p-values, detection, drift."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from mvset.array_namespace import place_of
from mvset.calibration.array_answers import ArrayAnswers
from mvset.estimators.base import SetEstimator
from mvset.inference.monitor import DriftMonitor
from mvset.inference.p_values import detect_outliers
from mvset.inference.results import Detection, DriftReport, MassBand, MassInterval
from mvset.validation import checked_share

Array = NDArray[np.float64]


class InferenceEstimator(SetEstimator):
    """Estimator of nested sets that also answers about masses, rows and batches.

    That needs calibration rows whose scores are comparable with those of new rows. Where the offsets were set on
    training rows (:class:`PluginKernelDensity`), all methods but `drift_monitor` raise an error that says so.
    """

    @property
    def mass_interval_(self) -> MassInterval:
        """95 % confidence interval for the true mass of the fitted set."""
        if not self.sets_.is_calibrated:  # as if there were no such attribute
            raise AttributeError(
                f"{type(self).__name__} is calibrated on its training rows, and has no mass_interval_."
            )
        return self.sets_.mass_interval()

    @property
    def effective_sample_size_(self) -> float:
        """How many independent rows would tell as much about the mass of the fitted set as the calibration rows do."""
        if not self.sets_.is_calibrated:
            raise AttributeError(f"{type(self).__name__} is calibrated on its training rows: it has no effective size.")
        return self.sets_.calibration.effective_size(self.sets_.mass)

    def mass_interval(self, mass: float | None = None, confidence: float = 0.95) -> MassInterval:
        """Interval for the true mass of a set.

        Parameters
        ----------
        mass : float, optional
            Mass of the set; that of the estimator by default.
        confidence : float, default=0.95
            Confidence of the interval.

        Returns
        -------
        interval : MassInterval
            The binomial interval of Clopper and Pearson for the share of calibration rows inside, with their effective
            number. With a reserved calibration set and independent rows its coverage is at least `confidence` if scores
            do not tie, and one or two percent less at worst if they do. In "split" mode each row counts once, however
            many splits hold it out, and for less where the splits disagree; the coverage is measured, not proved.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
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
            and in "split" mode from 0.5 on.
        confidence : float, default=0.95
            Probability, over draws of the calibration rows, that the true masses of all sets lie in the band.

        Returns
        -------
        band : MassBand
            With a reserved calibration set the coverage is at least `confidence`, with or without ties. In "split" mode
            it is the same bound on the scores of held-out rows: measured, not proved.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(1000, random_state=0))
        >>> band = model.mass_band([0.5, 0.9, 0.95])
        >>> band.lower.round(2), band.upper.round(2)
        (array([0.43, 0.85, 0.91]), array([0.57, 0.94, 0.98]))
        """
        check_is_fitted(self, "sets_")
        return self.sets_.mass_band(masses, confidence)

    def p_value(self, X: Any, *, by: Any = None) -> Array:
        r"""Conformal p-value of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to judge.
        by : array-like of shape (n_samples,), optional
            The group of each row, if the fit was given groups: it is then judged by the offset of its group.

        Returns
        -------
        p_values : ndarray of shape (n_samples,)
            :math:`(1 + \#\{i : s_i \le s\}) / (m + 1)` over the m calibration rows: between ``1 / (m + 1)`` and 1,
            increasing in the score. With a reserved calibration set, a new row of the same distribution has a p-value
            of at most t with probability t at most, for every t. In "split" mode the calibration rows are those held
            out, scored by models that have not seen them; the same is then measured, not proved, and only for t up to
            0.5.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(498, random_state=0))
        >>> model.p_value([[100.0, 100.0]])
        array([0.004])
        """
        if (place := place_of(X)) is not None:
            return self._answer(X, place, ArrayAnswers.p_values, by)
        scores = self.score_samples(X)
        return self.sets_.p_value(scores, by)

    def detect(self, X: Any, fdr: float = 0.1, *, by: Any = None) -> Detection:
        """Flag rows of a batch with a bound on the expected share of false flags.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The batch, all rows of it: the threshold depends on them.
        fdr : float, default=0.1
            Bound on the expected share of normal rows among those flagged (false discovery rate).
        by : array-like of shape (n_samples,), optional
            The group of each row, if the fit was given groups: it is then judged by the offset of its group.

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
        >>> from mvset.datasets import two_moons
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(1000, random_state=0))
        >>> batch = np.vstack([two_moons(90, random_state=1), np.full((10, 2), 5.0)])
        >>> model.detect(batch, fdr=0.1).flagged.nonzero()[0]
        array([90, 91, 92, 93, 94, 95, 96, 97, 98, 99])
        """
        fdr = checked_share(fdr, "fdr")
        p_values, place = self.p_value(X, by=by), place_of(X)
        return detect_outliers(p_values if place is None else place.host(p_values), fdr)

    def check_drift(
        self, X: Any, *, mass: float | None = None, false_alarm_rate: float = 0.01, by: Any = None
    ) -> DriftReport:
        """Test whether a batch of rows is still like the calibration rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows; not those of `fit`.
        mass : float, optional
            Mass of the set whose share outside is tested; that of the estimator by default.
        false_alarm_rate : float, default=0.01
            Probability of an alarm without drift, at most.
        by : array-like of shape (n_samples,), optional
            The group of each row, if the fit was given groups: it is then judged by the offset of its group.

        Returns
        -------
        report : DriftReport
            With a reserved calibration set the false-alarm rate is at most what it says; above 10 000 rows the test of
            the distribution is asymptotic. In "split" mode the calibration rows are those held out, and the rate is
            measured, not proved.

        See Also
        --------
        drift_monitor : For many batches one after the other.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(500, random_state=0))
        >>> print(model.check_drift(two_moons(400, noise=0.3, random_state=2)))
        51 of 400 rows outside, 12.75% where 4.40% were expected (p = 0.0004 by the share, 0.013 by the levels): drift.
        """
        check_is_fitted(self, "sets_")
        counter = self.sets_.drift_counter(mass, false_alarm_rate, grouped=by is not None)
        if (place := place_of(X)) is None:
            scores = self.score_samples(X)
        else:
            scores = place.host(self._answer(X, place, ArrayAnswers.scores, [] if mass is None else [mass], by))
        counter.update(self.sets_.drift_scores(scores, by))
        return counter.report()

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
        >>> from mvset.datasets import two_moons
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(500, random_state=0))
        >>> monitor = model.drift_monitor(random_state=0)
        >>> monitor.update(two_moons(200, random_state=1)), monitor.update(two_moons(200, noise=0.4, random_state=2))
        (False, True)
        """
        rate = checked_share(false_alarm_rate, "false_alarm_rate")
        check_is_fitted(self, "sets_")
        sets = self.sets_
        return DriftMonitor(
            copy.deepcopy(self),  # a later fit does not change what is watched
            sets.calibration.counted_scores,
            reserved=sets.guarantee.reserves_rows,
            decorrelation=sets.calibration.decorrelation,
            false_alarm_rate=rate,
            random_state=random_state,
        )
