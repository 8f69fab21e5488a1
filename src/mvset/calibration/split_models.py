r"""The models of the splits at one bandwidth: their mean is the score, and each scores the rows that it has not seen.

Paper: Section II-D, Fig. 3, :math:`F^B = \frac1B \sum_b (f_b - \hat\rho^b)`. The mean of the functions is itself one
kernel expansion, with weights the mean of the γ_b. It costs the union of the support vectors whatever B is.

Difference: the functions of the splits differ in height, by orders of magnitude with narrow bandwidths. Each is divided
by its height, its median over all rows, before anything is averaged or pooled. `held_out_values` are the functions of
the paper, before that.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mvset.calibration.splits import Split
from mvset.parallel import Map
from mvset.rows.encoding import RowEncoding
from mvset.svm.dual import Dual
from mvset.svm.expansion import Precision, kernel_expansion
from mvset.svm.scaling import Scaling
from mvset.svm.score import Score, mean_score
from mvset.values import Array, Indices, cached_property

# Scores below this share of the score on the border of the unshifted set are rounding errors in float32: they count as
# zero.
_NEGLIGIBLE_SCORE = np.finfo(np.float64).eps / 2
_MANY_COPIES = 10  # of a row


@dataclass(frozen=True)
class SplitModels:
    """One dual for each split, trained on rows of X; `scalings` are none, one for all splits, or one for each."""

    X: Array  # encoded
    duals: Sequence[Dual]
    sigma: float
    scalings: Sequence[Scaling] = ()
    precision: Precision = "double"

    @cached_property
    def weights(self) -> Array:
        """Weights of the splits, of mean one: the inverse of their heights; equal if a split has no height."""
        heights = np.array([dual.height for dual in self.duals])
        if not (heights > 0).all():
            return np.ones(len(self.duals))
        return np.asarray(1.0 / heights / np.mean(1.0 / heights))

    def score(self, encoding: RowEncoding | None = None) -> Score:
        """Weighted mean of the solution functions: of rows of a table, or of encoded rows if `encoding` is None."""
        weighted = [w * dual.coefficients for w, dual in zip(self.weights, self.duals, strict=True)]
        one_each = len(self.scalings) > 1
        coefficients = np.array(weighted) / len(self.duals) if one_each else np.mean(weighted, axis=0, keepdims=True)
        return mean_score(encoding, self.X, coefficients, self.sigma, list(self.scalings), self.precision)

    def held_out_scores(self, splits: Sequence[Split], run: Map = map, table: Array | None = None) -> list[Array]:
        """Scores of the rows that each split holds out, by its own weighted function."""
        values = self.held_out_values(splits, run, table)
        return [weight * each for weight, each in zip(self.weights, values, strict=True)]

    def held_out_values(self, splits: Sequence[Split], run: Map = map, table: Array | None = None) -> list[Array]:
        """The same before they are weighted: f_σ^b of the paper.

        The rows come from X, or from `table` if X has only the rows that train. In single precision the solver has
        their values already: its gradient.
        """
        origin = self.X.mean(axis=0)

        def values(split: Split, dual: Dual, scaling: Scaling | None) -> Array:
            if self.precision == "single":
                gradient = dual.gradient[split.held_out]
                known = gradient > _NEGLIGIBLE_SCORE * dual.rho
                return np.where(known, gradient / dual.alpha.sum(dtype=np.float64), 0.0)
            centres, rows = self.X, (self.X if table is None else table)[split.held_out]
            if scaling is not None:
                centres, rows = scaling(self.X - origin), scaling(rows - origin)
            return kernel_expansion(centres, dual.coefficients, self.sigma, precision=self.precision)(rows)

        scalings: Sequence[Scaling | None] = self.scalings or [None]
        each = scalings if len(scalings) == len(splits) else [scalings[0]] * len(splits)
        return list(run(values, splits, self.duals, each))


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
