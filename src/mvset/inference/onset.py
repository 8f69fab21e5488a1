r"""Since when are rows unlike those of the fit? A change point of the levels, with an interval.

The rows, in order, are counted in blocks and in a few bins of their level. Up to the change the bins have the shares of
the calibration rows, p, known as well as m of these tell; from the change on they have any others, which may change
again: wear begins slowly. The likelihood of a change at block t has a closed form,

.. math:: L(t) = \mathrm{DM}(c_{<t};\, m\,p)\, V(t), \qquad
    V(t) = \tfrac12\, A(c_{\ge t}) + \tfrac1{2J} \sum_{j=1}^{J} A(c_{t \dots t+2^j})\, V(t + 2^j).

DM is the Dirichlet-multinomial probability of the counts c. A is that of rows with one set of shares: with probability
one half any (Jeffreys' prior), otherwise those of a p-value with density :math:`\kappa u^{\kappa-1}`, one of a few κ,
which takes fewer rows to tell. V sums over all ways to divide the rows into segments whose lengths are powers of two.

A priori the change came before the first row with probability one half, with shares that stay; otherwise at any row
alike. The interval is the smallest range of blocks that holds the most likely ones up to the confidence. That the drift
ended is said where rows like those of the fit at the end are far more likely than one set of shares that lasts.

Neighbouring rows are often alike: the counts are divided by the variance inflation that is measured around the shares
before and after the change, as a likelihood of n rows that count for n / D independent ones.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from mvset.inference.autocorrelation import autocorrelation_time
from mvset.values import Array, Indices

_ANY = 0.5  # Jeffreys' prior of shares
_TILTS = (0.03, 0.06, 0.12, 0.25, 0.4, 0.6, 0.8, 1.5, 3.0)  # κ; below one, rows are further out
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
    counts: Indices,
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
        Shares of the bins among rows like those of the fit, from the lowest levels to the highest.
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
    rows, known = counts.astype(np.float64), _Known(expected, calibration_rows)
    # Rows that are alike seem to change often: their dependence is measured around a single change.
    inflation = max(rows_per_independent_row, _variance_inflation(rows, *_single_drift(rows, known)))
    rows /= inflation
    _, end = _single_drift(rows, known)
    up_to = _cumulative(rows)
    logs = _log_uniform(rows)[:end] + known.log_alike(up_to[-1] - up_to[end] + up_to[:end])
    logs += _log_changing(up_to[: end + 1], known)
    # All rows are unlike, in the same way: else the first of many segments might as well be normal rows.
    logs[0] = np.logaddexp(logs[0], np.log(_FROM_THE_START) + _log_whole(up_to, end, known))
    likely = np.exp(logs - logsumexp(logs))
    descending = np.argsort(-likely, kind="stable")
    held = descending[: int(np.searchsorted(np.cumsum(likely[descending]), confidence)) + 1]
    return Onset(int(descending[0]), int(held.min()), int(held.max()), end, confidence, inflation)


@dataclass(frozen=True)
class _Known:
    """What is known about the shares of the bins before the change."""

    expected: Array
    calibration_rows: float

    def log_alike(self, counts: Array) -> Array:
        """Log probability of rows like those of the fit."""
        return _log_dirichlet_multinomial(counts, np.maximum(self.calibration_rows * self.expected, _ANY))

    def log_unlike(self, counts: Array) -> Array:
        """Log probability of rows with one set of other shares: log A."""
        tails = np.append(np.cumsum(self.expected[::-1])[::-1], 0.0)
        tilted = -np.diff(tails ** np.array(_TILTS)[:, np.newaxis], axis=1)  # shares of p-values with density κ u^(κ-1)
        logs = counts @ np.log(np.maximum(tilted, 1e-300)).T - np.log(len(_TILTS))
        any_other = _log_dirichlet_multinomial(counts, np.full(len(self.expected), _ANY))
        return np.asarray(np.logaddexp(logsumexp(logs, axis=1), any_other) + np.log(0.5))


def _single_drift(rows: Array, known: _Known) -> tuple[int, int]:
    """The most likely first block and end of drift with one set of shares; the end is said only if rather certain."""
    n, up_to, log_prior = len(rows), _cumulative(rows), _log_uniform(rows)
    log_prior[0] = np.log(_FROM_THE_START)

    def log_likelihood(first: Any, end: Any) -> Array:
        unlike = np.atleast_2d(up_to[end] - up_to[first])
        return np.asarray(known.log_alike(np.maximum(up_to[-1] - unlike, 0.0)) + known.log_unlike(unlike))

    def refined(first: int) -> tuple[int, int]:
        end = n
        for _ in range(_ROUNDS):
            ends = log_likelihood(first, np.arange(first + 1, n + 1))
            ended, lasts = ends[:-1] - np.log(n), ends[-1]
            certain = len(ended) > 0 and logsumexp(ended) - lasts > np.log(_ENDED / (1.0 - _ENDED))
            end = first + 1 + int(np.argmax(ended)) if certain else n
            found = int(np.argmax(log_likelihood(np.arange(end), end) + log_prior[:end]))
            if found == first:
                break
            first = found
        return first, end

    def log_posterior(drift: tuple[int, int]) -> float:
        first, end = drift
        return float(log_likelihood(first, end)[0] + log_prior[first] - (np.log(n) if end < n else 0.0))

    # Drift from the first row that ended may look like normal rows and a drift that lasts: both are tried.
    starts = int(np.argmax(log_likelihood(np.arange(n), n) + log_prior)), 0
    return max((refined(first) for first in starts), key=log_posterior)


def _cumulative(rows: Array) -> Array:
    """Counts of all blocks before each, and of all."""
    return np.vstack([np.zeros(rows.shape[1]), np.cumsum(rows, axis=0)])


def _log_uniform(rows: Array) -> Array:
    """Log probability that each block is the first that is unlike, if any row is as likely to be the first."""
    shares = np.maximum(rows.sum(axis=1), 1e-300) / max(rows.sum(), 1e-300)
    return np.asarray(np.log((1.0 - _FROM_THE_START) * shares))


def _log_whole(up_to: Array, end: int, known: _Known) -> float:
    """Log likelihood of one set of shares from the first row to the end."""
    alike = known.log_alike((up_to[-1] - up_to[end])[np.newaxis])
    return float((alike + known.log_unlike(up_to[end : end + 1]))[0])


def _log_changing(up_to: Array, known: _Known) -> Array:
    """Log probability of all rows from each block on, whose shares may change any number of times: log V."""
    n = len(up_to) - 1
    found = known.log_unlike(up_to[-1] - up_to[:-1])
    lengths = 2 ** np.arange(1, 60)
    lengths = lengths[lengths < n]
    if not len(lengths):
        return found
    segments = np.full((n, len(lengths)), -np.inf)
    for j, length in enumerate(lengths):
        counts = up_to[length:-1] - up_to[: -length - 1]
        segments[: len(counts), j] = known.log_unlike(counts)
    found, segments = found + np.log(0.5), segments + np.log(0.5 / len(lengths))
    for t in range(n - 3, -1, -1):
        reached = lengths[: np.searchsorted(lengths, n - t)]
        changing = segments[t, : len(reached)] + found[t + reached]
        found[t] = np.logaddexp(found[t], np.logaddexp.reduce(changing))
    return np.asarray(found)


def _log_dirichlet_multinomial(counts: Array, prior: Array) -> Array:
    """Log probability of rows with these counts, in a given order."""
    total = gammaln(prior.sum()) - gammaln(prior.sum() + counts.sum(axis=1))
    return np.asarray(total + np.sum(gammaln(prior + counts) - gammaln(prior), axis=1))


def _variance_inflation(counts: Array, first: int, end: int) -> float:
    """Variance of the log likelihood ratio of blocks, against that of independent rows; at least one.

    The ratio of a row is that of the shares of its bin in both segments. Around the mean of its segment, its sum over a
    block is divided by its standard deviation for independent rows; the rest is the autocorrelation of blocks.
    """
    unlike = np.zeros(len(counts), dtype=bool)
    unlike[first:end] = True
    smoothed = [counts[rows].sum(axis=0) + _ANY for rows in (~unlike, unlike)]
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
