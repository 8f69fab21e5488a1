"""The dual of the one-class SVM: eq. (3) of the paper, for every split at one bandwidth."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from mvset.exceptions import warn
from mvset.parallel import Map
from mvset.svm.compiled import MAX_BLOCK, add_rows, solve
from mvset.svm.expansion import kernel_expansion
from mvset.svm.gram import GaussianGram, lazy_gram, scratch
from mvset.svm.scaling import Scaling
from mvset.values import Array, Indices
from mvset.wording import counted

_LEAST_MAX_ITER = 10_000_000  # LIBSVM's cap when the user sets none
_DENSITY_ROWS = 1000
# The objective should be no higher than LIBSVM's at the same tolerance. LIBSVM's last step mostly ends well below its
# tolerance, and a given gap matters more when few coefficients make up a small objective.
_STRICTNESS = 0.5
_FEW_WEIGHTS = 100
# A block of 1024 variables has a Gram matrix of 4 MiB, about a second-level cache. Large problems have more free
# variables than that, and each block costs a pass over long rows: twice the size then pays.
_SMALL_BLOCK = 1024
_LARGE_BLOCK = MAX_BLOCK
_LARGE_PROBLEM = 3000


@dataclass(frozen=True)
class Solver:
    """Parameters of the one-class SVM."""

    nu: float
    tol: float
    max_iter: int = -1


class DualStatus(Enum):
    """How a solve ended; the value is advice."""

    CONVERGED = "KKT gap below tol."
    MAX_ITER = "max_iter reached: raise it, or loosen tol."
    PRECISION = "float32 resolves no further step: loosen tol."


@dataclass(frozen=True)
class Dual:
    """Solution of one dual in LIBSVM's scale: 0 <= alpha <= 1, sum(alpha) = nu * n_train, zero on held-out rows.

    `gradient` is K alpha, the solution function at every row, and `rho` its value on the border of the unshifted set.
    `training_mass` is the share of the training rows inside that set: those that are not outliers (alpha at its
    bound). With other bounds than one, rows count in proportion to them. `height` is the median over all rows of the
    solution function, scaled to sum one. `gap` is the violation of the optimality conditions.
    """

    alpha: NDArray[np.floating]
    gradient: Array
    rho: float
    training_mass: float
    height: float
    iterations: int
    gap: float
    status: DualStatus

    @property
    def coefficients(self) -> Array:
        """γ of the paper's eq. (3): the same solution with sum one."""
        alpha = self.alpha.astype(np.float64)
        return np.asarray(alpha / alpha.sum())

    def compact(self) -> "Dual":
        """The same solution in a quarter of the memory: no gradient, and alpha as the float32 that the solver used."""
        return replace(self, alpha=self.alpha.astype(np.float32), gradient=self.gradient[:0])


def _border(alpha: Array, upper: Array, gradient: Array) -> float:
    """K alpha at the free support vectors, or half-way between the rows inside and outside when there are none."""
    free = (alpha > 0) & (alpha < upper)
    if free.any():
        return float(gradient[free].mean())
    inside, outside = gradient[alpha == 0], gradient[alpha == upper]
    return float(np.mean([side(part) for side, part in ((np.min, inside), (np.max, outside)) if part.size]))


def _gradient(gram: GaussianGram, alpha: NDArray[np.floating]) -> Array:
    support = np.flatnonzero(alpha)
    gradient = np.zeros(len(alpha))
    add_rows(gram.source, support, alpha[support].astype(np.float64), gradient)
    return gradient


def _rounded(alpha: Array) -> Array:
    """The values that the solver will use, which works in float32."""
    return alpha.astype(np.float32).astype(np.float64)


