"""Step 7: the volume of a level set, with its standard error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class VolumeEstimate:
    """A Monte Carlo volume.

    Attributes
    ----------
    value : float
        The estimate. ``float(estimate)`` gives it too.
    standard_error : float
        Its standard deviation over draws of the sample points.

    Examples
    --------
    >>> from mvset import VolumeEstimate
    >>> volume = VolumeEstimate(12.345, 0.067)
    >>> print(volume)
    12.35 ± 0.067
    >>> float(volume)
    12.345
    """

    value: float
    standard_error: float

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.standard_error:.2g}"


@dataclass(frozen=True)
class BoxProbe:
    """Uniform points in the smallest box around the data, and the logarithm of its volume."""

    points: NDArray[np.float64]
    log_volume: float


def draw_box_probe(X: NDArray[np.float64], n_points: int, rng: np.random.RandomState) -> BoxProbe:
    """Draw the points that measure every set of one fit.

    Paper: Section II-C. One common set of points serves every bandwidth and mass, so that areas differ by the sets and
    not by the draw. A constant column has no extent: the volume is then that of the slice, across the other columns.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    extent = high - low
    points = low + extent * rng.uniform(size=(n_points, X.shape[1]))
    return BoxProbe(points, float(np.log(extent[extent > 0]).sum()))


def count_hits(scores: ArrayLike, offsets: ArrayLike) -> NDArray[np.intp]:
    """How many scores reach each offset."""
    ascending = np.sort(np.asarray(scores))
    return len(ascending) - np.searchsorted(ascending, offsets, side="left")


def estimate_volumes(
    hits: NDArray[np.intp], n_points: int, log_volume: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Volumes :math:`V_c \hat p` and standard errors :math:`V_c \sqrt{\hat p (1 - \hat p) / m}`.

    Paper: Section II-C.
    """
    share = hits / n_points
    # No hit, or nothing but hits, still leaves the volume of a point or so in doubt.
    variance = np.maximum(share * (1.0 - share), 1.0 / n_points) / n_points
    with np.errstate(over="ignore", divide="ignore"):
        values = np.exp(log_volume + np.log(share))
        errors = np.exp(log_volume + 0.5 * np.log(variance))
    return values, errors


def volume_estimate(scores: NDArray[np.float64], offset: float, log_volume: float) -> VolumeEstimate:
    """Volume of {F >= offset} from the scores F of the probe points."""
    hits = count_hits(scores, [offset])
    (value,), (error,) = estimate_volumes(hits, len(scores), log_volume)
    return VolumeEstimate(float(value), float(error))
