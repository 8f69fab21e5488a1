r"""How far correlations are shrunk before columns are whitened: as little as the rows held out allow.

Faults of correlated columns show in the combinations of small variance, and shrinking makes these look normal. It pays
only where rows are too few to know the combinations. So the measure is what an ellipsoid needs to contain the rows held
out: with :math:`R_a` the a-quantile of their squared Mahalanobis distances in shrunk correlations C, its log volume per
column is :math:`\frac12 \log R_a + \frac{1}{2d} \log |C|`, up to a constant.
"""

from collections.abc import Sequence

import numpy as np

from mvset.calibration.splits import Split
from mvset.svm.scaling import LEAST_SHRINKAGE, correlations, standardised
from mvset.values import Array

_CANDIDATES = np.append(LEAST_SHRINKAGE, [f * 10.0**e for e in range(-5, 0) for f in (1, 3)])
# Log length of a side of the ellipsoid. With less, correlations known from twice as many rows as columns would be
# shrunk, and faults be lost (docs/method.md).
_TOLERANCE = 0.2
_FOLDS = 3  # whose ellipsoids are averaged


def least_shrinkage(X: Array, splits: Sequence[Split], masses: Array) -> float:
    """The least shrinkage whose ellipsoids are about as small as the smallest: rows of numbers only."""
    sizes = np.mean([_log_sides(X[split.train], X[split.held_out], masses) for split in splits[:_FOLDS]], axis=0)
    return float(_CANDIDATES[np.argmax(sizes <= sizes.min() + _TOLERANCE)])


def _log_sides(train: Array, held_out: Array, masses: Array) -> Array:
    """Log side of the ellipsoid of each candidate, averaged over the masses."""
    known, scales, varying = standardised(train, np.zeros(train.shape[1]))
    columns = np.flatnonzero(varying)
    eigenvalues, axes = np.linalg.eigh(correlations(known[:, columns], varying[columns]))
    along = (((held_out - train.mean(axis=0)) / scales)[:, columns] @ axes) ** 2
    shrunk = (1.0 - _CANDIDATES[:, np.newaxis]) * np.maximum(eigenvalues, 0.0) + _CANDIDATES[:, np.newaxis]
    reach = np.quantile(along @ (1.0 / shrunk).T, masses, axis=0)
    with np.errstate(divide="ignore"):
        return np.asarray(0.5 * np.log(reach).mean(axis=0) + 0.5 * np.log(shrunk).sum(axis=1) / max(1, len(columns)))
