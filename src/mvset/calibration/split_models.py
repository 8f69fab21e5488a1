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
from mvset.svm.dual import Dual
from mvset.svm.expansion import KernelExpansion, Precision, kernel_expansion, log_sum
from mvset.svm.scaling import Scaling
from mvset.svm.score import View
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
    log_square_integral: float = 0.0  # of the mean function, for the bound on volumes

    @cached_property
    def weights(self) -> Array:
        """Weights of the splits, of mean one: the inverse of their heights; equal if a split has no height."""
        heights = np.array([dual.height for dual in self.duals])
        if not (heights > 0).all():
            return np.ones(len(self.duals))
        return np.asarray(1.0 / heights / np.mean(1.0 / heights))

    @property
    def coefficients(self) -> Array:
        """Coefficients of the weighted mean of the solution functions: one row for each scaling, or one row."""
        weighted = [w * dual.coefficients for w, dual in zip(self.weights, self.duals, strict=True)]
        one_each = len(self.scalings) > 1
        return np.array(weighted) / len(self.duals) if one_each else np.mean(weighted, axis=0, keepdims=True)

    def view(self, weights: Array, shift: float = 0.0, slope: float = 1.0) -> View:
        """The weighted mean as a view of a score, with the weights of the score's centres."""
        return View(weights, float(self.sigma), list(self.scalings), self.precision, shift, slope)

    def held_out_scores(self, splits: Sequence[Split], run: Map = map, table: Array | None = None) -> list[Array]:
        """Scores of the rows that each split holds out, by its own weighted function."""
        values = self.held_out_values(splits, run, table)
        return [weight * each for weight, each in zip(self.weights, values, strict=True)]

    def held_out_values(self, splits: Sequence[Split], run: Map = map, table: Array | None = None) -> list[Array]:
        """The same before they are weighted: f_σ^b of the paper.

        The rows come from X, or from `table` if X has only the rows that train. In single precision the solver has
        their values already: its gradient.
        """

        def values(split: Split, dual: Dual, scaling: Scaling | None) -> Array:
            if self.precision == "single":
                gradient = dual.gradient[split.held_out]
                known = gradient > _NEGLIGIBLE_SCORE * dual.rho
                return np.where(known, gradient / dual.alpha.sum(dtype=np.float64), 0.0)
            function, mapped = self._function(dual, scaling)
            return function(mapped((self.X if table is None else table)[split.held_out]))

        return list(run(values, splits, self.duals, self._scaling_of_each))

    def held_out_logs(self, splits: Sequence[Split], run: Map = map, table: Array | None = None) -> list[Array]:
        """Logarithms of the scores of the rows that each split holds out."""

        def logs(split: Split, dual: Dual, scaling: Scaling | None, weight: float) -> Array:
            rows, (function, mapped) = (self.X if table is None else table), self._function(dual, scaling)
            if self.precision != "single":
                return np.asarray(np.log(weight) + log_sum(rows[split.held_out], [(mapped, function)]))
            gradient = dual.gradient[split.held_out]
            known = gradient > _NEGLIGIBLE_SCORE * dual.rho
            found = np.log(np.where(known, gradient, 1.0)) - np.log(dual.alpha.sum(dtype=np.float64))
            if not known.all():
                found[~known] = function.logs(mapped(rows[split.held_out[~known]]))
            return np.asarray(np.log(weight) + found)

        return list(run(logs, splits, self.duals, self._scaling_of_each, self.weights))

    @property
    def _scaling_of_each(self) -> list[Scaling | None]:
        scalings: Sequence[Scaling | None] = self.scalings or [None]
        return list(scalings) if len(scalings) == len(self.duals) else [scalings[0]] * len(self.duals)

    def _function(self, dual: Dual, scaling: Scaling | None) -> tuple[KernelExpansion, Callable[[Array], Array]]:
        """The solution function of a split, and how rows are mapped for it."""
        origin = self.X.mean(axis=0)

        def mapped(rows: Array) -> Array:
            return rows if scaling is None else scaling(rows - origin)

        return kernel_expansion(mapped(self.X), dual.coefficients, self.sigma, precision=self.precision), mapped


def pooled_scores(
    X: Array, splits: Sequence[Split], split_scores: Sequence[Array], score: Callable[[Array], Array]
) -> tuple[Indices, Array]:
    """Numbers of the rows of X that some split holds out, ascending, and one score for each; `score` is the average.

    One score per row, however many splits: the rows are independent of each other, the splits are not. Equal rows
    have the same score, the mean over all splits that hold one of them out. A row that is repeated at least ten times
    has the averaged score, to which one of its copies adds next to nothing. So new rows of the same values are inside
    or outside as one, and are not cut in two by the differences between splits.
    """
    return _pooled(X, splits, split_scores, score, np.add, 0.0, lambda total, times: total / times)


def pooled_logs(
    X: Array, splits: Sequence[Split], split_logs: Sequence[Array], log_score: Callable[[Array], Array]
) -> tuple[Indices, Array]:
    """The same of logarithms of scores, and the logarithm of their means."""
    return _pooled(X, splits, split_logs, log_score, np.logaddexp, -np.inf, lambda total, times: total - np.log(times))


def _pooled(
    X: Array,
    splits: Sequence[Split],
    split_scores: Sequence[Array],
    score: Callable[[Array], Array],
    add: np.ufunc,
    nothing: float,
    mean: Callable[[Array, Array], Array],
) -> tuple[Indices, Array]:
    rows = np.unique(np.concatenate([split.held_out for split in splits]))
    values, value, copies = np.unique(X[rows], axis=0, return_inverse=True, return_counts=True)
    value = value.ravel()
    total, times = np.full(len(values), nothing), np.zeros(len(values))
    for split, scores in zip(splits, split_scores, strict=True):
        found, first = np.unique(value[np.searchsorted(rows, split.held_out)], return_index=True)
        total[found] = add(total[found], scores[first])
        times[found] += 1.0
    means = mean(total, times)
    if (copies >= _MANY_COPIES).any():
        means[copies >= _MANY_COPIES] = score(values[copies >= _MANY_COPIES])
    return rows, means[value]
