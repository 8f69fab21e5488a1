"""Why is this row outside? Its displacement from the normal rows around it, by the mean shift of the score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mvset.parallel import Map
from mvset.svm.expansion import KernelExpansion


def displacement(function: KernelExpansion, X: NDArray[np.float64], run: Map = map) -> NDArray[np.float64]:
    r"""How far each feature of each row is from the mean of the centres around it, in units of the bandwidth.

    One mean-shift step, :math:`(x - m(x)) / \sigma = -\sigma \nabla \log f(x)`. Kernels are taken relative to that of
    the nearest centre, so that it is right where the score itself underflows to zero.
    """
    return np.asarray((X - function.mean_shift(X, run)) / function.sigma)
