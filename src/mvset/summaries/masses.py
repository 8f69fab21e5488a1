"""Masses to draw for fitted nested sets, with their volumes and the bounds for the true masses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from mvset.calibration.fitted_sets import FittedSets
from mvset.inference.results import MassBand
from mvset.volume.measure import VolumeEstimate

Array = NDArray[np.float64]

TAIL = np.arange(80, 100) / 100  # the masses that the sets are meant to describe
CONTOUR_MASSES = (0.7, 0.8, 0.9, 0.95, 0.99)


def tail_masses(sets: FittedSets) -> Array:
    """Masses 0.80, 0.81 … 0.99 and the fitted one; if that is lower, starting a little below it."""
    first = max(1, min(80, round(100 * sets.masses[0])))
    return sets.guaranteed(np.union1d(np.arange(first, 100) / 100, sets.mass))


def fitted_curve(
    sets: FittedSets, masses: Array, confidence: float, estimates: Sequence[VolumeEstimate] | None = None
) -> dict[str, Array]:
    """Mass-volume curve of the fitted sets: volumes with bounds, and bounds for the true masses if there are any.

    `estimates` are the volumes at these masses, if they are known already.
    """
    estimates = [sets.volume(float(mass)) for mass in masses] if estimates is None else estimates
    volumes = np.array([estimate.value for estimate in estimates])
    errors = ndtri(0.5 + 0.5 * confidence) * np.array([estimate.standard_error for estimate in estimates])
    curve = {"masses": masses, "volumes": volumes, "lower": np.maximum(volumes - errors, 0), "upper": volumes + errors}
    band = known_band(sets, masses, confidence)
    return curve if band is None else {**curve, "mass_lower": band.lower, "mass_upper": band.upper}


def known_band(sets: FittedSets, masses: Array, confidence: float) -> MassBand | None:
    """Simultaneous bounds for the true masses, NaN below the tail in "split" mode; None without calibration rows."""
    if not sets.is_calibrated:
        return None
    band = sets.mass_band(masses, confidence)
    known = masses >= _least_bounded(sets)
    return MassBand(masses, np.where(known, band.lower, np.nan), np.where(known, band.upper, np.nan), confidence)


def masses_around(sets: FittedSets, confidence: float) -> list[float]:
    """Masses of two sets between whose borders the set with exactly the fitted mass lies, at the given confidence.

    The first is the largest set whose true mass is below the fitted mass with confidence, the second the smallest set
    whose true mass is at least the fitted mass. With too few rows one or both are missing; without bounds both are.
    """
    if not sets.is_calibrated or sets.mass < _least_bounded(sets):
        return []
    least = _least_bounded(sets)
    fine = np.union1d(np.linspace(least, sets.mass, 100), np.linspace(sets.mass, 1.0, 100, endpoint=False))
    band = known_band(sets, sets.guaranteed(fine[fine > 0]), confidence)
    assert band is not None
    below, at_least = band.masses[band.upper < sets.mass], band.masses[band.lower >= sets.mass]
    return [*below[-1:].tolist(), *at_least[:1].tolist()]


def _least_bounded(sets: FittedSets) -> float:
    """The smallest mass for which the model gives bounds; 1 if there is none."""
    return float(min(sets.calibration.comparable_masses, default=1.0))
