"""Step 8: the mass-volume curve of one bandwidth and the area under it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mvset.level_sets import KernelLevelSets
from mvset.volumes import BoxProbe, count_hits, estimate_volumes


@dataclass(frozen=True)
class MassVolumeCurve:
    """Volumes of the nested sets of one bandwidth.

    Of the curves of one fit, that of the chosen bandwidth is computed in float64 and the others in float32.

    Attributes
    ----------
    sigma : float
        The bandwidth.
    masses, offsets, volumes, standard_errors : ndarray of shape (n_masses,)
        The masses β, the offset of each set, its volume and the standard error of that volume.
    hits : ndarray of shape (n_masses,)
        How many of the sample points fell into each set. Volumes with few hits mean little.
    area, area_error : float
        Area under the curve over the range of the masses (AMV in the paper) and its standard error.
    training_mass : float
        Share of its training rows that the one-class SVM holds before its offset is calibrated, mean over splits. The
        bandwidth describes the masses only if this is at most the smallest of them.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.datasets import two_moons
    >>> model = MinimumVolumeSet(sigma=[0.1, 0.2], random_state=0).fit(two_moons(300, random_state=0))
    >>> [curve.sigma for curve in model.curves_]
    [0.1, 0.2]
    >>> bool((model.curves_[0].volumes[1:] >= model.curves_[0].volumes[:-1]).all())
    True
    """

    sigma: float
    masses: NDArray[np.float64]
    offsets: NDArray[np.float64]
    volumes: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    hits: NDArray[np.intp] = field(repr=False)
    area: float
    area_error: float
    training_mass: float


def mass_grid(mass: float, margin: float, n_masses: int) -> NDArray[np.float64]:
    """Equally spaced masses on [α-c, α+c]; c shrinks where the interval would leave (0, 1).

    At most four fifths of the way to the nearer end: exactly the paper's c = 0.04 at its α = 0.95.
    """
    margin = min(margin, 0.8 * min(mass, 1.0 - mass))
    return np.linspace(mass - margin, mass + margin, n_masses)


def mass_volume_curve(
    level_sets: KernelLevelSets,
    masses: NDArray[np.float64],
    probe: BoxProbe,
    scores: NDArray[np.float64],
    training_mass: float,
) -> MassVolumeCurve:
    """Curve of nested sets, from the scores of the probe points.

    Paper: Fig. 2, AMV(σ), by the trapezoidal rule. The area is a mean over probe points of the share of the mass range
    in which each is inside, which gives its standard error although the volumes are dependent.
    """
    n_points = len(scores)
    offsets = level_sets.offset(masses)
    hits = count_hits(scores, offsets)
    volumes, errors = estimate_volumes(hits, n_points, probe.log_volume)
    # Trapezoid weights of each mass, cumulated: a point that enters at the j-th mass is inside from there on.
    steps = np.diff(masses)
    weights = 0.5 * (np.append(steps, 0.0) + np.insert(steps, 0, 0.0))
    entering = np.diff(hits, prepend=0)
    worth = np.cumsum(weights[::-1])[::-1]
    mean = float(entering @ worth) / n_points
    # As for volumes: one point's worth always stays in doubt.
    variance = max(float(entering @ worth**2) / n_points - mean**2, float(worth[0] ** 2) / n_points)
    with np.errstate(over="ignore"):
        scale = float(np.exp(probe.log_volume))
    area = mean * scale if mean > 0 else 0.0  # a box past the range of float64 is infinite
    area_error = float(np.sqrt(variance / n_points)) * scale
    sigma = level_sets.function.sigma
    return MassVolumeCurve(sigma, masses, offsets, volumes, errors, hits, area, area_error, training_mass)
