"""Drift over time: a conformal test martingale over batches of rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp
from sklearn.utils import check_random_state

from mvset.calibration.fitted_sets import FittedSets
from mvset.devices.places import place_of
from mvset.inference.drift import CountedScores, ScoreCells
from mvset.rows.validation import checked_share
from mvset.values import Array, ArrayValue, Indices, array_rule, checked_array

_BINS = 10
_MAX_BETS = 64
_BLOCK = 1000  # rows whose p-values are found together


class Scorer(Protocol):
    """A model that scores rows."""

    def score_samples(self, X: Any) -> Array:
        """Scores of the rows of X."""


class DriftMonitor:
    r"""Watches batches of rows one after the other, with a false-alarm guarantee over all time.

    A conformal test martingale. Each row has a p-value, the rank of its score among those of the calibration rows and
    of all rows watched before it, with ties broken at random. As long as all these rows are exchangeable, the p-values
    are independent and uniform, whatever the distribution. The martingale bets against that: it is the likelihood ratio
    of the p-values in ten bins, between a Dirichlet mixture of histograms and the uniform distribution, averaged over
    bets that start with different batches, so that a drift after a long calm is detected as well. By Ville's
    inequality it ever reaches ``1 / false_alarm_rate`` with probability `false_alarm_rate` at most.

    Get one from :meth:`MinimumVolumeSet.drift_monitor`. Without a reserved calibration set no calibration rows are
    exchangeable with new ones, and the rows watched first take their place. If the rows of the fit depended on their
    neighbours, it watches only every k-th row, where k is twice their autocorrelation time: such rows are about
    independent, and the guarantee holds about.

    A monitor can be pickled, or saved with :func:`save` and read with :func:`load`, and then goes on with the same
    guarantee. Its memory does not grow: of the rows watched it keeps how many scores lie between any two calibration
    scores, and at most 64 bets.

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
    >>> from mvset.paper.datasets import two_moons
    >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(1000, random_state=0))
    >>> monitor = model.drift_monitor(false_alarm_rate=0.01, random_state=0)
    >>> [monitor.update(two_moons(100, random_state=day)) for day in range(1, 6)]
    [False, False, False, False, False]
    >>> [monitor.update(two_moons(100, random_state=day) + 0.25) for day in range(6, 9)]
    [True, True, True]
    """

    def __init__(
        self,
        model: Scorer,
        sets: FittedSets,
        *,
        false_alarm_rate: float = 0.01,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        calibration_scores, decorrelation = sets.calibration.counted_scores, sets.calibration.decorrelation
        self.model = model
        self.false_alarm_rate = false_alarm_rate
        self.drifted_ = False
        self.log_martingale_ = 0.0
        self.n_rows_ = 0
        self.n_batches_ = 0
        self._rng = check_random_state(random_state)
        # The ranks of rows that fall between the same two calibration scores are drawn at random. Exchangeable rows
        # have any order there with equal probability, so the p-values have the same distribution as exact ranks.
        self._steps = np.unique(calibration_scores.values)
        self._exact_up_to = calibration_scores.exact_up_to
        cells = ScoreCells(self._steps)
        # Calibration rows that depend on each other are not exchangeable with the rows to come, nor are neighbours.
        self._decorrelation = decorrelation
        reserved = sets.guarantee.reserves_rows and decorrelation == 1
        self._counts = (
            cells.count(calibration_scores.values, calibration_scores.counts)
            if reserved
            else np.zeros(len(cells), dtype=np.intp)
        )
        self._bets = Bets(np.empty(0), np.empty(0), np.empty((0, _BINS)))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Check what a file or a pickle holds."""
        vars(self).update(state)
        steps, counts = checked_array("DriftMonitor", "scores", self._steps, 1), self._counts
        numbers, whole = (self.n_rows_, self.n_batches_, self._decorrelation - 1), isinstance(counts, np.ndarray)
        evidence, typed = self.log_martingale_, isinstance(self._bets, Bets) and isinstance(self.drifted_, bool)
        rules = {
            "scores must ascend": (np.diff(steps) > 0).all(),
            "counts must be whole numbers": whole and counts.dtype.kind == "i" and (counts >= 0).all(),
            "there must be a count for each place among the scores": np.shape(counts) == (2 * len(steps) + 1,),
            "numbers of rows and batches must be whole": all(isinstance(n, Integral) and n >= 0 for n in numbers),
            "evidence must be finite": isinstance(evidence, float) and np.isfinite(evidence),
            "scores must be numbers": isinstance(self._exact_up_to, float) and not np.isnan(self._exact_up_to),
            "parts must have the right types": typed and isinstance(self._rng, np.random.RandomState),
            "the model must score rows": hasattr(self.model, "score_samples"),
        }
        if broken := [rule for rule, holds in rules.items() if not holds]:
            raise ValueError(f"DriftMonitor: {broken[0]}.")
        checked_share(self.false_alarm_rate, "false_alarm_rate")

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
        scores = self.model.score_samples(X)
        place = place_of(scores)
        scores = np.asarray(scores if place is None else place.host(scores), dtype=np.float64)
        p_values, counts = self._p_values(scores[-self.n_rows_ % self._decorrelation :: self._decorrelation])
        bets = self._bets.started(self.n_batches_ + 1).updated(np.histogram(p_values, _BINS, (0.0, 1.0))[0])
        not_bet = -np.log(self.n_batches_ + 2.0)
        log_martingale = float(logsumexp(np.append(bets.log_capitals, not_bet)))
        # All at once, at the end: a batch that is interrupted is not half counted.
        self._counts, self._bets, self.log_martingale_ = counts, bets, log_martingale
        self.n_rows_ += len(scores)
        self.n_batches_ += 1
        self.drifted_ = self.drifted_ or bool(log_martingale >= -np.log(self.false_alarm_rate))
        return self.drifted_

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All that `update` changes, as arrays to store; the model and its calibration scores are not among them."""
        _, keys, position, *_ = self._rng.get_state(legacy=True)
        return {
            "n_watched": np.array([self.n_rows_, self.n_batches_, self.drifted_], dtype=np.int64),
            "log_martingale": np.array(self.log_martingale_),
            "counts": self._counts,
            "bet_starts": self._bets.starts,
            "bet_log_capitals": self._bets.log_capitals,
            "bet_histograms": self._bets.histograms,
            "random_keys": np.asarray(keys),
            "random_position": np.array(position),
        }

    def restore_arrays(self, stored: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `to_arrays` of a monitor of the same model returned."""
        self.n_rows_, self.n_batches_, drifted = stored["n_watched"].tolist()
        self.drifted_ = bool(drifted)
        self.log_martingale_ = float(stored["log_martingale"])
        self._counts = stored["counts"]
        self._bets = Bets(stored["bet_starts"], stored["bet_log_capitals"], stored["bet_histograms"])
        self._rng.set_state(("MT19937", stored["random_keys"], int(stored["random_position"])))

    def _p_values(self, scores: Array) -> tuple[Array, Indices]:
        """Rank of each score among all before it, ties at random, as a share; and the counts with these scores."""
        scores = CountedScores(self._steps, self._steps, self._exact_up_to).rounded(scores)
        cells, counts = ScoreCells(self._steps).of(scores), self._counts
        found = [np.empty(0)]
        for start in range(0, len(cells), _BLOCK):
            block = cells[start : start + _BLOCK]
            earlier = np.tri(len(block), k=-1, dtype=bool)
            counted = np.append(0, np.cumsum(counts))
            below = counted[block] + (earlier & (block < block[:, np.newaxis])).sum(axis=1)
            ties = counts[block] + (earlier & (block == block[:, np.newaxis])).sum(axis=1) + 1  # itself included
            among = counted[-1] + np.arange(1.0, len(block) + 1.0)
            found.append((below + self._rng.uniform(size=len(block)) * ties) / among)
            counts = counts + np.bincount(block, minlength=len(counts))
        return np.concatenate(found), counts


