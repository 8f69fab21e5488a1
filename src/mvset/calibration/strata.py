"""An offset for every group of rows (Mondrian calibration), so that each has its own share of alarms.

The score is the same for all groups. A group's offsets come from its own calibration rows; see V. Vovk et al.,
"Mondrian Confidence Machine", 2003.

Small groups shrink to the whole. In "cross" mode a group is calibrated on its own rows and on all rows, which together
have the weight of twenty, or of as many as hold one row outside: a group that expects less than one says little about
its tail. At a mass of 0.95 a group of 20 rows lies half-way between its own offset and the common one, and one of
380 rows has 95 % of its own. With a guarantee ("conformal", "pac") nothing may be mixed in: a group that has enough
calibration rows for the mass has its own offsets, any other has the common ones.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mvset.calibration.calibration import Calibration
from mvset.calibration.ways import Calibrated
from mvset.devices.places import host_labels
from mvset.exceptions import UnseenStratumWarning, warn
from mvset.rows.validation import checked_labels
from mvset.values import Array, ArrayValue, Indices, array_rule

_SHRINKAGE_ROWS = 20
_MANY_ROWS = 1000  # of a group, with those that stand for all rows: enough for far quantiles


@dataclass(frozen=True, eq=False)
class StratumCalibrations(ArrayValue):
    """The calibration of every group, by its label as text; and the levels of all calibration rows in their groups."""

    labels: list[str]
    calibrations: list[Calibration]
    levels: Array = field(metadata=array_rule(1))

    def _check(self) -> None:
        distinct = all(isinstance(each, str) for each in self.labels) and len(set(self.labels)) == len(self.labels)
        one_each = len(self.labels) == len(self.calibrations)
        valid = distinct and one_each and all(isinstance(each, Calibration) for each in self.calibrations)
        self._require(valid, " must have distinct labels and a Calibration for each.")
        ascend = (np.diff(self.levels) >= 0).all() and (self.levels >= 0).all() and (self.levels <= 1).all()
        self._require(ascend, ".levels must ascend from 0 to 1 at most.")

    @classmethod
    def of(cls, calibrated: Calibrated, strata: NDArray[Any], mass: float) -> Self:
        """Calibrations of the strata, of which each row of the table has one, from the calibration of all rows."""
        named, whole, scores = strata[calibrated.rows], calibrated.calibration, calibrated.scores
        labels = sorted(set(named.tolist()))
        code = np.searchsorted(labels, named.tolist())
        parts = [scores[code == i] for i in range(len(labels))]
        calibrations = [_of_group(whole, part, mass) for part in parts]
        levels = [calibration.level(part) for calibration, part in zip(calibrations, parts, strict=True)]
        return cls(labels, calibrations, np.sort(np.concatenate(levels)))

    def codes(self, strata: Any, n_rows: int) -> Indices:
        """Index of the group of every row; the number of groups, with a note, for those that the fit has not seen."""
        groups = checked_labels(host_labels(strata), n_rows, "strata")
        known = {label: i for i, label in enumerate(self.labels)}
        codes = np.array([known.get(group, len(known)) for group in groups], dtype=np.intp)
        unseen = sorted({group for group, code in zip(groups, codes, strict=True) if code == len(known)})
        if unseen:
            named = ", ".join(map(repr, unseen[:5])) + (f" and {len(unseen) - 5} more" if len(unseen) > 5 else "")
            warn(
                f"The fit has seen no rows of stratum {named}: they are compared with the offset of all rows.",
                UnseenStratumWarning,
            )
        return codes


def _of_group(whole: Calibration, scores: Array, mass: float) -> Calibration:
    times = 1
    if whole.guarantee.reserves_rows:
        if not whole.guarantee.reaches(mass, len(scores)):
            return whole
    else:
        weight = max(_SHRINKAGE_ROWS, int(np.ceil(1.0 / (1.0 - mass))))
        times = max(1, min(_MANY_ROWS // (len(scores) + weight), whole.n_rows // weight))
        scores = np.concatenate(
            [
                np.quantile(scores, _middles(times * len(scores)), method="weibull"),
                whole.quantiles(_middles(times * weight)),
            ]
        )
    group = Calibration.from_scores(scores, whole.guarantee, whole.comparable_from)
    # What a design effect is at a mass, it is in the group as well; rows that are repeated count once.
    effects, order_effects = (
        np.interp(group.rank_masses, whole.rank_masses, each) for each in (whole.effects, whole.order_effects)
    )
    return replace(group, effects=times * effects, order_effects=order_effects)


def _middles(n: int) -> Array:
    """Shares in the middle of n equal parts."""
    return (np.arange(n) + 0.5) / n
