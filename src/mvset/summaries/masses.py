"""Which masses to draw for fitted nested sets, and what is known about the true ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from mvset.inference.results import MassBand

Array = NDArray[np.float64]

TAIL = np.arange(80, 100) / 100  # what the sets are about


def claimable(sets: Any, masses: ArrayLike) -> Array:
    """Of these masses, those for which the model has calibration rows enough."""
    return np.array([mass for mass in np.asarray(masses, dtype=np.float64) if sets._level_sets.can_claim(mass)])


def tail_masses(sets: Any) -> Array:
    """Masses 0.80, 0.81 … 0.99 and the fitted one; from somewhat below it where that is lower."""
    first = max(1, min(80, round(100 * sets.masses_[0])))
    return claimable(sets, np.union1d(np.arange(first, 100) / 100, sets.mass))


def fitted_curve(sets: Any, masses: Array, confidence: float) -> dict[str, Array]:
    """Volumes of the nested sets as fitted, their bounds, and those of the true masses where the model has any."""
    estimates = [sets.volume(float(mass)) for mass in masses]
    volumes = np.array([estimate.value for estimate in estimates])
    errors = ndtri(0.5 + 0.5 * confidence) * np.array([estimate.standard_error for estimate in estimates])
    curve = {"masses": masses, "volumes": volumes, "lower": np.maximum(volumes - errors, 0), "upper": volumes + errors}
    band = known_band(sets, masses, confidence)
    return curve if band is None else {**curve, "mass_lower": band.lower, "mass_upper": band.upper}


def known_band(sets: Any, masses: Array, confidence: float) -> MassBand | None:
    """Simultaneous bounds for the true masses, NaN where the model gives none; None if it never gives any."""
    if not hasattr(sets, "mass_band"):
        return None
    band: MassBand = sets.mass_band(masses, confidence)
    known = masses >= _least_bounded(sets)
    return MassBand(masses, np.where(known, band.lower, np.nan), np.where(known, band.upper, np.nan), confidence)


def masses_around(sets: Any, confidence: float) -> list[float]:
    """Masses of two sets around the fitted one; between their borders is that of the true mass, with confidence.

    The largest set that surely holds less than the fitted mass, and the smallest that surely holds no less; one or both
    are missing where the rows are too few to be sure, and both where the model gives no bounds.
    """
    if not hasattr(sets, "mass_band") or sets.mass < _least_bounded(sets):
        return []
    least = _least_bounded(sets)
    fine = np.union1d(np.linspace(least, sets.mass, 100), np.linspace(sets.mass, 1.0, 100, endpoint=False))
    band = known_band(sets, claimable(sets, fine), confidence)
    assert band is not None
    less, no_less = band.masses[band.upper < sets.mass], band.masses[band.lower >= sets.mass]
    return [*less[-1:].tolist(), *no_less[:1].tolist()]


def _least_bounded(sets: Any) -> float:
    return float(min(sets.mass_band().masses, default=1.0))