def _cold_start(gram: GaussianGram, train: Indices, upper: Array, nu: float) -> tuple[Array, Array]:
    """The better of all rows in proportion to their bounds and of the outermost rows alone, each at its bound.

    The first is optimal for σ → 0, the second nearly so for wide σ.
    """
    gram = gram.passing
    total = nu * upper.sum()
    proportional = _rounded(nu * upper)
    # A sample of the rows tells well enough which rows are outermost.
    sampled = np.zeros(len(upper))
    rows = train[:: max(1, len(train) // _DENSITY_ROWS)]
    sampled[rows] = upper[rows]
    density = _gradient(gram, sampled * (total / sampled.sum()))
    order = train[np.argsort(density[train], kind="stable")]
    already = np.cumsum(upper[order]) - upper[order]
    outermost = np.zeros(len(upper))
    outermost[order] = _rounded(np.clip(total - already, 0.0, upper[order]))
    gradient = _gradient(gram, outermost)
    if outermost @ gradient < proportional @ density:
        return outermost, gradient
    return proportional, _gradient(gram, proportional)


def solve_dual(
    gram: GaussianGram,
    train: Indices,
    solver: Solver,
    start: Dual | None = None,
    bounds: NDArray[np.float32] | None = None,
) -> Dual:
    r"""Solve the dual of the one-class SVM on the training rows.

    Paper: eq. (3), :math:`\min_\gamma \frac12 \sum_{ij} \gamma_i \gamma_j k(x_i, x_j)` subject to
    :math:`0 \le \gamma_i \le 1/(\nu n)` and :math:`\sum_i \gamma_i = 1`.

    Differences: the scale is LIBSVM's, :math:`\alpha = \nu n \gamma`, so that the tolerance means what it means there.
    Rows may have different upper bounds, as LIBSVM gives them for sample weights: :math:`0 \le \alpha_i \le C_i` and
    :math:`\sum_i \alpha_i = \nu \sum_i C_i`. Held-out rows have the bound 0, so all splits share one Gram matrix.

    `bounds` has the C_i of all rows of the Gram matrix, of which those of `train` must be positive; without it they are
    one. float32 is the precision of the solver: a bound that it rounds differently would never be reached. Their mean
    should be near one for the tolerance to keep its meaning. `start` is the solution of the same split, with the
    same bounds, at another bandwidth.
    """
    n = gram.columns.shape[1]
    upper = np.zeros(n)
    upper[train] = 1.0 if bounds is None else bounds[train]
    if start is None:
        alpha, gradient = _cold_start(gram, train, upper, solver.nu)
    else:
        alpha, gradient = start.alpha.astype(np.float64), _gradient(gram, start.alpha)
    limit = max(_LEAST_MAX_ITER, 100 * n) if solver.max_iter == -1 else solver.max_iter
    workspace = scratch("block", min(n, _LARGE_BLOCK if n > _LARGE_PROBLEM else _SMALL_BLOCK)).ravel()
    strict_tol = _STRICTNESS * solver.tol * min(1.0, solver.nu * upper.sum() / _FEW_WEIGHTS)
    iterations, gap = solve(gram.source, upper, alpha, gradient, workspace, strict_tol, limit)
    if not gap >= solver.tol:
        status = DualStatus.CONVERGED
    else:
        status = DualStatus.MAX_ITER if iterations >= limit else DualStatus.PRECISION
    return Dual(
        alpha=alpha,
        gradient=gradient,
        rho=_border(alpha[train], upper[train], gradient[train]),
        training_mass=float(upper[alpha < upper].sum() / upper.sum()),
        height=float(np.median(gradient) / alpha.sum()),
        iterations=iterations,
        gap=max(gap, 0.0),
        status=status,
    )


def solve_duals(
    gram: GaussianGram,
    trains: Sequence[Indices],
    solver: Solver,
    starts: Sequence[Dual | None] | None = None,
    run: Map = map,
) -> list[Dual]:
    """One dual for the training rows of each split, all on the same Gram matrix."""

    def solved(train: Indices, start: Dual | None) -> Dual:
        return solve_dual(gram, train, solver, start)

    return list(run(solved, trains, starts or [None] * len(trains)))


def solve_in_scalings(
    X: Array,
    trains: Sequence[Indices],
    scalings: Sequence[Scaling | None],
    sigma: float,
    solver: Solver,
    starts: Sequence[Dual | None],
    run: Map = map,
    scored: Sequence[Indices] | None = None,
) -> list[Dual]:
    """One dual for each split, in its own scaling if it has one, and on its own Gram matrix.

    Where splits train on few of the rows, the gradient is zero but at the rows to be scored, if these are given.
    """
    everywhere = np.arange(len(X))

    def solved(train: Indices, scaling: Scaling | None, start: Dual | None, scored: Indices | None) -> Dual:
        rows = X if scaling is None else scaling(X)
        if 2 * len(train) >= len(X):
            return solve_dual(lazy_gram(rows, sigma), train, solver, start)
        return _solve_on_few(rows, train, sigma, solver, start, everywhere if scored is None else scored)

    return list(run(solved, trains, scalings, starts, scored or [None] * len(trains)))


def _solve_on_few(X: Array, train: Indices, sigma: float, solver: Solver, start: Dual | None, scored: Indices) -> Dual:
    """The same with the Gram matrix of the training rows only: they are few among the rows of X."""
    gram = lazy_gram(np.ascontiguousarray(X[train]), sigma)
    start = None if start is None else replace(start, alpha=start.alpha[train])
    dual = solve_dual(gram, np.arange(len(train)), solver, start)
    alpha = np.zeros(len(X))
    alpha[train] = dual.alpha
    gradient = np.zeros(len(X))
    gradient[scored] = kernel_expansion(X, alpha, sigma, precision="single")(X[scored])
    return replace(dual, alpha=alpha, gradient=gradient, height=float(np.median(gradient[scored]) / alpha.sum()))


@dataclass(frozen=True)
class SolveReport:
    """Summary of the duals of one bandwidth."""

    iterations: int
    training_mass: float
    worst_gap: float
    failures: tuple[DualStatus, ...]

    @classmethod
    def of(cls, duals: Sequence[Dual]) -> Self:
        """Summarise the solves of all splits."""
        return cls(
            iterations=max(1, sum(dual.iterations for dual in duals)),  # scikit-learn demands one at least
            training_mass=float(np.mean([dual.training_mass for dual in duals])),
            worst_gap=max(dual.gap for dual in duals),
            failures=tuple(dual.status for dual in duals if dual.status is not DualStatus.CONVERGED),
        )


def warn_if_unconverged(reports: Sequence[SolveReport], tol: float, *, settable: bool = False) -> None:
    """Give one warning for all solves that stopped short; if its parameters are `settable`, with advice on them."""
    failures = [status for report in reports for status in report.failures]
    if failures:
        worst = max(report.worst_gap for report in reports)
        advice = failures[0].value if settable else "Sets may be larger than necessary, but their masses are right."
        solves = counted(len(failures), "solve")
        warn(f"{solves} did not converge: KKT gap up to {worst:.2g}, above {tol:.2g}. {advice}", ConvergenceWarning)
