"""The comparison of the bandwidths tried by a fit, in units that can be drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mvset.bandwidth.choice import Selection

Array = NDArray[np.float64]

AREA_LABEL = "area under the mass-volume curve"
VOLUME_LABEL = "volume relative to the smallest"
_TITLES = {
    "log volume": "The widest σ within one standard error",
    "area": "The σ of the least area",
    "feature subsets": "The widest σ within one standard error, on column subsets",
    "middle": "The middle σ of sets without sample points",
}


@dataclass(frozen=True, eq=False)
class BandwidthComparison:
    """The selection criterion of each candidate bandwidth whose sets could be measured.

    With ``selection="area"`` the criterion is the area under the mass-volume curve. Otherwise it is the geometric mean
    of the volume over the masses, smoothed, relative to the smallest: the rule selects the widest bandwidth whose value
    exceeds one by no more than its standard error.
    """

    sigmas: Array
    values: Array  # the criterion
    errors: Array  # its standard errors
    eligible: NDArray[np.bool_]  # whether each bandwidth meets the paper's condition on ν
    label: str  # name of the criterion
    title: str | None  # the selection rule in a sentence; None if there was only one candidate

    @classmethod
    def of(cls, selection: Selection) -> BandwidthComparison:
        """The comparison behind the selection of a fit."""
        values, errors, label = selection.values, selection.errors, AREA_LABEL
        if selection.quantity != "area":
            compared = selection.eligible if selection.eligible.any() else np.ones_like(selection.eligible)
            least = min(values[compared & np.isfinite(values)], default=0.0)
            with np.errstate(over="ignore"):
                values = np.exp(values - least)
            errors, label = values * errors, VOLUME_LABEL
        drawn = is_measured(values)
        title = _TITLES.get(selection.criterion)
        return cls(selection.sigmas[drawn], values[drawn], errors[drawn], selection.eligible[drawn], label, title)


def is_measured(values: Array) -> NDArray[np.bool_]:
    """Which volumes or areas can be drawn: finite, and positive, so that the set contains a sample point."""
    return np.asarray(np.isfinite(values) & (values > 0))
