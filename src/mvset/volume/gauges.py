"""Where points lie: gauges of ellipsoids, and how many balls hold each point."""

from __future__ import annotations

import numpy as np

from mvset.svm.compiled import kernel

_BLOCK = 128  # points taken together: their coordinates stay in the first-level cache


@kernel
def ellipsoid_gauges(columns, centre, inverse, out):
    """out[i] = |inverse (columns[:, i] - centre)| with a lower triangular `inverse`."""
    d, n = columns.shape
    block = np.zeros((d, _BLOCK))
    whitened = np.empty(_BLOCK)
    sums = np.empty(_BLOCK)
    for start in range(0, n, _BLOCK):
        size = min(_BLOCK, n - start)
        for f in range(d):
            for p in range(size):
                block[f, p] = columns[f, start + p] - centre[f]
        sums[:] = 0.0
        for i in range(d):
            whitened[:] = 0.0
            for f in range(i + 1):
                for p in range(_BLOCK):
                    whitened[p] += inverse[i, f] * block[f, p]
            for p in range(_BLOCK):
                sums[p] += whitened[p] * whitened[p]
        for p in range(size):
            out[start + p] = np.sqrt(sums[p])


@kernel
def count_balls(columns, centres, squared_radii, out):
    """out[i, j] = number of centres within radius j of point i; radii ascend."""
    d, n = columns.shape
    n_radii = squared_radii.shape[0]
    block = np.zeros((d, _BLOCK))
    squared = np.empty(_BLOCK)
    out[:] = 0.0
    for start in range(0, n, _BLOCK):
        size = min(_BLOCK, n - start)
        for f in range(d):
            for p in range(size):
                block[f, p] = columns[f, start + p]
        for c in range(centres.shape[0]):
            squared[:] = 0.0
            for f in range(d):
                for p in range(_BLOCK):
                    difference = block[f, p] - centres[c, f]
                    squared[p] += difference * difference
            for p in range(size):
                # From the largest radius down: most centres are too far for any.
                j = n_radii - 1
                while j >= 0 and squared[p] <= squared_radii[j]:
                    out[start + p, j] += 1.0
                    j -= 1
