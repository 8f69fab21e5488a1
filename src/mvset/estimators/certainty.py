"""How sure are you? What a fitted estimator says about its mass, about single rows, about batches and about drift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control
from sklearn.utils.validation import check_is_fitted

from mvset.calibration.level_sets import LevelSets
from mvset.calibration.offsets import offset_at
from mvset.inference.bands import order_statistic_bounds
from mvset.inference.drift import DriftMonitor, DriftReport, DriftTally, binomial_interval
from mvset.inference.results import Detection, MassBand, MassInterval
from mvset.validation import checked_mass, validated_rows

Array = NDArray[np.float64]

# In "split" mode a row held out is scored by the few models that have not seen it, a new one by the mean of all. In the
# tail these have the same law; below this mass, where the score is ragged, they do not.
_TAIL = 0.8


class CertaintyMixin:
    """Methods over the scores of calibration rows; `fit` hands them over through :meth:`_keep_calibration`."""

    mass: float
    offset_: float
    offset: Callable[[float], float]
    score_samples: Callable[[Any], Array]
    _level_sets: LevelSets[Any]

    def _keep_calibration(self, scores: Array, held_out: Sequence[Array]) -> None:
        """Take over the scores of the calibration rows, and those of the rows that each split holds out."""
        self._calibration_scores = np.sort(scores)
        self._held_out_scores = np.stack(held_out)
        self._least_described = 0.0 if self._reserved else self._where_scores_agree()
        self.mass_interval_ = self.mass_interval()

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
            The binomial interval of Clopper and Pearson for the share of calibration rows inside. With a reserved
            calibration set its confidence is at least what it says as long as scores do not tie, and a percent or two
            less at worst when they do. In "split" mode it reaches over two such intervals: for the share of rows held
            out inside the set of their split, and for the share inside the set itself by the scores of models that have
            not seen them. Each row counts once, however many splits hold it out. Since splits share rows and models
            its coverage is measured, not proved; for masses below 0.8 of small tables, or of repeated rows, it is too
            low.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(500, random_state=0))
        >>> print(model.mass_interval(0.8))
        0.804 (0.749 to 0.851 with 95 % confidence)
        """
        confidence = checked_mass(confidence, "confidence")
        check_is_fitted(self, "_calibration_scores")
        n_rows, share = len(self._calibration_scores), self._share_inside(mass)
        directly = float(np.mean(self._calibration_scores >= self._offset_of(mass)))
        ends = [binomial_interval(each * n_rows, n_rows, confidence) for each in (share, directly)]
        return MassInterval(share, min(low for low, _ in ends), max(high for _, high in ends), confidence, n_rows)

    def mass_band(self, masses: ArrayLike | None = None, confidence: float = 0.95) -> MassBand:
        """Bounds for the true masses of all nested sets at once.

        Parameters
        ----------
        masses : array-like of shape (n_masses,), optional
            Masses of the sets to give bounds for; by default 0.01, 0.02, … 0.99 as far as the calibration rows reach,
            and in "split" mode from 0.8 on, or from where the splits agree.
        confidence : float, default=0.95
            Probability, over draws of the calibration rows, that the true masses of all sets lie in the band.

        Returns
        -------
        band : MassBand
            With a reserved calibration set the confidence is at least what it says, ties or not. In "split" mode it is
            the same bound on the scores of rows held out: measured, not proved, not for masses below 0.8, and not for
            tables with many repeated rows.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(1000, random_state=0))
        >>> band = model.mass_band([0.5, 0.9, 0.95])
        >>> band.lower.round(2), band.upper.round(2)
        (array([0.43, 0.85, 0.91]), array([0.57, 0.94, 0.98]))
        """
        confidence = checked_mass(confidence, "confidence")
        check_is_fitted(self, "_calibration_scores")
        scores = self._calibration_scores
        if masses is None:
            described = [m for m in np.arange(1, 100) / 100 if m > self._least_described - 1e-9]
            masses = [m for m in described if self._level_sets.can_claim(m)]
        asked = np.atleast_1d(np.asarray(masses, dtype=np.float64))
        offsets = np.array([self.offset(float(mass)) for mass in asked])
        lower, upper = order_statistic_bounds(len(scores), confidence)
        # Between the last row inside and the first outside, the mass is between their order statistics.
        inside = len(scores) - np.searchsorted(scores, offsets, side="left")
        return MassBand(asked, np.append(0.0, lower)[inside], np.append(upper, 1.0)[inside], confidence)

    def p_value(self, X: Any) -> Array:
        r"""Conformal p-values: how surprising each row is, on a scale that promises something.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        p_values : ndarray of shape (n_samples,)
            :math:`(1 + \#\{i : s_i \le s\}) / (m + 1)` over the m calibration rows: between ``1 / (m + 1)`` and 1,
            increasing in the score. With a reserved calibration set, a new row of the same distribution has a p-value
            of at most t with probability t at most, for every t. In "split" mode the calibration rows are those held
            out, scored by models that have not seen them; the same is then measured, not proved, and only for t up to
            0.2.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(498, random_state=0))
        >>> model.p_value([[100.0, 100.0]])
        array([0.004])
        """
        check_is_fitted(self, "_calibration_scores")
        at_most = np.searchsorted(self._calibration_scores, self.score_samples(X), side="right")
        return np.asarray((1.0 + at_most) / (len(self._calibration_scores) + 1.0))

    def detect(self, X: Any, fdr: float = 0.1) -> Detection:
        """Flag rows of a batch such that few of those flagged are normal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The batch, all rows of it: the threshold depends on them.
        fdr : float, default=0.1
            Expected share of normal rows among those flagged, at most.

        Returns
        -------
        detection : Detection
            By the procedure of Benjamini and Hochberg on conformal p-values, which depend on each other positively, in
            the way it needs. With m calibration rows no p-value is below ``1 / (m + 1)``: to flag k of n rows takes
            ``m >= n / (k fdr) - 1``.

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
        fdr = checked_mass(fdr, "fdr")
        p_values = self.p_value(X)
        flagged = false_discovery_control(p_values, method="bh") <= fdr
        return Detection(flagged, p_values, float(p_values[flagged].max(initial=0.0)), fdr)

    def check_drift(self, X: Any, *, mass: float | None = None, false_alarm_rate: float = 0.01) -> DriftReport:
        """Test whether a batch of rows is still like the calibration rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows; not those of `fit`.
        mass : float, optional
            Mass of the set whose share outside is tested; that of the estimator by default.
        false_alarm_rate : float, default=0.01
            Probability of an alarm without drift, at most.

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
        >>> print(model.check_drift(two_moons(400, noise=0.3, random_state=1)))
        48 of 400 rows outside, 12.00% where 4.40% were expected (p = 0.0011 by the share, 0.13 by the levels): drift.
        """
        tally = self._drift_tally(mass, false_alarm_rate)
        tally.update(self.score_samples(X))
        return tally.report()

    def _drift_tally(self, mass: float | None, false_alarm_rate: float) -> DriftTally:
        """What counts the scores of a batch, in one go or part by part."""
        rate = checked_mass(false_alarm_rate, "false_alarm_rate")
        check_is_fitted(self, "_calibration_scores")
        cap = np.inf if self._reserved else self.offset(self._least_described)
        return DriftTally(self._calibration_scores, self._offset_of(mass), self._share_inside(mass), cap, rate)

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
        rate = checked_mass(false_alarm_rate, "false_alarm_rate")
        check_is_fitted(self, "_calibration_scores")
        reference = self._calibration_scores if self._reserved else np.empty(0)
        level_sets = self._level_sets  # of now: a later fit does not change what is watched

        def score(rows: Any) -> Array:
            return np.asarray(level_sets.function(validated_rows(self, rows, reset=False)))

        return DriftMonitor(score, reference, rate, random_state)

    @property
    def _reserved(self) -> bool:
        return self._level_sets.promise.mode != "split"

    def _where_scores_agree(self) -> float:
        """Least mass from which on the scores of held-out rows tell the same as the splits that hold them out.

        The inside of the sets may be a plateau, of another height in every split: there a score says which models gave
        it, not where the row is. It then differs how many rows are inside the set of their split, and how many inside
        the set itself, by more than twice its standard error. The last mass if they never agree.
        """
        n_rows = len(self._calibration_scores)
        resolved = 1.0 - 1.0 / self._held_out_scores.shape[1]
        masses = np.array([mass for mass in _TAIL + 0.01 * np.arange(20) if mass <= max(_TAIL, resolved)])
        by_split = np.array([self._share_inside(mass) for mass in masses])
        offsets = self._level_sets.offset(masses)
        directly = 1.0 - np.searchsorted(self._calibration_scores, offsets, side="left") / n_rows
        error = np.sqrt(masses * (1.0 - masses) / n_rows)
        disagree = np.flatnonzero(np.abs(directly - by_split) > 2.0 * error)
        return float(masses[min(disagree[-1] + 1, len(masses) - 1)] if len(disagree) else masses[0])

    def _share_inside(self, mass: float | None) -> float:
        """Share of the calibration rows inside; of rows held out, inside the set of their split.

        Where these are too few to resolve the mass, none can be outside the set of its split: then inside the set.
        """
        asked = self.mass if mass is None else checked_mass(mass)
        if self._reserved or asked > 1.0 - 1.0 / self._held_out_scores.shape[1]:
            return float(np.mean(self._calibration_scores >= self._offset_of(mass)))
        offsets = [offset_at(ranked, asked) for ranked in self._level_sets.split_offsets]
        return float(np.mean(self._held_out_scores >= np.reshape(offsets, (-1, 1))))

    def _offset_of(self, mass: float | None) -> float:
        return self.offset_ if mass is None else self.offset(mass)
