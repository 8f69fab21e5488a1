r"""The mean over splits: of their solution functions, and of their offsets; and the scores of rows held out.

Paper: Section II-D, Fig. 3, :math:`F^B = \frac1B \sum_b (f_b - \hat\rho^b)`. The mean of the functions is itself one
kernel expansion, with weights the mean of the γ_b, so that it costs the union of the support vectors whatever B is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mvset.calibration.splits import Split
from mvset.parallel import Map
from mvset.svm.dual import Dual
from mvset.svm.expansion import KernelExpansion, kernel_expansion

# Scores below this share of the score on the border of the unshifted set count as zero: there the training rows say
# nothing. At a hopelessly narrow bandwidth the offsets then are zero, the sets the whole box, and their volume rejects
# the bandwidth, where a union of tiny balls around the rows would look small. LIBSVM's decision values, a difference
# of score and offset in float64, have the same limit.
NEGLIGIBLE_SCORE = np.finfo(np.float64).eps / 2


def aggregate(
    X: NDArray[np.float64], duals: Sequence[Dual], sigma: float, *, single_precision: bool = False
) -> KernelExpansion:
    """Mean of the solution functions of all splits."""
    coefficients = np.mean([dual.coefficients for dual in duals], axis=0)
    return kernel_expansion(X, coefficients, sigma, single_precision=single_precision)


def mean_offsets(split_offsets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over splits (rows) of the offsets by rank (columns)."""
    return np.asarray(split_offsets.mean(axis=0))


def held_out_scores(
    X: NDArray[np.float64],
    splits: Sequence[Split],
    duals: Sequence[Dual],
    sigma: float,
    run: Map = map,
    *,
    single_precision: bool = False,
) -> NDArray[np.float64]:
    """Scores f_b of the rows that each split holds out, one row per split.

    In single precision the solver has them already: its gradient.
    """

    def scores(split: Split, dual: Dual) -> NDArray[np.float64]:
        total = dual.alpha.sum(dtype=np.float64)
        if single_precision:
            values = dual.gradient[split.held_out] / total
        else:
            values = kernel_expansion(X, dual.coefficients, sigma)(X[split.held_out])
        return np.asarray(np.where(total * values > NEGLIGIBLE_SCORE * dual.rho, values, 0.0))

    return np.stack(list(run(scores, splits, duals)))
