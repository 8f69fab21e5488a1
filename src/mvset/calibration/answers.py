"""What fitted sets answer about rows in host memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mvset.calibration.fitted_sets import FittedSets
from mvset.parallel import Map
from mvset.values import Array, Indices


@dataclass(frozen=True)
class HostAnswers:
    """The answers of fitted sets about rows of numbers; those about an array on a device have the same methods."""

    sets: FittedSets
    X: Any  # validated
    run: Map = map

    def scores(self, masses: Sequence[float] = (), strata: Any = None) -> Array:
        """Scores of all rows, whatever masses and strata are asked about later."""
        return np.asarray(self.sets.scores(self.X, self.run))

    def decision(self, mass: float | None, strata: Any) -> Array:
        """Scores less offsets."""
        offset = self.sets.offset(mass)  # before any work, for the error
        scores = self.scores()
        return np.asarray(scores - (offset if strata is None else self.sets.row_offsets(mass, strata, len(scores))))

    def labels(self, mass: float | None, strata: Any) -> Indices:
        """+1 inside, -1 outside."""
        return np.where(self.decision(mass, strata) >= 0, 1, -1)

    def levels(self, strata: Any) -> Array:
        """Smallest masses whose sets contain the rows."""
        return self.sets.level(self.scores(), strata)

    def p_values(self, strata: Any) -> Array:
        """Conformal p-values."""
        return self.sets.p_value(self.scores(), strata)
