r"""Since when are rows unlike those of the fit? A change point of the levels, with an interval.

The rows, in order, are counted in blocks and in a few bins of their level. Up to the change the bins have the shares of
the calibration rows, known as well as m of these tell; from the change on they have any others. Both are
Dirichlet-multinomial, so the likelihood of a change at block t has a closed form:

.. math:: L(t) = \mathrm{DM}(c_{<t};\, m\,p) \cdot \mathrm{DM}(c_{\ge t};\, \tfrac12, \dots, \tfrac12)

A priori the change came before the first row with probability one half, and otherwise at any row alike. The interval is
the smallest range of blocks that holds the most likely ones up to the confidence. Neighbouring rows are often alike:
the counts are divided by the variance inflation that is measured around the shares of both segments, as a likelihood of
n rows that count for n / D independent ones. Drift that ended within the table is told apart from drift that lasts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from mvset.inference.autocorrelation import autocorrelation_time

Array = NDArray[np.float64]

_AFTER = 0.5  # Jeffreys' prior of the shares after the change
_FROM_THE_START = 0.5  # prior probability that all rows are unlike
_ENDED = 0.95  # probability from which on the drift is said to have ended
_ROUNDS = 4  # of finding the end, given the onset, and the onset, given the end


@dataclass(frozen=True)
class Onset:
    """The block of rows from which on rows are unlike those of the fit.

    Attributes
    ----------
    first : int
        Index of the most likely first block.
    low, high : int
        Range of first blocks.
    end : int
        Index of the first block that is like the fit again; the number of blocks if there is none.
    confidence : float
        Probability that the first block lies in the range.
    rows_per_independent_row : float
        How many rows count as one: measured around the shares before and after, or known from the fit.
    """

    first: int
    low: int
    high: int
    end: int
    confidence: float
    rows_per_independent_row: float


def find_onset(
    counts: NDArray[np.intp],
    expected: Array,
    calibration_rows: float,
    rows_per_independent_row: float = 1.0,
    confidence: float = 0.95,
) -> Onset:
    """Estimate since when rows are unlike those of the fit, if it is known that there is drift.

    Parameters
    ----------
    counts : ndarray of shape (n_blocks, n_bins)
        Number of rows of each block, in order, with a level in each bin.
    expected : ndarray of shape (n_bins,)
        Shares of the bins among rows like those of the fit.
    calibration_rows : float
        How many independent rows these shares were estimated from.
    rows_per_independent_row : float, default=1
        How many rows count as one, by what is known from the fit; more if the counts say so.
    confidence : float, default=0.95
        Of the interval.

    Returns
    -------
    onset : Onset
        The first block that is unlike, with an interval, and where this ended.

    Examples
    --------
    Ten of a hundred rows are outside, then half of them:

    >>> import numpy as np
    >>> from mvset.inference.onset import find_onset
    >>> outside = np.random.default_rng(0).uniform(size=300) < np.where(np.arange(300) < 200, 0.1, 0.5)
    >>> onset = find_onset(np.column_stack([~outside, outside]), np.array([0.9, 0.1]), calibration_rows=1000)
    >>> onset.low <= 200 <= onset.high
    True
    """
    rows = counts.astype(np.float64)
    first, end = _segment(_Likelihood(rows, expected, calibration_rows), len(counts))
    inflation = max(rows_per_independent_row, _variance_inflation(rows, first, end))
    likelihood = _Likelihood(rows / inflation, expected, calibration_rows)
    first, end = _segment(likelihood, len(counts))
    posterior = likelihood.of_onsets(end)
    likely = np.exp(posterior - logsumexp(posterior))
    descending = np.argsort(-likely, kind="stable")
    held = descending[: int(np.searchsorted(np.cumsum(likely[descending]), confidence)) + 1]
    return Onset(first, int(held.min()), int(held.max()), end, confidence, inflation)


class _Likelihood:
    """Log likelihood of rows that are unlike from one block up to another, with the prior of the first."""

    def __init__(self, counts: Array, expected: Array, calibration_rows: float) -> None:
        self._up_to = np.vstack([np.zeros(counts.shape[1]), np.cumsum(counts, axis=0)])
        self._before = np.maximum(calibration_rows * expected, _AFTER)
        self._after = np.full(len(expected), _AFTER)
        rows = counts.sum(axis=1)
        later = np.maximum(rows[1:], 1e-300)
        shares = (1.0 - _FROM_THE_START) * later / later.sum() if len(later) else later
        self._log_prior = np.log(np.append(_FROM_THE_START, shares))

    def of_onsets(self, end: int) -> Array:
        """For every first block before the end."""
        return np.asarray(self._of(np.arange(end), np.array([end])) + self._log_prior[:end])

    def of_ends(self, first: int) -> Array:
        """For every end after the first block; the last one is none."""
        return self._of(np.array([first]), np.arange(first + 1, len(self._up_to)))

    def _of(self, first: NDArray[np.intp], end: NDArray[np.intp]) -> Array:
        unlike = self._up_to[end] - self._up_to[first]
        alike = np.maximum(self._up_to[-1] - unlike, 0.0)
        return _log_dirichlet_multinomial(alike, self._before) + _log_dirichlet_multinomial(unlike, self._after)


def _log_dirichlet_multinomial(counts: Array, prior: Array) -> Array:
    """Log probability of rows with these counts, in a given order."""
    total = gammaln(prior.sum()) - gammaln(prior.sum() + counts.sum(axis=1))
    return np.asarray(total + np.sum(gammaln(prior + counts) - gammaln(prior), axis=1))


def _segment(likelihood: _Likelihood, n_blocks: int) -> tuple[int, int]:
    """The most likely first block, and the end: the number of blocks unless it is rather certain."""
    first, end = int(np.argmax(likelihood.of_onsets(n_blocks))), n_blocks
    for _ in range(_ROUNDS):
        ends = likelihood.of_ends(first)
        ended, lasts = ends[:-1] - np.log(max(1, n_blocks - 1)), ends[-1]
        if not len(ended) or logsumexp(ended) - lasts < np.log(_ENDED / (1.0 - _ENDED)):
            end = n_blocks
        else:
            end = first + 1 + int(np.argmax(ended))
        found = int(np.argmax(likelihood.of_onsets(end)))
        if found == first:
            break
        first = found
    return first, end


def _variance_inflation(counts: Array, first: int, end: int) -> float:
    """Variance of the log likelihood ratio of blocks, against that of independent rows; at least one.

    The ratio of a row is that of the shares of its bin in both segments. Around the mean of its segment, its sum over a
    block is divided by its standard deviation for independent rows; the rest is the autocorrelation of blocks.
    """
    unlike = np.zeros(len(counts), dtype=bool)
    unlike[first:end] = True
    smoothed = [counts[rows].sum(axis=0) + _AFTER for rows in (~unlike, unlike)]
    shares = [each / each.sum() for each in smoothed]
    ratio = np.log(shares[1] / shares[0])
    rows = counts.sum(axis=1)
    deviations = np.zeros(len(counts))
    for segment, share in ((~unlike, shares[0]), (unlike, shares[1])):
        mean = float(share @ ratio)
        variance = float(share @ (ratio - mean) ** 2)
        if variance > 0.0:
            deviations[segment] = (counts[segment] @ ratio - rows[segment] * mean) / np.sqrt(
                variance * np.maximum(rows[segment], 1.0)
            )
    return max(1.0, float(np.mean(deviations**2)) * autocorrelation_time(deviations))
