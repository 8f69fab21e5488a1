r"""A bound on the volume of a set that needs no sample points: it holds in any number of columns.

By Markov's inequality for the square of the function, :math:`\mu\{F \ge \rho\} \le \rho^{-2} \int F^2`, and the
integral has a closed form. The product of two kernels of bandwidth σ is a kernel of bandwidth σ/√2 around the middle
of their centres, times the kernel of bandwidth √2 σ of these centres:

.. math:: \int F^2 = (\pi \sigma^2)^{d/2} \sum_{ij} c_i c_j k_{\sqrt 2 \sigma}(x_i, x_j).

A category column also contributes a factor: the sum over its k values of the product of two kernels, which is
:math:`1 + (k - 1) \kappa^2` for equal values and :math:`2 \kappa + (k - 2) \kappa^2` for others, where κ is the kernel
of two values that differ. The bound without the square is looser, the more so the wider σ: it would choose bandwidths
too narrow (docs/method.md).
"""

from dataclasses import replace

import numpy as np

from mvset.parallel import Map
from mvset.rows.layout import ColumnLayout
from mvset.svm.expansion import LEAST, KernelExpansion
from mvset.svm.scaling import Scaling
from mvset.values import Indices

_POINTS = 250  # centres at which the sum over i is taken, drawn in proportion to their weights


def log_square_integral(
    function: KernelExpansion, scaling: Scaling | None, layout: ColumnLayout, varying: Indices, run: Map = map
) -> float:
    """Logarithm of the integral of the square of a function, in the units of the columns of numbers that vary.

    Its centres are mapped by the scaling, if there is one.
    """
    centres, log_factor = function.centres.copy(), 0.5 * len(varying) * np.log(np.pi * function.sigma**2)
    for block, size in zip(layout.blocks, layout.sizes, strict=True):
        scale = 1.0 if scaling is None else scaling.scales[block.start]
        kernel = np.exp(-1.0 / (scale * function.sigma) ** 2)
        same, other = 1.0 + (size - 1.0) * kernel**2, max(2.0 * kernel + (size - 2.0) * kernel**2, LEAST)
        # The kernel of bandwidth √2 σ of two values that differ is then other / same.
        centres[:, block] *= scale * function.sigma * np.sqrt(2.0 * np.log(same / other))
        log_factor += np.log(same)
    pairs = replace(function, centres=centres, sigma=np.sqrt(2.0) * function.sigma, precision="single")
    cumulated = np.cumsum(function.weights) / function.weights.sum()
    drawn = centres[np.searchsorted(cumulated, (np.arange(_POINTS) + 0.5) / _POINTS)]
    log_factor += np.log(np.mean(pairs(drawn, run)) * function.weights.sum())
    return float(log_factor + (0.0 if scaling is None else scaling.log_determinant(varying)))
