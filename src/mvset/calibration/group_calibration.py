"""An offset for every group of rows (Mondrian calibration), so that each has its own share of alarms.

The score is the same for all groups. A group's offsets come from its own calibration rows; see V. Vovk et al.,
"Mondrian Confidence Machine", 2003.

Small groups shrink to the whole. In "split" mode a group is calibrated on its own rows and twenty more, which stand for
all rows: the quantiles 1/21, …, 20/21 of the scores of all calibration rows. A group of 20 rows thus lies half-way
between its own offset and that of the whole, one of 380 rows has 95 % of its own. With a guarantee ("conformal", "pac")
nothing may be mixed in: a group that has enough calibration rows for the mass has its own offsets, any other that of
the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvset.calibration.calibration import Calibration
from mvset.exceptions import UnseenGroupWarning, warn
from mvset.validation import checked_labels
from mvset.values import ArrayValue, checked_array

Array = NDArray[np.float64]

_SHRINKAGE_ROWS = 20


@dataclass(frozen=True, eq=False)
class GroupCalibrations(ArrayValue):
    """The calibration of every group, by its label as text; and the levels of all calibration rows in their groups."""

    labels: list[str]
    calibrations: list[Calibration]
    levels: Array

    def __post_init__(self) -> None:
        """Check the parts, also of what a file holds."""
        valid = all(isinstance(label, str) for label in self.labels) and len(set(self.labels)) == len(self.labels)
        if not valid or not all(isinstance(each, Calibration) for each in self.calibrations):
            raise ValueError("GroupCalibrations must have distinct labels and a Calibration for each.")
        object.__setattr__(self, "levels", checked_array(type(self).__name__, "levels", self.levels, 1))
        if len(self.labels) != len(self.calibrations):
            raise ValueError(f"{len(self.labels)} groups have {len(self.calibrations)} calibrations.")
        if (np.diff(self.levels) < 0).any() or (self.levels < 0).any() or (self.levels > 1).any():
            raise ValueError(f"{type(self).__name__}.levels must ascend from 0 to 1 at most.")

    @classmethod
    def of(cls, whole: Calibration, scores: Array, groups: NDArray[Any], mass: float) -> GroupCalibrations:
        """Calibrations of the groups of calibration rows, from the scores of these rows."""
        labels = sorted(set(groups.tolist()))
        code = np.searchsorted(labels, groups.tolist())
        parts = [scores[code == i] for i in range(len(labels))]
        calibrations = [_of_group(whole, part, mass) for part in parts]
        levels = [calibration.level(part) for calibration, part in zip(calibrations, parts, strict=True)]
        return cls(labels, calibrations, np.sort(np.concatenate(levels)))

    def codes(self, by: Any, n_rows: int) -> NDArray[np.intp]:
        """Index of the group of every row; the number of groups, with a note, for those that the fit has not seen."""
        groups = checked_labels(by, n_rows, "by")
        known = {label: i for i, label in enumerate(self.labels)}
        codes = np.array([known.get(group, len(known)) for group in groups], dtype=np.intp)
        unseen = sorted({group for group, code in zip(groups, codes, strict=True) if code == len(known)})
        if unseen:
            named = ", ".join(map(repr, unseen[:5])) + (f" and {len(unseen) - 5} more" if len(unseen) > 5 else "")
            warn(
                f"The fit has seen no rows of group {named}: they are judged by the offset of all rows.",
                UnseenGroupWarning,
            )
        return codes


def _of_group(whole: Calibration, scores: Array, mass: float) -> Calibration:
    if whole.guarantee.reserves_rows:
        if not whole.guarantee.reaches(mass, len(scores)):
            return whole
    else:
        shares = np.arange(1, _SHRINKAGE_ROWS + 1) / (_SHRINKAGE_ROWS + 1)
        scores = np.concatenate([scores, whole.quantiles(shares)])
    group = Calibration.from_scores(scores, whole.guarantee, whole.comparable_from)
    # What a design effect is at a mass, it is in the group as well.
    effects, order_effects = (
        np.interp(group.rank_masses, whole.rank_masses, each) for each in (whole.effects, whole.order_effects)
    )
    return replace(group, effects=effects, order_effects=order_effects)
