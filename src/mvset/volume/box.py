"""Volume samples of the paper (Section II-C): uniform points in the smallest box around the rows."""

import numpy as np
from scipy.stats import qmc

from mvset.values import Array
from mvset.volume.cells import CellSampler, with_cells
from mvset.volume.measure import VolumeSample

_SOBOL_DIMENSIONS = 8  # in more, Sobol points estimate the volume of a set no better than random ones
_REPLICATES = 4  # at least: fewer give no usable standard error, more would be too short to be evenly spread


def draw_box_sample(
    X: Array, n_points: int, rng: np.random.RandomState, cells: CellSampler | None = None
) -> VolumeSample:
    """Draw at least `n_points` uniform points in the box around the rows; `cells` draws their categories, if any.

    Paper: Section II-C. The same points serve every bandwidth and mass of a fit, so that areas differ by the sets and
    not by the draw. Difference: with few columns the points are scrambled Sobol sequences, which are more evenly
    spread; several short sequences instead of a long one give the standard error. A constant column has no extent:
    the volume is then that of the slice, over the other columns.
    """
    low, extent = X.min(axis=0), np.ptp(X, axis=0)
    varying = extent > 0
    if varying.sum() <= _SOBOL_DIMENSIONS and n_points >= 2 * _REPLICATES:
        log2_length = int(np.log2(n_points / _REPLICATES))
        n_replicates = -(-n_points // 2**log2_length)
        sequences = [qmc.Sobol(varying.sum(), seed=rng).random_base2(log2_length) for _ in range(n_replicates)]
        unit = np.concatenate(sequences)
    else:
        n_replicates = n_points
        unit = rng.uniform(size=(n_points, varying.sum()))
    points = np.repeat(low[np.newaxis], len(unit), axis=0)
    points[:, varying] += extent[varying] * unit
    log_weight = np.log(extent[varying]).sum() - np.log(len(unit))
    rows, log_probability = with_cells(points, cells)
    return VolumeSample(rows, log_weight - log_probability, n_replicates, "box")
