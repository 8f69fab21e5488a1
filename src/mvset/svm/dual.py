"""Step 4: the dual of the one-class SVM, for every split at one bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from mvset.calibration.splits import Split
from mvset.parallel import Map
from mvset.svm.compiled import MAX_BLOCK, add_rows, solve
from mvset.svm.gram import GaussianGram
from mvset.svm.scratch import scratch

_LEAST_MAX_ITER = 10_000_000  # LIBSVM's cap when the user sets none
_DENSITY_ROWS = 1000
# LIBSVM's objective at the same tolerance is our yardstick. Its last step mostly ends below the tolerance, and a gap
# weighs more in the small objective of few weights.
_STRICTNESS = 0.5
_FEW_WEIGHTS = 100
# A block of 1024 variables has a Gram matrix of 4 MiB, about a second-level cache. Large problems have more free
# variables than that, and each block costs a pass over long rows: twice the size then pays.
_SMALL_BLOCK = 1024
_LARGE_BLOCK = MAX_BLOCK
_LARGE_PROBLEM = 3000


class DualStatus(Enum):
    """How a solve ended; the value is advice."""

    CONVERGED = "KKT gap below tol."
    MAX_ITER = "max_iter reached: raise it, or loosen tol."
    PRECISION = "float32 resolves no further step: loosen tol."


@dataclass(frozen=True)
class Dual:
    """Solution of one dual in LIBSVM's scale: 0 <= alpha <= 1, sum(alpha) = nu * n_train, zero on held-out rows.

    `gradient` is K alpha, the solution function at every row, and `rho` its value on the border of the unshifted set.
    `gap` is the violation of the optimality conditions.
    """

    alpha: NDArray[np.floating]
    gradient: NDArray[np.float64]
    rho: float
    train: NDArray[np.intp]
    iterations: int
    gap: float
    status: DualStatus

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """γ of the paper's eq. (3): the same solution with sum one."""
        alpha = self.alpha.astype(np.float64)
        return np.asarray(alpha / alpha.sum())

    @property
    def training_mass(self) -> float:
        """Share of the training rows inside the unshifted set: those that are not outliers (alpha at its bound)."""
        return float(np.mean(self.alpha[self.train] < 1))

    def compact(self) -> Dual:
        """The same solution in a quarter of the memory: no gradient, and alpha as the float32 that the solver used."""
        return replace(self, alpha=self.alpha.astype(np.float32), gradient=self.gradient[:0])


def _border(alpha: NDArray[np.float64], gradient: NDArray[np.float64]) -> float:
    """K alpha at the free support vectors, or half-way between the rows inside and outside when there are none."""
    free = (alpha > 0) & (alpha < 1)
    if free.any():
        return float(gradient[free].mean())
    inside, outside = gradient[alpha == 0], gradient[alpha == 1]
    return float(np.mean([side(part) for side, part in ((np.min, inside), (np.max, outside)) if part.size]))


def _gradient(gram: GaussianGram, alpha: NDArray[np.floating]) -> NDArray[np.float64]:
    support = np.flatnonzero(alpha)
    gradient = np.zeros(len(alpha))
    add_rows(gram.source, support, alpha[support].astype(np.float64), gradient)
    return gradient


def _cold_start(
    gram: GaussianGram, train: NDArray[np.intp], nu: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The better of equal weights, optimal for σ → 0, and the outermost rows alone, nearly so for wide σ."""
    gram = gram.passing
    n, total = gram.columns.shape[1], nu * len(train)
    uniform = np.zeros(n)
    uniform[train] = np.float32(nu)  # as the solver will round it
    # A sample of the rows tells well enough which rows are outermost.
    sampled = np.zeros(n)
    sampled[train[:: max(1, len(train) // _DENSITY_ROWS)]] = 1.0
    density = _gradient(gram, sampled * (total / sampled.sum()))
    outermost = np.zeros(n)
    order = train[np.argsort(density[train], kind="stable")]
    outermost[order[: int(total)]] = 1.0
    outermost[order[int(total) : int(total) + 1]] = np.float32(total - int(total))
    gradient = _gradient(gram, outermost)
    if outermost @ gradient < uniform @ density:
        return outermost, gradient
    return uniform, _gradient(gram, uniform)


def solve_dual(
    gram: GaussianGram, train: NDArray[np.intp], nu: float, tol: float, max_iter: int, start: Dual | None = None
) -> Dual:
    r"""Solve :math:`\min_\alpha \frac12 \alpha^T K \alpha` over the training rows.

    Paper: eq. (3). Difference: the scale, which is LIBSVM's, so that `tol` is the one people know. Held-out rows get
    the box [0, 0], so all splits share one Gram matrix. `start` is the solution of the same split at another bandwidth.
    """
    n = gram.columns.shape[1]
    upper = np.zeros(n)
    upper[train] = 1.0
    if start is None:
        alpha, gradient = _cold_start(gram, train, nu)
    else:
        alpha, gradient = start.alpha.astype(np.float64), _gradient(gram, start.alpha)
    limit = max(_LEAST_MAX_ITER, 100 * n) if max_iter == -1 else max_iter
    room = scratch("block", min(n, _LARGE_BLOCK if n > _LARGE_PROBLEM else _SMALL_BLOCK)).ravel()
    strict_tol = _STRICTNESS * tol * min(1.0, nu * len(train) / _FEW_WEIGHTS)
    iterations, gap = solve(gram.source, upper, alpha, gradient, room, strict_tol, limit)
    if not gap >= tol:
        status = DualStatus.CONVERGED
    else:
        status = DualStatus.MAX_ITER if iterations >= limit else DualStatus.PRECISION
    rho = _border(alpha[train], gradient[train])
    return Dual(alpha, gradient, rho, train, iterations, max(gap, 0.0), status)


def solve_duals(
    gram: GaussianGram,
    splits: Sequence[Split],
    *,
    nu: float,
    tol: float,
    max_iter: int,
    starts: Sequence[Dual] | None = None,
    run: Map = map,
) -> list[Dual]:
    """One dual per split, all on the same Gram matrix."""
    return list(
        run(
            lambda split, start: solve_dual(gram, split.train, nu, tol, max_iter, start),
            splits,
            starts or [None] * len(splits),
        )
    )
