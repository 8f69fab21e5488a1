"""Why is this row outside? Its displacement from the normal rows around it, by the mean shift of the score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mvset.parallel import Map
from mvset.svm.expansion import KernelExpansion
from mvset.svm.metric_expansion import MetricExpansion


def displacement(
    function: KernelExpansion | MetricExpansion, X: NDArray[np.float64], run: Map = map
) -> NDArray[np.float64]:
    r"""How far each feature of each row is from the mean of the centres around it, in units of the bandwidth.

    One mean-shift step, :math:`(x - m(x)) / \sigma = -\sigma \nabla \log f(x)`. Kernels are taken relative to that of
    the nearest centre, so that it is right where the score itself underflows to zero.

    In a metric A the gradient is that with respect to the columns of X, times their conditional scales: how far a
    feature is from what is normal given all other features, in the units in which it then varies. With several metrics
    it is the mean over them.
    """
    if isinstance(function, KernelExpansion):
        return np.asarray((X - function.mean_shift(X, run)) / function.sigma)
    total = np.zeros(X.shape)
    for metric, part in zip(function.metrics, function.parts, strict=True):
        mapped = displacement(part, function.mapped(metric, X), run)
        total += metric.gradient(mapped) * metric.conditional_scales
    return total / len(function.metrics)
