r"""The mean over splits, of their solution functions and of their offsets; and the scores of rows held out.

Paper: Section II-D, Fig. 3, :math:`F^B = \frac1B \sum_b (f_b - \hat\rho^b)`. The mean of the functions is itself one
kernel expansion, with weights the mean of the γ_b, so that it costs the union of the support vectors whatever B is.

Difference: the functions of the splits differ in height, by orders of magnitude with narrow bandwidths. Each is divided
by its height, its median over all rows, before anything is averaged or pooled; the paper's own rule has equal weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mvset.calibration.offsets import offset_at, offsets_by_rank, shares_held
from mvset.calibration.splits import Split
from mvset.parallel import Map
from mvset.svm.dual import Dual
from mvset.svm.expansion import KernelExpansion, Precision, kernel_expansion
from mvset.svm.metric import Metric
from mvset.svm.metric_expansion import MetricExpansion, metric_expansion

Array = NDArray[np.float64]

# Scores below this share of the score on the border of the unshifted set count as zero in float32, where they are
# rounding errors, and in the paper's rule, whose offsets then are zero, and the sets the whole box. LIBSVM's decision
# values, a difference of score and offset in float64, have the same limit.
NEGLIGIBLE_SCORE = np.finfo(np.float64).eps / 2


def split_weights(duals: Sequence[Dual], *, equal: bool = False) -> Array:
    """Weights of the splits, of mean one: the inverse of their heights; equal if one has none, or for the paper."""
    heights = np.array([dual.height for dual in duals])
    if equal or not (heights > 0).all():
        return np.ones(len(duals))
    return np.asarray(1.0 / heights / np.mean(1.0 / heights))


def aggregate(
    X: Array,
    duals: Sequence[Dual],
    weights: Array,
    sigma: float,
    metrics: Sequence[Metric] = (),
    *,
    precision: Precision = "double",
) -> KernelExpansion | MetricExpansion:
    """Weighted mean of the solution functions of all splits; `metrics` are none, one for all, or one for each."""
    weighted = [w * dual.coefficients for w, dual in zip(weights, duals, strict=True)]
    if not metrics:
        return kernel_expansion(X, np.mean(weighted, axis=0), sigma, precision=precision)
    coefficients = np.mean(weighted, axis=0, keepdims=True) if len(metrics) == 1 else np.array(weighted) / len(duals)
    return metric_expansion(X, coefficients, sigma, list(metrics), precision=precision)


def mean_offsets(split_scores: Sequence[Array]) -> Array:
    """The paper's rule: for each rank the mean over splits of the offsets on the rows they hold out.

    Splits that hold out fewer rows than the largest count with the offsets of the same shares.
    """
    shares = shares_held(max(len(scores) for scores in split_scores))
    return np.asarray(np.mean([offset_at(offsets_by_rank(scores)[0], shares) for scores in split_scores], axis=0))


def held_out_scores(
    X: Array,
    splits: Sequence[Split],
    duals: Sequence[Dual],
    weights: Array,
    sigma: float,
    metrics: Sequence[Metric] = (),
    run: Map = map,
    *,
    precision: Precision = "double",
    drop_negligible: bool = False,
    table: Array | None = None,
) -> list[Array]:
    """Scores of the rows that each split holds out, by its own weighted function.

    These are rows of X, or of `table` if X has only those that train. In single precision the solver has them already:
    its gradient.
    """
    origin = X.mean(axis=0)

    def scores(split: Split, dual: Dual, weight: float, metric: Metric | None) -> Array:
        total = dual.alpha.sum(dtype=np.float64)
        if precision == "single":
            values = dual.gradient[split.held_out] / total
        else:
            centres, rows = X, (X if table is None else table)[split.held_out]
            if metric is not None:
                centres, rows = metric(X - origin), metric(rows - origin)
            values = kernel_expansion(centres, dual.coefficients, sigma, precision=precision)(rows)
        if precision == "single" or drop_negligible:
            values = np.where(total * values > NEGLIGIBLE_SCORE * dual.rho, values, 0.0)
        return np.asarray(weight * values)

    each = metrics if len(metrics) == len(splits) else [metrics[0] if metrics else None] * len(splits)
    return list(run(scores, splits, duals, weights.tolist(), each))
