"""The scores of any number of calibration rows in bounded memory.

The lowest hundred thousand scores are kept as they are: p-values and high masses rest on them. The others are counted
in bins of their first 14 binary digits, which hold a share of about 10⁻⁵ of the rows each. A bin stands for its lower
end. The set of all scores from there on holds exactly the rows counted, so that offsets are exact, if not for every
rank; and a score in a bin ties with all others in it, so that p-values stay valid.

What is kept depends on the scores only, not on their order or on how they are cut into parts: summaries of parts can be
merged.
"""

import numpy as np

from mvset.values import Array

N_EXACT = 100_000
_DIGITS = 14
_MANY_CODES = 1 << 22  # between the least and the greatest: an array of counts takes 32 MB
_LOST_BITS = np.int64((1 << (52 - _DIGITS)) - 1)


class ScoreSummary:
    """Counts scores, part by part.

    Parameters
    ----------
    n_exact : int, default=100_000
        How many of the lowest scores are kept.

    Attributes
    ----------
    values : ndarray of shape (n_values,)
        The lowest scores, and the lower ends of the bins of all others; ascending.
    counts : ndarray of shape (n_values,)
        Number of scores at each value: one for each of the lowest.
    exact_up_to : float
        The largest score kept as it is; infinite if all are.

    Examples
    --------
    >>> from mvset.calibration.score_summary import ScoreSummary
    >>> summary = ScoreSummary(n_exact=2)
    >>> summary.add([3.0, 1.0, 2.0, 4.00001, 4.00002])
    >>> summary.values, summary.counts
    (array([1., 2., 3., 4.]), array([1., 1., 1., 2.]))
    """

    def __init__(self, n_exact: int = N_EXACT) -> None:
        self.n_exact = n_exact
        self._lowest = np.empty(0)
        self._bins, self._bin_counts = np.empty(0), np.empty(0)

    def __len__(self) -> int:
        return len(self._lowest) + int(self._bin_counts.sum())

    def add(self, scores: Array) -> None:
        """Count more scores."""
        scores = np.asarray(scores, dtype=np.float64)
        if len(self._lowest) == self.n_exact > 0:  # most scores are higher than those kept, and need no order
            low = scores < self._lowest[-1]
            self._count(*_binned(scores[~low]))
            scores = scores[low]
        found = np.append(self._lowest, scores)
        if len(found) > self.n_exact:
            found = np.partition(found, self.n_exact)
        self._lowest, others = np.sort(found[: self.n_exact]), found[self.n_exact :]
        self._count(*_binned(others))

    def merge(self, other: "ScoreSummary") -> None:
        """Count the scores of another summary as well, which keeps as many."""
        if other.n_exact != self.n_exact:
            raise ValueError(f"A summary of the lowest {self.n_exact} scores cannot take one of {other.n_exact}.")
        self.add(other._lowest)
        self._count(other._bins, other._bin_counts)

    @property
    def values(self) -> Array:
        """The lowest scores, and the lower ends of the bins."""
        # Of the scores in the bin of the last one kept, the others are no lower.
        return np.concatenate([self._lowest, np.maximum(self._bins, self._lowest[-1:])])

    @property
    def counts(self) -> Array:
        """Number of scores at each value."""
        return np.concatenate([np.ones(len(self._lowest)), self._bin_counts])

    @property
    def exact_up_to(self) -> float:
        """The largest score kept as it is."""
        return float(self._lowest[-1]) if len(self._bins) else np.inf

    def _count(self, bins: Array, counts: Array) -> None:
        if len(bins):
            self._bins, position = np.unique(np.append(self._bins, bins), return_inverse=True)
            total = np.bincount(position, np.append(self._bin_counts, counts))
            self._bin_counts = total.astype(np.float64)


def bins_of(scores: Array) -> Array:
    """Lower ends of the bins of scores."""
    bits = np.ascontiguousarray(scores, dtype=np.float64).view(np.int64)
    return np.asarray(np.where(bits >= 0, bits & ~_LOST_BITS, bits | _LOST_BITS).view(np.float64))


def _binned(scores: Array) -> tuple[Array, Array]:
    """Lower ends of the bins of scores, each once, and how many scores each holds."""
    ends = bins_of(scores)
    codes = ends.view(np.int64) >> (52 - _DIGITS)
    if not len(codes) or codes.max() - codes.min() >= _MANY_CODES:
        return ends, np.ones(len(ends))
    counts = np.bincount(codes - codes.min())  # faster than sorting
    found = np.flatnonzero(counts)
    bits = (found + codes.min()) << (52 - _DIGITS)
    return np.where(bits >= 0, bits, bits | _LOST_BITS).view(np.float64), counts[found].astype(np.float64)
