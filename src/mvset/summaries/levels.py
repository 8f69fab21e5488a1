"""Levels as they are written and shown."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_DIGITS = 6  # after the decimal point, at least


def written_levels(levels: ArrayLike, n_calibration_rows: int) -> NDArray[np.float64]:
    """Levels rounded up to a few digits, far more than calibration rows can tell apart.

    A level is the mass of a rank plus 10⁻¹²: 0.950000000001 is beyond the set of mass 0.95. Rounded up it is 0.950001,
    so that ``level <= mass`` still says which rows lie inside, for every mass of as many digits.
    """
    n_units = 10.0 ** max(_DIGITS, int(np.ceil(np.log10(max(1, n_calibration_rows)))) + 2)
    return np.asarray(np.ceil(np.asarray(levels, dtype=np.float64) * n_units) / n_units)
