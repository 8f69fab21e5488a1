"""What questions about certainty are answered with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MassInterval:
    """Interval for the true mass of a set.

    Attributes
    ----------
    estimate : float
        Share of the calibration rows inside.
    low, high : float
        Ends of the interval.
    confidence : float
        Its confidence.
    n_rows : int
        Number of calibration rows.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.datasets import two_moons
    >>> interval = MinimumVolumeSet(mass=0.9, random_state=0).fit(two_moons(500, random_state=0)).mass_interval_
    >>> interval.low < 0.9 < interval.high
    True
    """

    estimate: float
    low: float
    high: float
    confidence: float
    n_rows: int

    def __str__(self) -> str:
        return f"{self.estimate:.3f} ({self.low:.3f} to {self.high:.3f} with {100 * self.confidence:g} % confidence)"


@dataclass(frozen=True)
class MassBand:
    """Bounds for the true masses of nested sets that hold for all of them at once.

    Attributes
    ----------
    masses : ndarray of shape (n_masses,)
        Masses asked for.
    lower, upper : ndarray of shape (n_masses,)
        Bounds for the true masses of their sets.
    confidence : float
        Probability that the true masses of *all* nested sets of the fit lie in the band, at least.
    """

    masses: Array
    lower: Array
    upper: Array
    confidence: float


@dataclass(frozen=True)
class Detection:
    """Rows flagged in a batch.

    Attributes
    ----------
    flagged : ndarray of bool of shape (n_samples,)
        The rows flagged.
    p_values : ndarray of shape (n_samples,)
        Conformal p-values of all rows.
    threshold : float
        Rows with p-values up to it are flagged; 0 when there are none.
    fdr : float
        The false discovery rate controlled.
    """

    flagged: NDArray[np.bool_]
    p_values: Array
    threshold: float
    fdr: float
