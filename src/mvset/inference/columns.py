r"""Did the values of a column change? A two-sample test of each column against the rows of the fit.

The values of a column are counted between quantiles of the rows of the fit. From the counts of both samples, with
shares F and G up to a step and H of both together, the statistic of Anderson and Darling is

.. math:: A^2 = \frac{n m}{n + m} \int \frac{(F - G)^2}{H (1 - H)} dH.

It sees shifts and changes of spread. Where neighbouring rows are similar, n and m are divided by design effects. A
batch of L rows has the effect of L consecutive rows of the fit: the variance of their shares, relative to L independent
rows. So a batch that is a part of a day or of a season is compared with such parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln
from scipy.stats import chi2, false_discovery_control

from mvset.inference.results import ColumnChange
from mvset.values import Array, ArrayValue, Flags, array_rule

_STEPS = 129  # an odd number, so that the median is one of them
_FEWEST_BLOCKS = 4  # of one length, whose shares are compared
_SHARES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])  # at which they are
_BOUNDED = 8.0  # independent rows that a column must count for: with fewer, new rows may lie anywhere beyond


@dataclass(frozen=True, eq=False)
class ColumnReference(ArrayValue):
    """The distribution of each column in the rows of a fit, and how similar neighbouring rows are.

    Attributes
    ----------
    steps : ndarray of shape (n_columns, n_steps)
        Quantiles of each column, ascending.
    counts : ndarray of shape (n_columns, n_steps + 1)
        Number of rows below the first step, between two steps, and from the last step on. Missing values are there.
    lengths : ndarray of shape (n_lengths,)
        Numbers of consecutive rows, ascending.
    effects : ndarray of shape (n_lengths, n_columns)
        Design effects of so many consecutive rows, which do not fall with their number.
    independent_rows : ndarray of shape (n_columns,)
        How many independent rows the rows of the fit count for.
    """

    steps: Array = field(metadata=array_rule(2))
    counts: Array = field(metadata=array_rule(2, length=lambda self: len(self.steps)))
    lengths: Array = field(metadata=array_rule(1))
    effects: Array = field(metadata=array_rule(2, length=lambda self: len(self.lengths)))
    independent_rows: Array = field(metadata=array_rule(1, length=lambda self: len(self.steps)))

    def _check(self) -> None:
        self._require((np.diff(self.steps, axis=1) >= 0).all(), ".steps must ascend.")
        fit = self.counts.shape[1] == self.steps.shape[1] + 1 and (self.counts >= 0).all()
        self._require(fit, ".counts must have the number of rows between any two steps.")
        similar = len(self.lengths) and self.effects.shape[1] == len(self.steps) and (self.effects >= 1.0).all()
        self._require(similar, ".effects must be at least one, for each length and column.")
        self._require((self.independent_rows > 0).all(), ".independent_rows must be positive.")

    @classmethod
    def of(cls, rows: Array, *, ordered: bool, thinned: float = 1.0) -> "ColumnReference":
        """From rows that are `ordered`, so that neighbours may be similar, or independent of each other.

        Each may stand for several rows in that order, of which it was drawn: they are then `thinned`.
        """
        n_rows, n_columns = rows.shape
        if n_columns == 0:
            return cls(np.empty((0, 1)), np.empty((0, 2)), np.ones(1), np.ones((1, 0)), np.empty(0))
        ranked = np.sort(rows, axis=0)  # missing values come last
        at = np.linspace(0, n_rows - 1, min(_STEPS, n_rows)).round().astype(np.intp)
        known = np.maximum(n_rows - 1 - np.isnan(rows).sum(axis=0), 0)
        steps = np.take_along_axis(ranked, np.minimum(at[:, np.newaxis], known), axis=0).T
        steps = np.where(np.isfinite(steps), steps, 0.0)  # of a column without any value
        counts = np.array([_counted(*each) for each in zip(steps, rows.T, strict=True)])
        lengths, effects = np.ones(1), np.ones((1, n_columns))
        if ordered and n_rows >= 2 * _FEWEST_BLOCKS:
            lengths = np.unique(np.round(2.0 ** np.arange(0.0, np.log2(n_rows / _FEWEST_BLOCKS) + 1e-9, 0.5)))
            effects = np.array([_block_effects(column, lengths) for column in rows.T]).T
        independent = n_rows / effects[-1]
        # Rows between those drawn are as similar, and there are so many more of them.
        effects = 1.0 + (effects - 1.0) * thinned
        return cls(np.ascontiguousarray(steps), counts, lengths * thinned, np.ascontiguousarray(effects), independent)

    @property
    def n_rows(self) -> int:
        """Number of rows that were counted."""
        return int(self.counts[:1].sum())

    @property
    def wandering(self) -> Flags:
        """Columns that count for so few independent rows that their past does not bound their future."""
        return np.asarray((self.independent_rows < _BOUNDED) & (self.n_rows >= _BOUNDED))

    def effect_of(self, n_rows: int) -> Array:
        """Design effect of so many consecutive rows, by column."""
        return np.asarray(self.effects[min(int(np.searchsorted(self.lengths, n_rows)), len(self.lengths) - 1)])


def _counted(steps: Array, values: Array) -> Array:
    """Number of values below the first step, between two steps, and from the last step on."""
    # Ascending values are looked up several times as fast.
    places = np.searchsorted(steps, np.sort(values), side="right")
    return np.bincount(places, minlength=len(steps) + 1).astype(np.float64)


def _block_effects(column: Array, lengths: Array) -> Array:
    """Variance of the share of a block below some quantiles, relative to independent rows, by length of the block."""
    n_rows, largest = len(column), np.ones(len(lengths))
    for quantile in np.unique(np.nanquantile(column, _SHARES, method="lower")):
        below = column <= quantile
        share = below.mean()
        if not 0.0 < share < 1.0:
            continue
        up_to = np.append(0.0, np.cumsum(below - share))
        for i, length in enumerate(lengths.astype(np.intp)):
            # The share is estimated from the same rows: deviations from it are too small.
            known = share * (1.0 - share) * length * (1.0 - length / n_rows)
            largest[i] = max(largest[i], float(np.mean((up_to[length:] - up_to[:-length]) ** 2)) / known)
    uncertain = 1.0 + np.sqrt(2.0 * lengths / n_rows)  # by one standard error, of so many independent blocks
    return np.asarray(np.maximum.accumulate(largest * uncertain))


class ColumnCounter:
    """Counts the values of a batch, part by part, in bounded memory."""

    def __init__(self, reference: ColumnReference) -> None:
        self.reference = reference
        self.counts = np.zeros_like(reference.counts)

    def update(self, rows: Array) -> None:
        """Count more rows of the batch."""
        if not len(self.counts):
            return
        self.counts += [_counted(*each) for each in zip(self.reference.steps, rows.T, strict=True)]

    def p_values(self) -> Array:
        """P-value of the test of each column; one if the column wanders."""
        reference, n_rows = self.reference, float(self.counts[:1].sum())
        if n_rows == 0:
            return np.ones(len(self.counts))
        n = np.maximum(n_rows / reference.effect_of(int(n_rows)), 1.0)[:, np.newaxis]
        m = np.maximum(reference.independent_rows, 1.0)[:, np.newaxis]
        now, before = (np.cumsum(each[:, :-1], axis=1) / each[0].sum() for each in (self.counts, reference.counts))
        both = (n * now + m * before) / (n + m)
        steps = np.pad(both, ((0, 0), (1, 1)), constant_values=((0, 0), (0.0, 1.0)))
        weights = 0.5 * (steps[:, 2:] - steps[:, :-2]) / np.maximum(both * (1.0 - both), 1e-12)
        statistics = np.sum(weights * (now - before) ** 2 * n * m / (n + m), axis=1)
        # However far all n rows are beyond the m rows of the fit, chance orders them so once in so many times.
        orders = gammaln(n + m + 1.0) - gammaln(n + 1.0) - gammaln(m + 1.0)
        least = np.minimum(2.0 * np.exp(-orders[:, 0]), 1.0)
        return np.where(reference.wandering, 1.0, np.maximum(anderson_darling_p_value(statistics), least))

    def changed(self, names: Sequence[str], rate: float) -> list[ColumnChange]:
        """The columns that changed, up to a rate of false discoveries, the surest first."""
        p_values, reference = self.p_values(), self.reference
        found = np.flatnonzero(false_discovery_control(p_values) <= rate)
        return [
            ColumnChange(
                names[j],
                float(p_values[j]),
                _quartiles(reference.steps[j], self.counts[j]),
                _quartiles(reference.steps[j], reference.counts[j]),
            )
            for j in found[np.argsort(p_values[found], kind="stable")]
        ]


def _quartiles(steps: Array, counts: Array) -> tuple[float, float, float]:
    """Quartiles of counted values, to the nearest step."""
    up_to = np.cumsum(counts)
    found = np.searchsorted(up_to, np.array([0.25, 0.5, 0.75]) * up_to[-1] - 1e-9)
    low, median, high = (float(steps[min(max(i - 1, 0), len(steps) - 1)]) for i in found)
    return low, median, high


def simes_p_value(p_values: Array) -> float:
    """P-value of all hypotheses together, by Simes: columns that are similar cost less than by Bonferroni."""
    return float(false_discovery_control(p_values, method="bh").min()) if len(p_values) else 1.0


def anderson_darling_p_value(statistics: Array) -> Array:
    """Upper tail of the limiting distribution of Anderson and Darling.

    Up to about 8 by G. Marsaglia, J. Marsaglia, "Evaluating the Anderson-Darling distribution", 2004; beyond by the
    tail of its largest term, as the statistic is a sum of independent terms of one degree of freedom over j (j + 1).
    """
    z = np.maximum(statistics, 1e-3)
    near = np.polyval([0.00168691, -0.011672, 0.0347962, -0.0649821, 0.247105, 2.00012], z)
    middle = np.polyval([-0.0003146, 0.008056, -0.082433, 0.43424, -2.30695, 1.0776], np.minimum(z, 10.0))
    up_to = np.where(z < 2.0, 1.0 - np.exp(-1.2337141 / z) / np.sqrt(z) * near, -np.expm1(-np.exp(middle)))
    beyond = np.sqrt(3.0) * chi2.sf(2.0 * z, 1)
    return np.asarray(np.clip(np.maximum(np.where(z < 10.0, up_to, 0.0), beyond), 0.0, 1.0))
