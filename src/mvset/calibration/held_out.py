"""One score for each row that splits hold out: the mean over the models that have not seen it."""

from collections.abc import Callable, Sequence

import numpy as np

from mvset.calibration.splits import Split
from mvset.values import Array, Indices

_MANY_COPIES = 10


def pooled_scores(
    X: Array, splits: Sequence[Split], split_scores: Sequence[Array], score: Callable[[Array], Array]
) -> tuple[Indices, Array]:
    """Numbers of the rows of X that some split holds out, ascending, and one score for each; `score` is the average.

    One score per row, however many splits: the rows are independent of each other, the splits are not. Equal rows
    have the same score, the mean over all splits that hold one of them out. A row that is repeated at least ten times
    has the averaged score, to which one of its copies adds next to nothing. So new rows of the same values are inside
    or outside as one, and are not cut in two by the differences between splits.
    """
    rows = np.unique(np.concatenate([split.held_out for split in splits]))
    values, value, copies = np.unique(X[rows], axis=0, return_inverse=True, return_counts=True)
    value = value.ravel()
    total, times = np.zeros(len(values)), np.zeros(len(values))
    for split, scores in zip(splits, split_scores, strict=True):
        found, first = np.unique(value[np.searchsorted(rows, split.held_out)], return_index=True)
        total[found] += scores[first]
        times[found] += 1.0
    means = total / times
    if (copies >= _MANY_COPIES).any():
        means[copies >= _MANY_COPIES] = score(values[copies >= _MANY_COPIES])
    return rows, means[value]
