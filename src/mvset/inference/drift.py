"""Is a batch of rows still like the rows of the fit? Four tests, from counts that are taken part by part.

The number of rows outside; the distribution of the scores; of each column; and of sums of columns. Scores hardly see a
shift of location, and columns by themselves no change of correlation. Each test has a quarter of the false-alarm rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.stats import hypergeom, kstwo

from mvset.inference.p_values import binomial_interval
from mvset.inference.projections import RowCounter
from mvset.inference.results import ColumnChange, DriftResult
from mvset.values import Array, Indices

_N_TESTS = 4
_EXACT = 10_000  # rows up to which the distribution of the Kolmogorov-Smirnov distance is computed exactly


@dataclass(frozen=True)
class CountedScores:
    """Ascending scores and the number of rows that each stands for; beyond `exact_up_to`, for all up to the next."""

    values: Array
    counts: Array
    exact_up_to: float = np.inf

    @classmethod
    def of(cls, scores: Array) -> Self:
        """One row for each score."""
        return cls(np.sort(scores), np.ones(len(scores)))

    def rounded(self, scores: Array) -> Array:
        """Scores of other rows, counted in the same way."""
        position = np.searchsorted(self.values, scores, side="right") - 1
        return np.where(scores > self.exact_up_to, self.values[position], scores)


class ScoreCells:
    """Positions of scores relative to a sample: on one of its distinct scores, or between two of them.

    Counts per cell are all that rank tests need, so memory does not grow with the number of rows counted.
    """

    def __init__(self, scores: Array) -> None:
        self.steps = np.unique(scores)

    def __len__(self) -> int:
        return 2 * len(self.steps) + 1

    def of(self, scores: Array) -> Indices:
        """Index of the cell of each score: below the first step, on it, between it and the second, and so on."""
        return np.searchsorted(self.steps, scores, "left") + np.searchsorted(self.steps, scores, "right")

    def count(self, scores: Array, counts: Array | None = None) -> Indices:
        """Number of scores in each cell, each counted as often as given."""
        return np.bincount(self.of(scores), counts, minlength=len(self)).astype(np.intp)


@dataclass(frozen=True)
class EffectiveSizes:
    """Design effects: so many calibration rows, or rows of the batch, count as one independent row."""

    before: float = 1.0
    now: float = 1.0

    def of(self, m: int, n: int) -> tuple[float, float]:
        """Effective sizes of m calibration rows and n rows of the batch, at least one."""
        return max(1.0, m / self.before), max(1.0, n / self.now)

    @property
    def are_exact(self) -> bool:
        """Whether all rows are independent."""
        return self.before == self.now == 1.0


# What was counted: rows by the cell of their score, rows outside, and rows by step of each column and each sum.
DriftCounts = tuple[Indices, int, tuple[Array, Array]]


@dataclass
class DriftCounter:
    """Counts the scores of a batch, and the values of its columns, part by part, in bounded memory.

    Scores above `cap` count as equal. Where rows are not independent, both tests use effective sizes, those of the
    share at the offset and those of the whole distribution.
    """

    scores: CountedScores  # of calibration rows
    offset: float
    cap: float
    false_alarm_rate: float
    share_sizes: EffectiveSizes
    distribution_sizes: EffectiveSizes
    rows: RowCounter | None = None

    def __post_init__(self) -> None:
        self._inside_before = int(self.scores.counts[self.scores.values >= self.offset].sum())
        capped = np.minimum(self.scores.values, self.cap)
        self._cells = ScoreCells(capped)
        self._before = self._cells.count(capped, self.scores.counts)
        self._now = np.zeros_like(self._before)
        self._outside = 0

    def update(self, scores: Array, rows: Array | None = None) -> None:
        """Count more rows of the batch, and their scores."""
        # Ascending scores are looked up several times as fast: each is near the one before.
        self._now += self._cells.count(np.minimum(self.scores.rounded(np.sort(scores)), self.cap))
        self._outside += int(np.sum(scores < self.offset))
        if self.rows is not None and rows is not None:
            self.rows.update(rows)

    @property
    def counts(self) -> DriftCounts:
        """What was counted."""
        nothing = np.empty((0, 0)), np.empty((0, 0))
        return self._now, self._outside, nothing if self.rows is None else self.rows.counts

    def add_counts(self, counts: DriftCounts) -> None:
        """Count what another counter of the same kind has counted."""
        self._now, self._outside = self._now + counts[0], self._outside + counts[1]
        if self.rows is not None:
            self.rows.add_counts(counts[2])

    def report(self, names: Sequence[str] | None = None) -> DriftResult:
        """All tests, on all rows counted; `names` are the names of the columns, by default x0, x1, …."""
        n, m, outside = int(self._now.sum()), int(self._before.sum()), self._outside
        share_before, share_now = self._inside_before / m, outside / n
        rate, confidence = self.false_alarm_rate / _N_TESTS, 1.0 - self.false_alarm_rate
        m_effective, n_effective = self.share_sizes.of(m, n)
        known = round(share_before * m_effective), round(m_effective)
        share_p = share_p_value(round(share_now * n_effective), round(n_effective), *known)
        distribution_p = distribution_p_value(self._now, self._before, self.distribution_sizes)
        columns_p, sums_p, changed, wandering = 1.0, 1.0, list[ColumnChange](), list[str]()
        if self.rows is not None:
            wanders = self.rows.columns.reference.wandering
            names = [f"x{j}" for j in range(len(wanders))] if names is None else names
            columns_p, sums_p = self.rows.columns_p_value, self.rows.sums_p_value
            changed = self.rows.columns.changed(names, rate)
            wandering = [names[j] for j in np.flatnonzero(wanders).tolist()]
        is_testable = share_p_value(round(n_effective), round(n_effective), *known) <= rate
        return DriftResult(
            drifted=is_testable and min(share_p, distribution_p, columns_p, sums_p) <= rate,
            is_testable=is_testable,
            n_rows=n,
            n_outside=outside,
            share_outside=outside / n,
            share_interval=binomial_interval(share_now * n_effective, n_effective, confidence),
            expected_share=(m - self._inside_before) / m,
            expected_interval=binomial_interval((1.0 - share_before) * m_effective, m_effective, confidence),
            effective_rows=n_effective,
            calibration_rows=m,
            effective_calibration_rows=m_effective,
            share_p_value=share_p,
            distribution_p_value=distribution_p,
            columns_p_value=columns_p,
            sums_p_value=sums_p,
            changed_columns=tuple(changed),
            wandering_columns=tuple(wandering),
            false_alarm_rate=self.false_alarm_rate,
        )


def share_p_value(outside: int, n: int, inside_before: int, m: int) -> float:
    """Two-sided p-value of the number outside, given how many calibration rows are inside.

    With all m + n rows exchangeable, and the offset the k-th best of the calibration rows, the number of new rows below
    it is beta-binomial. In both tails that is the hypergeometric distribution of how many of all rows inside are
    calibration rows: Fisher's exact test.
    """
    inside = inside_before + n - outside
    too_many = float(hypergeom.sf(inside_before - 1, m + n, m, inside))  # outside now: few of those inside are new
    too_few = float(hypergeom.cdf(inside_before, m + n, m, inside))
    return min(1.0, 2.0 * min(too_many, too_few))


def distribution_p_value(now: Indices, before: Indices, sizes: EffectiveSizes | None = None) -> float:
    """P-value of the two-sample Kolmogorov-Smirnov test, from the counts of both samples per cell.

    Exact for independent rows, up to ten thousand; asymptotic for effective sizes. scipy's ``ks_2samp`` wants the
    samples themselves and gives up on the exact p-value with a warning in some cases.
    """
    n, m = int(now.sum()), int(before.sum())
    steps = np.abs(np.cumsum(now) * m - np.cumsum(before) * n).max()  # the distance times n m, a whole number
    sizes = sizes or EffectiveSizes()
    if max(n, m) > _EXACT or not sizes.are_exact:
        m_effective, n_effective = sizes.of(m, n)
        both = max(1, round(n_effective / (n_effective + m_effective) * m_effective))
        return float(kstwo.sf(steps / (n * m), both))
    return _exact_p_value(int(steps), n, m)


def _exact_p_value(steps: int, n: int, m: int) -> float:
    """Share of the lattice paths from (0, 0) to (n, m) that somewhere reach |i m - j n| >= steps.

    The share of such paths to (i, j) is (i share(i-1, j) + j share(i, j-1)) / (i + j) (J. L. Hodges, "The significance
    probability of the Smirnov two-sample test", 1958), here for one diagonal i + j = k after the other. All terms are
    positive, so that small p-values are as accurate as large ones.
    """
    share = np.ones(n + 2)  # by i, of the diagonal before; the last entry is never part of a path
    share[0] = 0.0 if steps > 0 else 1.0
    for k in range(1, n + m + 1):
        # |i m - (k - i) n| < steps, within the rectangle.
        low = max(0, k - m, (k * n - steps) // (n + m) + 1)
        high = min(n, k, -((-k * n - steps) // (n + m)) - 1)
        i = np.arange(low, high + 1)
        share[i] = (i * share[i - 1] + (k - i) * share[i]) / k
        share[low - 1] = share[high + 1] = 1.0
    return float(share[n])
