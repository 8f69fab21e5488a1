r"""What a set guarantees about its mass: how much mass each rank stands for.

With m scores of rows that trained nothing, s_1 >= … >= s_m, the set {score >= s_k} holds k of them. The mass that this
rank guarantees depends on the calibration mode:

- "cross": (k+1)/(m+2) on average, for ranks in half steps; a mass takes the nearest one. If one model scored all
  rows it would be k/(m+1); but a calibration row was scored with m-1 rows around it, a new row has m, and lies
  inside a little more often. No guarantee: rows held out and new rows are scored by different models.
- "paper": k/m, the share of the rows that set the offset. It guarantees nothing about new rows.
- "conformal": k/(m+1), so that a mass α takes the rank ⌈(m+1)α⌉. A new row falls inside with probability k/(m+1) at
  least, over draws of all rows, whatever their distribution.
- "pac": the (1 - confidence)-quantile of Beta(k, m+1-k), the distribution of the set's true mass when no scores tie;
  with ties it is larger. The true mass exceeds it with that confidence over draws of the calibration rows.
"""

from dataclasses import dataclass
from itertools import count
from numbers import Real
from typing import Literal

import numpy as np
from scipy.special import betaincinv

from mvset.calibration.splits import TEST_SIZE, Splitting, can_split
from mvset.exceptions import TooFewRowsError
from mvset.values import Array, ArrayValue, Indices
from mvset.wording import Message, counted

CalibrationMode = Literal["cross", "conformal", "pac"]
CALIBRATION_MODES = frozenset({"cross", "conformal", "pac"})
RESERVED_SHARE = 0.5  # of the rows, for a guarantee
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Guarantee(ArrayValue):
    """A calibration mode, and its confidence where it has one."""

    mode: CalibrationMode | Literal["paper"] = "cross"
    confidence: float = 0.95

    def _check(self) -> None:
        known = isinstance(self.mode, str) and self.mode in CALIBRATION_MODES | {"paper"}
        if not known or not isinstance(self.confidence, Real) or not 0.0 < self.confidence < 1.0:
            raise ValueError(f"There is no calibration mode {self.mode!r} with confidence {self.confidence!r}.")

    @property
    def reserves_rows(self) -> bool:
        """Whether the calibration rows are set aside before anything else sees the data."""
        return self.mode in ("conformal", "pac")

    def stated(self, mass: float) -> str:
        """Return a sentence that states the guarantee for a set of this mass."""
        percent = f"{100 * self.confidence:g} %"
        return {
            "cross": f"No guarantee: on average over samples, the set contains {mass:g} of new rows.",
            "conformal": f"If rows are exchangeable, a new row falls inside with probability at least {mass:g}.",
            "pac": f"If rows are independent, the set contains at least {mass:g} of them, with {percent} confidence.",
            "paper": "No guarantee, and nothing is known about the mass on new rows.",
        }[self.mode]

    def masses_by_rank(self, n_ranks: int) -> Array:
        """Largest mass that each of so many ranks stands for, in half steps in "cross" mode."""
        rank = np.arange(1.0, n_ranks + 1.0)
        if self.mode == "cross":
            rank = 0.5 * (rank + 1.0)
        return self.masses_at(rank, rank[-1] if n_ranks else 0.0)

    def masses_at(self, ranks: Array, n_rows: float) -> Array:
        """Largest mass that ranks among so many calibration rows stand for."""
        if self.mode == "cross":  # ranks come in half steps; a quarter rounds to the nearest
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


def reserved_rows(
    guarantee: Guarantee, mass: float, rule: Splitting, n_rows: int, rng: np.random.RandomState
) -> tuple[Indices, Indices]:
    """Indices of the rows to fit with and of those reserved to calibrate; an error says how many rows are needed."""
    kept, reserved = rule.reserve(n_rows, RESERVED_SHARE, rng)
    if guarantee.reaches(mass, len(reserved)) and can_split(len(kept), TEST_SIZE):
        return kept, reserved
    if _suffice(n_rows, guarantee, mass):
        raise TooFewRowsError(
            f"{len(kept)} of {n_rows} rows are left to fit with and {len(reserved)} to calibrate with, because rows of "
            "one group or block stay together: too few. Give more groups, or leave them out."
        )
    n_reserved = guarantee.min_rows(mass)
    message = Message(
        "{n_rows} rows are too few to guarantee {mass:{asked:g}} with {calibration:{mode!r}}{confident}: that takes "
        "{reserved} reserved for calibration and some to fit, {needed} in all.",
        n_rows=n_rows,
        asked=mass,
        mode=guarantee.mode,
        confident=f" at {guarantee.confidence:.4g} confidence" if guarantee.mode == "pac" else "",
        reserved=counted(n_reserved, "row"),
        needed=next(n for n in count(max(1, int((n_reserved - 1) / RESERVED_SHARE))) if _suffice(n, guarantee, mass)),
    )
    raise TooFewRowsError(message)


def _suffice(n_rows: int, guarantee: Guarantee, mass: float) -> bool:
    """Whether so many rows leave enough of them to calibrate and to fit."""
    n_reserved = int(np.ceil(RESERVED_SHARE * n_rows - 1e-9))
    return guarantee.reaches(mass, n_reserved) and can_split(n_rows - n_reserved, TEST_SIZE)
