r"""What a set guarantees about its mass: how much mass each rank stands for.

With m scores of rows that trained nothing, s_1 >= … >= s_m, the set {score >= s_k} holds k of them. The mass that this
rank guarantees depends on the calibration mode:

- "split": (k+1)/(m+2) on average, for ranks in half steps; a mass takes the nearest one. Without the models that tell
  rows apart it would be k/(m+1); but a calibration row was scored with m-1 rows around it, a new row has m, and lies
  inside a little more often. No guarantee: rows held out and new rows are scored by different models.
- "paper": k/m, the share of the rows that a split holds out.
- "conformal": k/(m+1), so that a mass α takes the rank ⌈(m+1)α⌉. A new row falls inside with probability k/(m+1) at
  least, over draws of all rows, whatever their distribution.
- "pac": the (1 - confidence)-quantile of Beta(k, m+1-k), the distribution of the set's true mass when no scores tie;
  with ties it is larger. The true mass exceeds it with that confidence over draws of the calibration rows.
- "training": k/m of the training rows themselves. It guarantees nothing about new rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from mvset.calibration.splits import Indices, Splitting, can_split
from mvset.exceptions import TooFewRowsError
from mvset.values import ArrayValue
from mvset.wording import counted

CalibrationMode = Literal["split", "conformal", "pac", "paper"]
CALIBRATION_MODES = frozenset({"split", "conformal", "pac", "paper"})
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Guarantee(ArrayValue):
    """A calibration mode, and its confidence where it has one."""

    mode: CalibrationMode | Literal["training"] = "split"
    confidence: float = 0.95

    def __post_init__(self) -> None:
        known = isinstance(self.mode, str) and self.mode in CALIBRATION_MODES | {"training"}
        if not known or not isinstance(self.confidence, Real) or not 0.0 < self.confidence < 1.0:
            raise ValueError(f"There is no calibration mode {self.mode!r} with confidence {self.confidence!r}.")

    @property
    def reserves_rows(self) -> bool:
        """Whether the calibration rows are set aside before anything else sees the data."""
        return self.mode in ("conformal", "pac")

    def masses_by_rank(self, n_ranks: int) -> NDArray[np.float64]:
        """Largest mass that each of so many ranks stands for, in half steps in "split" mode."""
        rank = np.arange(1.0, n_ranks + 1.0)
        if self.mode == "split":
            rank = 0.5 * (rank + 1.0)
        return self.masses_at(rank, rank[-1] if n_ranks else 0.0)

    def masses_at(self, ranks: NDArray[np.float64], n_rows: float) -> NDArray[np.float64]:
        """Largest mass that ranks among so many calibration rows stand for."""
        if self.mode == "split":  # ranks come in half steps; a quarter rounds to the nearest
            return np.asarray((ranks + 1.25) / (n_rows + 2.0))
        if self.mode == "conformal":
            return np.asarray(ranks / (n_rows + 1.0))
        if self.mode == "pac":
            return np.asarray(betaincinv(ranks, n_rows + 1.0 - ranks, 1.0 - self.confidence))
        return np.asarray(ranks / n_rows)

    def reaches(self, mass: float, n_rows: int) -> bool:
        """Whether so many calibration rows suffice for a mass."""
        if n_rows == 0:
            return False
        largest = {"conformal": n_rows / (n_rows + 1.0), "pac": (1.0 - self.confidence) ** (1.0 / n_rows)}
        return bool(mass <= largest.get(self.mode, 1.0) + _ROUNDING)

    def min_rows(self, mass: float) -> int:
        """Least number of calibration rows that suffices for a mass."""
        guess = {"conformal": mass / (1.0 - mass), "pac": np.log1p(-self.confidence) / np.log(mass)}
        n_rows = max(1, int(guess.get(self.mode, 1.0)) - 1)
        while not self.reaches(mass, n_rows):
            n_rows += 1
        return n_rows


@dataclass(frozen=True)
class Reservation:
    """A share of the rows reserved to calibrate a set of given mass; the others are split with `test_size`."""

    guarantee: Guarantee
    mass: float
    share: float
    test_size: float

    def draw(self, splitting: Splitting, n_rows: int, rng: np.random.RandomState) -> tuple[Indices, Indices]:
        """Indices of the rows to fit with and of those reserved; an error says how many rows are needed."""
        kept, reserved = splitting.reserve(n_rows, self.share, rng)
        if not (self.guarantee.reaches(self.mass, len(reserved)) and can_split(len(kept), self.test_size)):
            if self.suffices(n_rows):
                raise TooFewRowsError(
                    f"{len(kept)} of {n_rows} rows are left to fit with and {len(reserved)} to calibrate with, because "
                    "rows of one group or block stay together: too few. Give more groups, or leave them out."
                )
            mode, confidence = self.guarantee.mode, self.guarantee.confidence
            confident = f" with confidence={confidence:g}" if mode == "pac" else ""
            raise TooFewRowsError(
                f"n_samples={n_rows} rows are too few to guarantee mass={self.mass:g} with calibration={mode!r}"
                f"{confident}: that takes {counted(self.guarantee.min_rows(self.mass), 'row')} reserved for "
                f"calibration and some to fit, {self.min_rows()} in all with calibration_size={self.share:g}."
            )
        return kept, reserved

    def suffices(self, n_rows: int) -> bool:
        """Whether so many rows leave enough of them to calibrate and to fit."""
        n_reserved = int(np.ceil(self.share * n_rows - 1e-9))
        return self.guarantee.reaches(self.mass, n_reserved) and can_split(n_rows - n_reserved, self.test_size)

    def min_rows(self) -> int:
        """Least number of rows that suffices."""
        n_rows = max(1, int((self.guarantee.min_rows(self.mass) - 1) / self.share))
        while not self.suffices(n_rows):
            n_rows += 1
        return n_rows