@dataclass(frozen=True, eq=False)
class Bets(ArrayValue):
    """Bets against uniform p-values: the batch with which each started, its log capital, the p-values since then."""

    starts: Array = field(metadata=array_rule(1))
    log_capitals: Array = field(metadata=array_rule(1, length=lambda self: len(self.starts)))
    histograms: Array = field(metadata=array_rule(2, length=lambda self: len(self.starts)))

    def _check(self) -> None:
        counted = self.histograms.shape[1] == _BINS and (self.histograms >= 0).all()
        self._require(counted, f".histograms must have {_BINS} counts for each bet.")

    def started(self, batch: int) -> "Bets":
        """With one more bet: a share 1/(j (j+1)) of the initial capital from batch j on; the rest waits.

        Beyond the limit, the two neighbouring bets whose ages have the ratio closest to one are merged: the older
        leaves its capital to the younger. Capital may be moved between bets: the sum stays a martingale.
        """
        starts = np.append(self.starts, float(batch))
        log_capitals = np.append(self.log_capitals, -np.log(batch * (batch + 1.0)))
        histograms = np.vstack([self.histograms, np.zeros(_BINS)])
        if len(starts) <= _MAX_BETS:
            return Bets(starts, log_capitals, histograms)
        ages = batch + 1.0 - starts
        older = int(np.argmin(ages[:-1] / ages[1:]))
        log_capitals[older + 1] = np.logaddexp(log_capitals[older], log_capitals[older + 1])
        keep = np.arange(len(starts)) != older
        return Bets(starts[keep], log_capitals[keep], histograms[keep])

    def updated(self, histogram: Indices) -> "Bets":
        """After a batch whose p-values have this histogram."""
        grown = self.histograms + histogram
        gains = _log_likelihood_ratios(grown) - _log_likelihood_ratios(self.histograms)
        return Bets(self.starts, self.log_capitals + gains, grown)


def _log_likelihood_ratios(histograms: Array) -> Array:
    """Log likelihood ratio of each histogram: a uniform mixture of all histograms against the uniform one."""
    n = histograms.sum(axis=1)
    dirichlet = gammaln(_BINS) - gammaln(_BINS + n) + gammaln(1.0 + histograms).sum(axis=1)
    return np.asarray(dirichlet + n * np.log(_BINS))
