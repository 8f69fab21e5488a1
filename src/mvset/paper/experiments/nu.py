"""The level sets of a one-class SVM at ν = 0.4.

The paper: The estimated set clearly differs from the true one, but the solution function captures the structure of the
tail.

The paper does not state the bandwidth of this figure; σ = 1 is about the best of `sigma`. The rank correlation
quantifies what the figure shows: in the tail the solution function orders points as the density does. Inside the set it
is uninformative, and low where the density is highest.
"""

import numpy as np
from scipy.stats import spearmanr

from mvset.estimators.one_class_svm import OneClassSVM
from mvset.paper.experiments import figures
from mvset.paper.experiments.methods import MASS, true_mixture
from mvset.paper.experiments.summary import Finding, Row, Rows, column
from mvset.plotting import palette
from mvset.svm.expansion import KernelExpansion
from mvset.values import Array

NU, SIGMA = 0.4, 1.0
N_ROWS = 1000


def compute(task: Row) -> list[Row]:
    """Fit to one sample; return its points with their weights in the solution function."""
    X = true_mixture().sample(N_ROWS, random_state=task["repetition"])
    svm = OneClassSVM(nu=NU, sigma=SIGMA).fit(X)
    weights = np.zeros(N_ROWS)
    weights[svm.support_] = svm.dual_coef_[0]
    table = np.column_stack([X, weights, np.full(N_ROWS, svm.offset_[0])]).tolist()
    return [dict(zip(("x", "y", "weight", "offset"), row, strict=True)) for row in table]


def _solution(rows: Rows) -> tuple[Array, Array, KernelExpansion, float]:
    """Points, weights, solution function and offset from the rows."""
    X, weights = np.column_stack([column(rows, "x"), column(rows, "y")]), column(rows, "weight")
    return X, weights, KernelExpansion(X, weights, SIGMA, X.mean(axis=0)), float(rows[0]["offset"])


def findings(rows: Rows) -> list[Finding]:
    """Share outside, number of support vectors, and rank correlations with the true density."""
    X, weights, solution, offset = _solution(rows)
    fresh = true_mixture().sample(20_000, random_state=1)
    scores, density = solution(fresh), true_mixture().log_density(fresh)
    share, outside = float(np.mean(solution(X) < offset)), scores < offset
    parts = (density <= np.quantile(density, 0.1), outside, ~outside)
    tail, outer, inner = (float(spearmanr(scores[part], density[part]).statistic) for part in parts)
    ranks = "rank correlation of solution function and true density, on the 10 % of new rows of least density"
    return [
        Finding("rows outside the set", "more than 5 %", f"{share:.1%}", share > 1.0 - MASS),
        Finding("support vectors", "in red", f"{np.count_nonzero(weights)} of {len(X)}"),
        Finding(ranks, "captures the structure of the tail", f"{tail:.3f}", tail > 0.9),
        Finding("the same on new rows outside the set; inside", "", f"{outer:.3f}; {inner:.3f}"),
    ]


def plot(rows: Rows) -> figures.Figure:
    """Draw the set, the level sets and the support vectors."""
    X, weights, solution, offset = _solution(rows)
    extent = figures.extent_of(X, 0.12)
    figure, axes = figures.new_figure(6.9, 4.6)
    figures.border(axes, solution, offset * np.array([0.01, 0.04, 0.12, 0.3, 0.6]), extent, palette.INK, linewidths=0.7)
    figures.points(axes, X)
    axes.scatter(*X[weights > 0].T, s=7, color=palette.ONE_CLASS_SVM, linewidths=0)
    figures.border(axes, solution, offset, extent, palette.OURS)
    figures.true_border(axes, extent)
    texts = ("the set at ν = 0.4", "support vectors", "level sets of the solution", "dashed: true set, mass 0.95")
    colours = (palette.OURS, palette.ONE_CLASS_SVM, palette.INK, palette.TRUTH)
    figures.legend(axes, dict(zip(texts, colours, strict=True)), (extent[1], extent[3]), (5, -14))
    figures.plane(axes, extent, "The set is too small, its level sets follow the tail")
    return figure
