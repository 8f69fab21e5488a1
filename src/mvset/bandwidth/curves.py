"""The mass-volume curve of nested sets, the area under it (AMV in the paper) and its mean logarithm."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mvset.values import Array, ArrayValue, Indices
from mvset.volume.measure import Volumes, VolumeSample, inside_sets, log_volumes_at, measure


@dataclass(frozen=True, kw_only=True, eq=False)
class MassVolumeCurve(ArrayValue):
    """Volumes of nested sets.

    Attributes
    ----------
    masses, offsets : ndarray of shape (n_masses,)
        The masses β and the offset of the set of each.
    volumes, standard_errors : ndarray of shape (n_masses,)
        Volume of each set and its standard error over draws of the sample points.
    log_volumes : ndarray of shape (n_masses,)
        Logarithms of the volumes, finite in any dimension; minus infinity where no point fell.
    hits, effective_sample_sizes : ndarray of shape (n_masses,)
        Number of sample points in each set, and their effective sample size. Volumes with few effective points are
        unreliable.
    area, area_error : float
        Area under the curve over the range of the masses (AMV in the paper) and its standard error.
    mean_log_volume : float
        Mean of the logarithm of the volume over the range of the masses, finite in any dimension.
    lower, upper : ndarray of shape (n_masses,) or None
        Band around the volumes, for curves of :func:`mass_volume_curve`.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.paper.datasets import two_moons
    >>> model = MinimumVolumeSet(sigma=[0.1, 0.2], random_state=0).fit(two_moons(300, random_state=0))
    >>> curve = model.curves_[0]
    >>> bool((curve.volumes[1:] >= curve.volumes[:-1]).all())
    True
    """

    masses: Array
    offsets: Array
    volumes: Array
    log_volumes: Array
    standard_errors: Array
    hits: Indices = field(repr=False)
    effective_sample_sizes: Array = field(repr=False)
    area: float
    area_error: float
    mean_log_volume: float
    lower: Array | None = None
    upper: Array | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class BandwidthCurve(MassVolumeCurve):
    """The mass-volume curve of one bandwidth.

    Offsets, of logarithms of scores, and volumes are computed in float32, which is enough to compare bandwidths. Where
    volumes cannot be measured they are upper bounds, without standard errors and without sample points.

    Attributes
    ----------
    sigma : float
        The bandwidth.
    training_mass : float
        Share of its training rows that the one-class SVM holds before its offset is calibrated, mean over splits. The
        bandwidth describes the masses only if this is at most the smallest of them.
    split_log_volumes : ndarray of shape (n_splits,)
        What `mean_log_volume` would be with the offsets of each split alone.

    See Also
    --------
    MassVolumeCurve : The other attributes.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.paper.datasets import two_moons
    >>> model = MinimumVolumeSet(sigma=[0.1, 0.2], random_state=0).fit(two_moons(300, random_state=0))
    >>> [curve.sigma for curve in model.curves_]
    [0.1, 0.2]
    """

    sigma: float
    training_mass: float
    split_log_volumes: Array = field(repr=False)


def mass_grid(mass: float, margin: float = 0.04, n_masses: int = 10) -> Array:
    """Equally spaced masses on [α-c, α+c]; c shrinks where the interval would leave (0, 1).

    At most four fifths of the way to the nearer end: exactly the paper's c = 0.04 at its α = 0.95.
    """
    mass, margin = float(mass), min(margin, 0.8 * min(mass, 1.0 - mass))
    return np.linspace(mass - margin, mass + margin, n_masses)


def trapezoid_weights(masses: Array) -> Array:
    """Weights of the trapezoidal rule: the area is their product with the volumes."""
    steps = np.diff(masses)
    return np.asarray(0.5 * (np.append(steps, 0.0) + np.insert(steps, 0, 0.0)))


def mean_over(masses: Array, values: Array) -> Any:
    """Mean of values over the range of the masses (last axis)."""
    return values @ trapezoid_weights(masses) / (masses[-1] - masses[0])


def curve_volumes(masses: Array, offsets: Array, sample: VolumeSample, scores: Array) -> Volumes:
    """Volumes of the sets of each offset, and the area under them.

    Paper: Fig. 2, AMV(σ), by the trapezoidal rule. The area is computed replicate by replicate, which gives its
    standard error although the volumes are dependent.
    """
    return measure(sample, inside_sets(scores, offsets), trapezoid_weights(masses))


def bandwidth_curve(
    sigma: float,
    training_mass: float,
    masses: Array,
    offsets: Array,
    split_offsets: Array,
    sample: VolumeSample,
    scores: Array,
) -> BandwidthCurve:
    """Curve of the nested sets of one bandwidth, from the offsets of the masses and the scores of the sample.

    `split_offsets` has the offsets that each split (row) alone would give.
    """
    volumes = curve_volumes(masses, offsets, sample, scores)
    return BandwidthCurve(
        sigma=sigma,
        training_mass=training_mass,
        split_log_volumes=mean_over(masses, log_volumes_at(sample, scores, split_offsets)),
        **curve_fields(masses, offsets, volumes),
    )


def bound_curve(
    sigma: float, training_mass: float, masses: Array, offsets: Array, split_offsets: Array, log_square_integral: float
) -> BandwidthCurve:
    """The same by bounds on the volumes, the integral of the square over the square of the offset: without points."""
    log_volumes, nothing = log_square_integral - 2.0 * offsets, np.zeros(len(masses))
    with np.errstate(over="ignore"):
        volumes = np.exp(log_volumes)
    return BandwidthCurve(
        sigma=sigma,
        training_mass=training_mass,
        split_log_volumes=mean_over(masses, log_square_integral - 2.0 * split_offsets),
        masses=masses,
        offsets=offsets,
        volumes=volumes,
        log_volumes=log_volumes,
        standard_errors=nothing,
        hits=np.zeros(len(masses), np.intp),
        effective_sample_sizes=nothing,
        area=float(trapezoid_weights(masses) @ volumes),
        area_error=0.0,
        mean_log_volume=float(mean_over(masses, log_volumes)),
    )


def curve_fields(masses: Array, offsets: Array, volumes: Volumes) -> dict[str, Any]:
    """The fields of a :class:`MassVolumeCurve`."""
    return {
        "masses": masses,
        "offsets": offsets,
        "volumes": volumes.scaled(volumes.values),
        "log_volumes": volumes.log_values,
        "standard_errors": volumes.scaled(volumes.standard_errors),
        "hits": volumes.hits,
        "effective_sample_sizes": volumes.effective_sample_sizes,
        "area": float(volumes.scaled(volumes.combination)),
        "area_error": float(volumes.scaled(volumes.combination_error)),
        "mean_log_volume": float(mean_over(masses, volumes.log_values)),
    }
