"""The three ways to calibrate a score: on rows that splits hold out, on reserved rows, on the rest of a stream.

Each way is made when the rows are divided, and is asked once, with the models of the splits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mvset.calibration.calibration import COMPARABLE_FROM, Calibration
from mvset.calibration.dependence import UNKNOWN, Dependence, group_effects, split_effects
from mvset.calibration.guarantees import Guarantee
from mvset.calibration.splits import Split
from mvset.calibration.streamed_scores import reserved_scores, streamed_scores
from mvset.calibration.views import HeldOut, Views
from mvset.parallel import Map
from mvset.progress import ProgressLine
from mvset.rows.survey import Survey
from mvset.svm.score import Score
from mvset.values import Array, Indices


@dataclass(frozen=True)
class Calibrated:
    """A calibration, the scores of its rows, and their numbers in the table."""

    calibration: Calibration
    scores: Array
    rows: Indices


class CalibratingRows(Protocol):
    """Rows that train nothing, or not the model that scores them."""

    def calibrated(self, views: Views, score: Score, run: Map, line: ProgressLine) -> Calibrated:
        """Calibrate the score with these rows."""


@dataclass(frozen=True)
class HeldOutRows:
    """Cross-calibration: each row is scored by the models of the splits that hold it out."""

    table: Array  # encoded
    numbers: Indices  # of its rows
    splits: Sequence[Split]
    groups: NDArray[Any] | None = None
    dependence: Dependence = UNKNOWN

    def calibrated(self, views: Views, score: Score, run: Map, line: ProgressLine) -> Calibrated:
        """Pool the scores of all splits."""
        return self.cross_calibrated(views.held_out(score, run, self.splits, self.table))

    def cross_calibrated(self, found: HeldOut, comparable_from: float = COMPARABLE_FROM) -> Calibrated:
        """Calibrate any averaged score with the scores of the rows that each split holds out."""
        scores, calibration = found.scores, Calibration.from_scores(found.scores, Guarantee("cross"), comparable_from)
        positions = [np.searchsorted(found.rows, split.held_out) for split in self.splits]
        effects = split_effects(positions, found.split_scores, calibration.offsets)
        groups = None
        if self.groups is not None:
            groups = group_effects(scores, self.groups[found.rows], calibration.offsets)
        calibration = calibration.dependent(scores, self.dependence, effects, groups)
        return Calibrated(calibration, scores, self.numbers[found.rows])


@dataclass(frozen=True)
class ReservedRows:
    """Rows of a table that nothing else uses: they give a guarantee."""

    table: Array  # encoded
    numbers: Indices  # of the reserved ones
    guarantee: Guarantee
    groups: NDArray[Any] | None = None
    dependence: Dependence = UNKNOWN

    def calibrated(self, views: Views, score: Score, run: Map, line: ProgressLine) -> Calibrated:
        """Score the reserved rows with the mean of all models."""
        scores = reserved_scores(score.on_encoded, self.table, self.numbers, run, line)
        found, groups = Calibration.from_scores(scores, self.guarantee), None
        if self.groups is not None:
            groups = group_effects(scores, self.groups[self.numbers], found.offsets)
        return Calibrated(found.dependent(scores, self.dependence, group_effects=groups), scores, self.numbers)


@dataclass(frozen=True)
class StreamedRows:
    """All rows of a stream but those that were sampled to train: read once more, in bounded memory."""

    surveyed: Survey
    guarantee: Guarantee
    dependence: Dependence = UNKNOWN

    def calibrated(self, views: Views, score: Score, run: Map, line: ProgressLine) -> Calibrated:
        """Score the rows where they are: here, on their device, or by the workers of a cluster."""
        scores = streamed_scores(score, self.surveyed, run, line)
        found = Calibration.from_scores(scores, self.guarantee)
        return Calibrated(found.dependent(scores.first, self.dependence), scores.first, np.empty(0, np.intp))
