"""Are new rows still like those the model was calibrated on? A test of one batch, and a watch over many."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaln, logsumexp
from scipy.stats import hypergeom, ks_2samp, kstwo
from sklearn.utils import check_random_state

Array = NDArray[np.float64]

_BINS = 10
_EXACT = 10_000  # rows up to which the law of the Kolmogorov-Smirnov distance is not its limit
_BLOCK = 1000  # rows whose p-values are found together


@dataclass(frozen=True)
class DriftReport:
    """Whether a batch of rows departs from the rows a model was calibrated on.

    Attributes
    ----------
    drifted : bool
        Whether one of the two tests rejects at half the false-alarm rate. Without drift this happens at that rate at
        most, over draws of the calibration rows *and* the batch: for one batch after the other use a
        :class:`DriftMonitor`, since unlucky calibration rows stay so.
    n_rows : int
        Rows of the batch.
    n_outside : int
        Those outside the set.
    share_outside : float
        Their share.
    share_interval : tuple of float
        Exact binomial interval for the share outside in the long run, of confidence ``1 - false_alarm_rate``.
    expected_share : float
        Share of the calibration rows outside.
    expected_interval : tuple of float
        Exact binomial interval for what that is in the long run, of the same confidence.
    share_p_value : float
        Of Fisher's exact test of the number outside against that of the calibration rows.
    distribution_p_value : float
        Of the two-sample Kolmogorov-Smirnov test of the scores, hence of the levels, against the calibration rows'.
        In "split" mode of the levels above 0.8 only, or further out where the splits differ there.
    false_alarm_rate : float
        As asked for.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.datasets import two_moons
    >>> model = MinimumVolumeSet(random_state=0).fit(two_moons(500, random_state=0))
    >>> model.check_drift(two_moons(200, random_state=1)).drifted
    False
    >>> model.check_drift(two_moons(200, random_state=1) + 0.3).drifted
    True
    """

    drifted: bool
    n_rows: int
    n_outside: int
    share_outside: float
    share_interval: tuple[float, float]
    expected_share: float
    expected_interval: tuple[float, float]
    share_p_value: float
    distribution_p_value: float
    false_alarm_rate: float

    def __str__(self) -> str:
        verdict = "drift" if self.drifted else "no sign of drift"
        if self.drifted and self.share_outside < self.expected_share:
            verdict += ", or rows of the fit itself, which lie further inside"
        return (
            f"{self.n_outside} of {self.n_rows} rows outside, {self.share_outside:.2%} where {self.expected_share:.2%} "
            f"were expected (p = {self.share_p_value:.2g} by the share, {self.distribution_p_value:.2g} by the levels)"
            f": {verdict}."
        )


def binomial_interval(hits: float, n: int, confidence: float) -> tuple[float, float]:
    """Exact interval of Clopper and Pearson for a share."""
    miss = 0.5 * (1.0 - confidence)
    low = float(betaincinv(hits, n - hits + 1.0, miss)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1.0, n - hits, 1.0 - miss)) if hits < n else 1.0
    return low, high


class DriftTally:
    """Counts the scores of a batch against those of the calibration rows, part by part, in memory that does not grow.

    Scores above `cap` count as equal. Each score falls on one of the calibration scores or between two of them, and
    both tests only need to know how many fell where.
    """

    def __init__(
        self, calibration_scores: Array, offset: float, share_inside: float, cap: float, false_alarm_rate: float
    ) -> None:
        self._n_before = len(calibration_scores)
        self._offset = offset
        self._share_inside = share_inside
        self._cap = cap
        self._false_alarm_rate = false_alarm_rate
        capped = np.minimum(calibration_scores, cap)
        self._steps = np.unique(capped)
        self._before = self._cells(capped)
        self._now = np.zeros_like(self._before)
        self._outside = 0

    def update(self, scores: Array) -> None:
        """Count more rows of the batch."""
        self._now += self._cells(np.minimum(scores, self._cap))
        self._outside += int(np.sum(scores < self._offset))

    def report(self) -> DriftReport:
        """Both tests, on all rows counted."""
        n, m, outside = int(self._now.sum()), self._n_before, self._outside
        inside_before = round(self._share_inside * m)
        confidence = 1.0 - self._false_alarm_rate
        share_p = _share_p_value(outside, n, inside_before, m)
        distribution_p = _distribution_p_value(self._now, self._before)
        return DriftReport(
            drifted=min(share_p, distribution_p) <= 0.5 * self._false_alarm_rate,
            n_rows=n,
            n_outside=outside,
            share_outside=outside / n,
            share_interval=binomial_interval(outside, n, confidence),
            expected_share=1.0 - self._share_inside,
            expected_interval=binomial_interval(m - inside_before, m, confidence),
            share_p_value=share_p,
            distribution_p_value=distribution_p,
            false_alarm_rate=self._false_alarm_rate,
        )

    def _cells(self, scores: Array) -> NDArray[np.intp]:
        """How many scores lie below the first step, on it, between it and the second, and so on."""
        cells = np.searchsorted(self._steps, scores, "left") + np.searchsorted(self._steps, scores, "right")
        return np.bincount(cells, minlength=2 * len(self._steps) + 1)


def _distribution_p_value(now: NDArray[np.intp], before: NDArray[np.intp]) -> float:
    """P-value of the two-sample Kolmogorov-Smirnov test, from how many of each sample are in each cell."""
    n, m = int(now.sum()), int(before.sum())
    if max(n, m) <= _EXACT:
        cells = np.arange(len(now))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "ks_2samp: Exact calculation unsuccessful")  # it then takes the limit
            return float(ks_2samp(np.repeat(cells, now), np.repeat(cells, before)).pvalue)
    distance = float(np.abs(np.cumsum(now) / n - np.cumsum(before) / m).max())
    return float(kstwo.sf(distance, round(n / (n + m) * m)))


def _share_p_value(outside: int, n: int, inside_before: int, m: int) -> float:
    """Two-sided p-value of the number outside, given how many calibration rows are inside.

    With all m + n rows exchangeable, and the offset the k-th best of the calibration rows, the number of new rows below
    it is beta-binomial; in both tails that is the hypergeometric law of how many of all rows inside are calibration
    rows, Fisher's exact test.
    """
    inside = inside_before + n - outside
    too_many = float(hypergeom.sf(inside_before - 1, m + n, m, inside))  # outside now: few of those inside are new
    too_few = float(hypergeom.cdf(inside_before, m + n, m, inside))
    return min(1.0, 2.0 * min(too_many, too_few))


class DriftMonitor:
    r"""Watches batches of rows one after the other, with a false-alarm guarantee over all time.

    A conformal test martingale. Each row has a p-value, the rank of its score among those of the calibration rows and
    of all rows watched before it, ties broken at random. As long as all these rows are exchangeable the p-values are
    independent and uniform, whatever the distribution. The martingale bets against that: it is the likelihood of the
    p-values in ten bins under a Dirichlet mixture of histograms, over that under the uniform, and a mean of such, one
    begun with every batch, so that a drift after a long calm is seen, too. By Ville's inequality it ever reaches
    ``1 / false_alarm_rate`` with probability `false_alarm_rate` at most.

    Get one from :meth:`MinimumVolumeSet.drift_monitor`. Without a reserved calibration set there are no calibration
    rows that are exchangeable with new ones, and the rows watched first take their place.

    Attributes
    ----------
    drifted_ : bool
        Whether the martingale has ever reached ``1 / false_alarm_rate``.
    log_martingale_ : float
        Its logarithm now: the evidence for a drift.
    n_rows_ : int
        Rows watched.

    References
    ----------
    V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World", second edition, Springer, 2022.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.datasets import two_moons
    >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(1000, random_state=0))
    >>> monitor = model.drift_monitor(false_alarm_rate=0.01, random_state=0)
    >>> [monitor.update(two_moons(100, random_state=day)) for day in range(1, 6)]
    [False, False, False, False, False]
    >>> [monitor.update(two_moons(100, random_state=day) + 0.25) for day in range(6, 9)]
    [True, True, True]
    """

    def __init__(
        self,
        score: Callable[[Any], Array],
        calibration_scores: Array,
        false_alarm_rate: float,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.false_alarm_rate = false_alarm_rate
        self.drifted_ = False
        self.log_martingale_ = 0.0
        self.n_rows_ = 0
        self._score = score
        self._seen = np.sort(calibration_scores)
        self._rng = check_random_state(random_state)
        self._histograms = np.empty((0, _BINS))  # of the p-values since the beginning of each batch

    def update(self, X: Any) -> bool:
        """Watch one more batch.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the order in which they came; none of them twice.

        Returns
        -------
        drifted : bool
            Whether the alarm has gone off, now or before.
        """
        p_values = self._p_values(self._score(X))
        histogram = np.histogram(p_values, bins=_BINS, range=(0.0, 1.0))[0]
        self._histograms = np.vstack([self._histograms, np.zeros(_BINS)]) + histogram
        self.n_rows_ += len(p_values)
        started = np.arange(1.0, len(self._histograms) + 1.0)
        # The bet begun with batch j has the share 1/(j (j+1)) of the stake; what is left of it is not yet at play.
        waiting = -np.log(started[-1] + 1.0)
        bets = -np.log(started * (started + 1.0)) + _log_likelihood_ratios(self._histograms)
        self.log_martingale_ = float(logsumexp(np.append(bets, waiting)))
        self.drifted_ = self.drifted_ or bool(self.log_martingale_ >= -np.log(self.false_alarm_rate))
        return self.drifted_

    def _p_values(self, scores: Array) -> Array:
        """Rank of each score among all before it, ties at random, as a share."""
        found = []
        for start in range(0, len(scores), _BLOCK):
            block = scores[start : start + _BLOCK]
            earlier = np.tri(len(block), k=-1, dtype=bool)
            below = np.searchsorted(self._seen, block, side="left") + (earlier & (block < block[:, np.newaxis])).sum(1)
            up_to = np.searchsorted(self._seen, block, side="right") + (earlier & (block <= block[:, np.newaxis])).sum(
                1
            )
            ties = up_to - below + 1.0  # itself included
            among = len(self._seen) + np.arange(1.0, len(block) + 1.0)
            found.append((below + self._rng.uniform(size=len(block)) * ties) / among)
            block = np.sort(block)
            self._seen = np.insert(self._seen, np.searchsorted(self._seen, block), block)
        return np.concatenate(found)


def _log_likelihood_ratios(histograms: Array) -> Array:
    """Log likelihood of each histogram under a uniform mixture of all histograms, over that under the uniform one."""
    n = histograms.sum(axis=1)
    dirichlet = gammaln(_BINS) - gammaln(_BINS + n) + gammaln(1.0 + histograms).sum(axis=1)
    return np.asarray(dirichlet + n * np.log(_BINS))
