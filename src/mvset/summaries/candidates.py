"""The bandwidths that a fit tried, as columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mvset.bandwidth.choice import describes_masses
from mvset.bandwidth.curves import BandwidthCurve
from mvset.plotting.axes import is_measured

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Candidates:
    """Bandwidths, the area under the mass-volume curve of each with its standard error, and whether they compete."""

    sigmas: Array
    areas: Array
    errors: Array
    valid: NDArray[np.bool_]  # whether they meet the condition on ν

    @classmethod
    def of(cls, curves: Sequence[BandwidthCurve]) -> Candidates:
        """Those of a fit."""
        return cls(
            np.array([curve.sigma for curve in curves]),
            np.array([curve.area for curve in curves]),
            np.array([curve.area_error for curve in curves]),
            np.array([describes_masses(curve.training_mass, curve.masses) for curve in curves], dtype=bool),
        )

    def measured(self) -> Candidates:
        """Those whose area can be drawn."""
        kept = is_measured(self.areas)
        return Candidates(self.sigmas[kept], self.areas[kept], self.errors[kept], self.valid[kept])
