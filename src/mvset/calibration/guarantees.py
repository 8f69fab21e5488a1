r"""What a set promises about its mass: how much each rank may claim.

With m scores of rows that the function has not seen, s_1 >= … >= s_m, the set {score >= s_k} holds k of them. How much
mass it may claim is a matter of the promise:

- "split": k/m, the share of these rows. Right on average, and no more than that (the paper).
- "conformal": k/(m+1), so that a mass α takes the rank ⌈(m+1)α⌉. A new row falls inside with probability k/(m+1) at
  least, over draws of all rows, whatever their distribution.
- "pac": the (1 - confidence)-quantile of Beta(k, m+1-k), the law of the set's true mass when no scores tie; with ties
  it is larger. The mass exceeds what is claimed with that confidence over draws of the calibration rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from mvset.calibration.offsets import shares_held
from mvset.calibration.splits import can_split

CalibrationMode = Literal["split", "conformal", "pac"]
CALIBRATION_MODES = frozenset({"split", "conformal", "pac"})
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Promise:
    """A kind of promise, and its confidence where it has one."""

    mode: CalibrationMode = "split"
    confidence: float = 0.95

    def claims(self, n_rows: int) -> NDArray[np.float64]:
        """Largest mass that the set of the k best of `n_rows` scores may claim, for k = 1…n_rows."""
        rank = np.arange(1.0, n_rows + 1.0)
        if self.mode == "split":
            return shares_held(n_rows)
        if self.mode == "conformal":
            return np.asarray(rank / (n_rows + 1.0))
        return np.asarray(betaincinv(rank, n_rows + 1.0 - rank, 1.0 - self.confidence))

    def can_claim(self, mass: float, n_rows: int) -> bool:
        """Whether so many calibration rows suffice for a mass."""
        return n_rows > 0 and is_claimed(mass, self.claims(n_rows))

    def least_rows(self, mass: float) -> int:
        """How many calibration rows it takes to claim a mass."""
        guess = {"split": 1.0, "conformal": mass / (1.0 - mass), "pac": np.log1p(-self.confidence) / np.log(mass)}
        n_rows = max(1, int(guess[self.mode]) - 1)
        while not self.can_claim(mass, n_rows):
            n_rows += 1
        return n_rows


SHARES_HELD = Promise()


def is_claimed(mass: float, claims: NDArray[np.float64]) -> bool:
    """Whether the largest of these claims reaches a mass."""
    return bool(mass <= claims[-1] + _ROUNDING)


@dataclass(frozen=True)
class Reservation:
    """A share of the rows set aside to keep a promise about a mass; the others are fitted with `test_size`."""

    promise: Promise
    mass: float
    share: float
    test_size: float

    def draw(self, n_rows: int, rng: np.random.RandomState) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows to fit with, and rows reserved to calibrate with; an error says how many rows it takes."""
        if not self.suffices(n_rows):
            mode, confidence = self.promise.mode, self.promise.confidence
            confident = f" with confidence={confidence:g}" if mode == "pac" else ""
            raise ValueError(
                f"n_samples={n_rows} rows are too few to promise mass={self.mass:g} with calibration={mode!r}"
                f"{confident}: that takes {self.promise.least_rows(self.mass)} rows reserved to calibrate and some to "
                f"fit, {self.least_rows()} in all with calibration_size={self.share:g}."
            )
        drawn, n_reserved = rng.permutation(n_rows), self._n_reserved(n_rows)
        return np.sort(drawn[n_reserved:]), np.sort(drawn[:n_reserved])

    def suffices(self, n_rows: int) -> bool:
        """Whether so many rows leave enough of them to calibrate and to fit."""
        n_reserved = self._n_reserved(n_rows)
        return self.promise.can_claim(self.mass, n_reserved) and can_split(n_rows - n_reserved, self.test_size)

    def least_rows(self) -> int:
        """Least number of rows that suffices."""
        n_rows = max(1, int((self.promise.least_rows(self.mass) - 1) / self.share))
        while not self.suffices(n_rows):
            n_rows += 1
        return n_rows

    def _n_reserved(self, n_rows: int) -> int:
        return int(np.ceil(self.share * n_rows - 1e-9))
