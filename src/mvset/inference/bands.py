r"""Exact simultaneous bounds for the masses of all nested sets.

The masses of the sets that hold the k best of m rows, k = 1…m, are distributed as the order statistics of m uniform
draws, whatever the distribution. Bounds at equal local levels, the η/2- and (1-η/2)-quantiles of Beta(k, m+1-k), hold
for all k at once with a probability that a recursion over the empirical process gives exactly; η is such that it is the
confidence asked for. In the tail, where the masses of interest are, these bounds are much narrower than those of
Dvoretzky, Kiefer and Wolfowitz or of Kolmogorov, which are as wide at 0.99 as at 0.5.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv, gammaln, xlogy
from scipy.stats import kstwo

_MOST_EXACT = 10_000  # rows: the recursion takes two seconds there, and Kolmogorov's bounds are ± 0.014


def order_statistic_bounds(n_rows: int, confidence: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper bounds for all uniform order statistics that hold at once with the confidence given."""
    if n_rows > _MOST_EXACT:
        expected = np.arange(1.0, n_rows + 1.0) / n_rows
        distance = float(kstwo.ppf(confidence, n_rows))
        return np.maximum(expected - distance, 0.0), np.minimum(expected - 1.0 / n_rows + distance, 1.0)
    return _local_bounds(n_rows, _local_level(n_rows, confidence))


def _local_bounds(n_rows: int, local_level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rank = np.arange(1.0, n_rows + 1.0)
    lower, upper = (betaincinv(rank, n_rows + 1.0 - rank, p) for p in (0.5 * local_level, 1.0 - 0.5 * local_level))
    return np.asarray(lower), np.asarray(upper)


@cache
def _local_level(n_rows: int, confidence: float) -> float:
    """η of the bounds whose simultaneous confidence is the one asked for."""

    def excess(log_level: float) -> float:
        return staying_probability(*_local_bounds(n_rows, np.exp(log_level))) - confidence

    miss = 1.0 - confidence  # Bonferroni on one side, a single rank on the other
    if n_rows == 1:
        return miss
    return float(np.exp(brentq(excess, np.log(0.5 * miss / n_rows), np.log(miss), xtol=1e-4)))


def staying_probability(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> float:
    r"""Probability that all uniform order statistics lie between ascending bounds.

    The number N(t) of draws up to t is a Poisson process given N(1) = m. At the time of each bound N must be at least
    the number of upper bounds passed and at most that of lower bounds passed before: a recursion over these times keeps
    the law of N on the paths that stay.
    """
    m = len(lower)
    times = np.sort(np.concatenate([lower, upper]))
    most, least = np.searchsorted(lower, times, side="left"), np.searchsorted(upper, times, side="right")
    law, first, now = np.ones(1), 0, 0.0  # law[j] is the weight of N = first + j
    for time, low, high in zip(times.tolist(), least.tolist(), most.tolist(), strict=True):
        law = _moved(law, m * (time - now), high - first + 1)[max(low - first, 0) :]
        first, now = max(first, low), time
        if not len(law):
            return 0.0
    ending = _poisson(np.arange(m - first, m - first - len(law), -1), m * (1.0 - now))  # the steps left to N(1) = m
    return float(law @ ending / _poisson(np.array([m]), m)[0])


def _moved(law: NDArray[np.float64], mean: float, length: int) -> NDArray[np.float64]:
    """Law after Poisson steps of a given mean, cut to the counts allowed."""
    if mean <= 0.0:
        return law[:length]
    likely = int(mean + 12.0 * np.sqrt(mean) + 30.0)
    return np.convolve(law, _poisson(np.arange(min(length, likely)), mean))[:length]


def _poisson(counts: NDArray[np.int_], mean: float) -> NDArray[np.float64]:
    return np.asarray(np.exp(xlogy(counts, mean) - mean - gammaln(counts + 1.0)))
