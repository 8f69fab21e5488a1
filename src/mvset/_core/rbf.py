"""The Gaussian kernel exp(-|x - y|²): Gram matrices, expansions and their mean shift.

The kernels take *scaled* columns, (x - centre) / (sigma * sqrt(2)), of shape (d, n): the bandwidth is then in the
data, and the inner loop runs along contiguous memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvset._core.exponential import exp_minus
from mvset._core.jit import kernel
from mvset._core.reduce import float_min

_BLOCK = 256  # points scored together: their coordinates, distances and sums stay in the first-level cache


def scaled_columns(X: NDArray[Any], centre: NDArray[Any], sigma: float, dtype: Any = np.float64) -> NDArray[Any]:
    """Columns whose squared distances are |x - y|²/(2 sigma²).

    Subtracting the centre first, in float64, keeps float32 accurate for data far from the origin. Coordinates whose
    square would overflow are cut: the kernel is zero long before.
    """
    largest = 1e18 if dtype == np.float32 else 1e150
    with np.errstate(over="ignore"):
        scaled = np.clip((X - centre) / (sigma * np.sqrt(2.0)), -largest, largest)
    return np.ascontiguousarray(scaled.T, dtype=dtype)


@kernel
def squared_distances(point, columns, out):
    """out[j] = |point - column j|²."""
    n = out.shape[0]
    for j in range(n):
        difference = columns[0, j] - point[0]
        out[j] = difference * difference
    for f in range(1, point.shape[0]):
        for j in range(n):
            difference = columns[f, j] - point[f]
            out[j] += difference * difference


@kernel
def kernel_row(point, columns, out):
    """out[j] = k(point, column j)."""
    squared_distances(point, columns, out)
    for j in range(out.shape[0]):
        out[j] = exp_minus(out[j])


@kernel
def kernel_row_at(columns, chosen, p, out):
    """out[t] = k(column chosen[p], column chosen[t])."""
    for t in range(chosen.shape[0]):
        out[t] = 0.0
    for f in range(columns.shape[0]):
        own = columns[f, chosen[p]]
        for t in range(chosen.shape[0]):
            difference = columns[f, chosen[t]] - own
            out[t] += difference * difference
    for t in range(chosen.shape[0]):
        out[t] = exp_minus(out[t])


@kernel
def fill_gram(columns, start, stop, gram):
    """Rows start…stop of the Gram matrix."""
    point = np.empty(columns.shape[0], columns.dtype)
    for i in range(start, stop):
        for f in range(columns.shape[0]):
            point[f] = columns[f, i]
        kernel_row(point, columns, gram[i])


@kernel
def expansion(points, centres, weights, out):
    """out[i] = sum_j weights[j] k(points[:, i], centres[j]).

    Every point passes through a full block, padded if need be, and sums over the centres in their order: its score
    does not depend on which rows are scored beside it.
    """
    d, n = points.shape
    block = np.zeros((d, _BLOCK), points.dtype)
    values = np.empty(_BLOCK, points.dtype)
    sums = np.empty(_BLOCK, points.dtype)
    for start in range(0, n, _BLOCK):
        size = min(_BLOCK, n - start)
        for f in range(d):
            for p in range(size):
                block[f, p] = points[f, start + p]
        sums[:] = 0.0
        for j in range(centres.shape[0]):
            kernel_row(centres[j], block, values)
            for p in range(_BLOCK):
                sums[p] += weights[j] * values[p]
        for p in range(size):
            out[start + p] = sums[p]


@kernel
def mean_shift(points, centres, weights, out):
    """out[:, i] = mean of the centres, each with its weight times k(points[:, i], centre).

    Kernels are taken relative to that of the nearest centre: far from all of them, where each alone underflows, the
    mean is still right.
    """
    d, n = points.shape
    block = np.zeros((d, _BLOCK), points.dtype)
    sums = np.empty((d, _BLOCK), points.dtype)
    values = np.empty(_BLOCK, points.dtype)
    nearest = np.empty(_BLOCK, points.dtype)
    total = np.empty(_BLOCK, points.dtype)
    for start in range(0, n, _BLOCK):
        size = min(_BLOCK, n - start)
        for f in range(d):
            for p in range(size):
                block[f, p] = points[f, start + p]
        squared_distances(centres[0], block, nearest)
        for j in range(1, centres.shape[0]):
            squared_distances(centres[j], block, values)
            for p in range(_BLOCK):
                nearest[p] = float_min(nearest[p], values[p])
        sums[:] = 0.0
        total[:] = 0.0
        for j in range(centres.shape[0]):
            squared_distances(centres[j], block, values)
            for p in range(_BLOCK):
                values[p] = weights[j] * exp_minus(values[p] - nearest[p])
                total[p] += values[p]
            for f in range(d):
                for p in range(_BLOCK):
                    sums[f, p] += values[p] * centres[j, f]
        for f in range(d):
            for p in range(size):
                out[f, start + p] = sums[f, p] / total[p]
