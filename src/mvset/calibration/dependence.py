r"""How much information calibration rows hold: less than independent rows if they are alike, or if splits disagree.

The share of n calibration rows inside a set has the variance :math:`D\, p (1-p) / n` with a design effect D (L. Kish,
"Survey Sampling", 1965); n / D is the effective sample size. Three things raise D above one:

- rows in an order whose neighbours are alike: the integrated autocorrelation time :math:`1 + 2 \sum_k \rho_k`;
- rows in groups that are alike: the variance between groups;
- splits whose sets differ: the mass of the averaged set then varies with the rows that shaped it, which rows held out
  do not show. The factor 1 + 2δ, where δ is the share of the variance p (1-p) that is between the splits of one row,
  was found by simulation (docs/promises-measured.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm, rankdata

from mvset.inference.autocorrelation import autocorrelation_time, autocorrelations
from mvset.values import Array, Indices

_SIGNIFICANCE = 0.001  # of the test of independence, so that hardly any fit to independent rows warns
_LAGS = 10  # of this test
_MIN_ROWS = 20  # for it
_NEGLIGIBLE_CORRELATION = 0.05
_MIN_OUTSIDE = 100  # rows outside a set, to tell its autocorrelation time
_N_THRESHOLDS = 25  # sets whose design effect is computed


@dataclass(frozen=True)
class Dependence:
    """What is known about the order of calibration rows before they are scored.

    With ``ordered=None`` it counts if scores depend on it. `row_effect` is the least design effect of rows in order.
    """

    ordered: bool | None = None
    row_effect: float = 1.0


UNKNOWN = Dependence()


def decorrelation_lag(X: Array, negligible: float = _NEGLIGIBLE_CORRELATION) -> int:
    """Number of rows between two that are about independent: one less than the least lag with no autocorrelation."""
    n = len(X)
    varying = X[:, np.ptp(X, axis=0) > 0]
    correlations = np.abs([autocorrelations(rankdata(column)) for column in varying.T]).max(axis=0)
    small = correlations < max(negligible, 3.0 / np.sqrt(n))
    return int(small[1:].argmax()) if small[1:].any() else n


def is_dependent(scores: Array) -> bool:
    """Whether the scores of neighbouring rows are similar."""
    return independence_p_value(scores) < _SIGNIFICANCE


def independence_p_value(series: Array) -> float:
    """P-value of two tests of the autocorrelation of ranks: of the first lag, and by Ljung and Box over ten lags."""
    n = len(series)
    if n < _MIN_ROWS or np.ptp(series) == 0:
        return 1.0
    correlations = autocorrelations(rankdata(series))[1 : min(_LAGS, n - 2) + 1]
    lags = np.arange(1, len(correlations) + 1)
    all_lags = chi2.sf(n * (n + 2) * np.sum(correlations**2 / (n - lags)), len(lags))
    return float(min(1.0, 2.0 * first_lag_p_value(series), 2.0 * all_lags))


def first_lag_p_value(series: Array) -> float:
    """P-value of the test of the first autocorrelation of ranks, which is small if neighbours are similar."""
    if len(series) < _MIN_ROWS or np.ptp(series) == 0:
        return 1.0
    return float(norm.sf(np.sqrt(len(series)) * autocorrelations(rankdata(series))[1]))


def order_effects(scores: Array, thresholds: Array) -> Array:
    """Design effect, for each descending threshold, of the share of scores above it; scores are in the rows' order."""
    chosen = _chosen_ranks(len(thresholds))
    times = np.array([autocorrelation_time((scores >= thresholds[i]).astype(np.float64)) for i in chosen])
    # With few rows outside the time cannot be told: it is taken to be no shorter than with a hundred.
    outside = np.searchsorted(np.sort(scores), thresholds[chosen])
    few = outside < min(_MIN_OUTSIDE, len(scores) // 2)
    if few.any() and not few.all():
        times[few] = np.maximum(times[few], times[~few][-1])
    return np.asarray(np.interp(np.arange(len(thresholds)), chosen, times))


def group_effects(scores: Array, labels: NDArray[Any], thresholds: Array) -> Array:
    """The same for rows in groups: variance of the sum over groups, against that of independent rows; at least one."""
    groups = np.unique(labels, return_inverse=True)[1]
    n, n_groups = len(scores), int(groups.max()) + 1
    if n_groups < 2:
        return np.full(len(thresholds), float(n))
    chosen = _chosen_ranks(len(thresholds))
    effects = []
    for threshold in thresholds[chosen]:
        inside = (scores >= threshold).astype(np.float64)
        share = inside.mean()
        between = np.sum(np.bincount(groups, inside - share) ** 2) * n_groups / (n_groups - 1)
        effects.append(between / max(n * share * (1.0 - share), 1e-12))
    return np.asarray(np.interp(np.arange(len(thresholds)), chosen, np.clip(effects, 1.0, n)))


def split_effects(rows: Sequence[Indices], scores: Sequence[Array], thresholds: Array) -> Array:
    """Design effect of splits that disagree, for each descending threshold: 1 + 2δ.

    A row that j of k models have inside contributes j (k - j) / (k (k - 1)) to δ times p (1-p). As the threshold falls,
    j goes from 0 to k at the scores of the row: one pass over all scores, sorted, gives δ at every threshold.
    """
    row, score = np.concatenate(rows), np.concatenate(scores)
    order = np.lexsort((-score, row))
    row, score = row[order], score[order]
    first = np.searchsorted(row, row, side="left")
    k = np.searchsorted(row, row, side="right") - first
    j = np.arange(len(row)) - first + 1  # models that have the row inside from this score on
    steps = np.where(k > 1, (k + 1.0 - 2.0 * j) / (k * np.maximum(k - 1.0, 1.0)), 0.0)
    descending = np.argsort(-score, kind="stable")
    disagreement = np.append(0.0, np.cumsum(steps[descending]))
    inside = np.append(0.0, np.cumsum(1.0 / k[descending]))
    reached = np.searchsorted(-score[descending], -thresholds, side="right")
    n = np.sum(1.0 / k)
    share = np.clip(inside[reached] / n, 0.5 / n, 1.0 - 0.5 / n)
    return np.asarray(1.0 + 2.0 * np.maximum(disagreement[reached], 0.0) / (n * share * (1.0 - share)))


def _chosen_ranks(n_ranks: int) -> Indices:
    """Ranks at which a design effect is computed; in between it is interpolated."""
    return np.unique(np.linspace(0, n_ranks - 1, _N_THRESHOLDS).astype(np.intp))
