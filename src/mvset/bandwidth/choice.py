"""Step 9: one curve per bandwidth → the bandwidth of the smallest sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mvset.bandwidth.curves import BandwidthCurve
from mvset.bandwidth.grid import RATIO


def describes_masses(training_mass: float, masses: NDArray[np.float64]) -> bool:
    """The paper's condition on ν: the unshifted set holds at most α-c of the training rows (Section II-B).

    Where it fails the solution function says nothing about masses this high.
    """
    return bool(training_mass <= masses[0])


def valid_bandwidths(training_masses: Sequence[float], masses: NDArray[np.float64]) -> list[int]:
    """Indices of those that meet the condition on ν; of all when none does."""
    met = [i for i, training_mass in enumerate(training_masses) if describes_masses(training_mass, masses)]
    return met or list(range(len(training_masses)))


def select_bandwidth(
    curves: Sequence[BandwidthCurve], n_independent_splits: float, *, unmeasured_are_small: bool = True
) -> int:
    """Index of the widest bandwidth whose sets are as small as the smallest, up to the standard error.

    Paper: Fig. 2, σ_opt. Differences:

    - the mean over the masses is of the logarithm of the volume: in many dimensions the largest mass alone would
      decide the mean of the volume;
    - it is smoothed over neighbouring bandwidths, whose sets differ by little but noise;
    - of those whose mean exceeds the least by no more than the standard error of the difference, the widest is taken:
      the minimum is flat, and narrow bandwidths win by overfitting. This is the one-standard-error rule of Breiman et
      al., "Classification and Regression Trees", 1984; the standard error is that over the splits.

    Only bandwidths that meet the condition on ν compete: one so narrow that it fails can pass for small because the
    mean of its offsets, which then differ by orders of magnitude between splits, holds less than the mass.

    Of points all over the box, none hits the smallest sets, which then cannot be told apart (`unmeasured_are_small`):
    the middle one is as good as any, and the caller warns. Of points drawn where the sets are, none hits only those
    that a very wide bandwidth does not resolve: they do not compete.
    """
    valid = valid_bandwidths([curve.training_mass for curve in curves], curves[0].masses)
    ascending = sorted(valid, key=lambda i: curves[i].sigma)
    unmeasured = [i for i in ascending if np.isneginf(curves[i].mean_log_volume)]
    if unmeasured and (unmeasured_are_small or len(unmeasured) == len(ascending)):
        return unmeasured[len(unmeasured) // 2]
    ascending = [i for i in ascending if i not in unmeasured]
    values = [np.append(curves[i].mean_log_volume, curves[i].split_log_volumes) for i in ascending]
    smooth = _smoothed(np.array([curves[i].sigma for i in ascending]), np.array(values))
    criterion, by_split = smooth[:, 0], smooth[:, 1:]
    least = best = len(ascending) - 1 - int(np.argmin(criterion[::-1]))  # of equal ones the widest
    for wider in range(least + 1, len(ascending)):
        differences = by_split[wider] - by_split[least]
        error = differences.std(ddof=1) / np.sqrt(n_independent_splits) if len(differences) > 1 else 0.0
        if criterion[wider] - criterion[least] > error:
            break
        best = wider
    return ascending[best]


def _smoothed(sigmas: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values averaged with those of both neighbours, 1 : 2 : 1, where both are as near as on the automatic grid."""
    near = sigmas[1:] / sigmas[:-1] < RATIO * (1.0 + 1e-9)
    inner = 1 + np.flatnonzero(near[:-1] & near[1:])
    smoothed = values.copy()
    smoothed[inner] = 0.25 * values[inner - 1] + 0.5 * values[inner] + 0.25 * values[inner + 1]
    return smoothed
