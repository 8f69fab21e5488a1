"""What bandwidths are compared on, and one bandwidth solved for every split."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mvset.calibration.offsets import offset_at, offsets_by_rank
from mvset.calibration.splits import Split
from mvset.parallel import Map
from mvset.rows.layout import ColumnLayout
from mvset.svm.dual import Dual, Solver, SolveReport
from mvset.svm.expansion import NO_KERNEL
from mvset.svm.score import Score
from mvset.values import Array
from mvset.volume.importance import Membership

_SCORED_ROWS = 3000  # held out by a split that trains on a small sample


@dataclass(frozen=True)
class SearchTask:
    """What all bandwidths are compared on: encoded rows and their splits, the masses, and how volumes are drawn."""

    X: Array
    layout: ColumnLayout
    splits: Sequence[Split]
    masses: Array
    solver: Solver
    n_points: int
    rng: np.random.RandomState
    run: Map = map


@dataclass(frozen=True)
class Candidate:
    """One bandwidth solved, in float32: the score, log offsets of the masses, duals, report, integral of the square.

    An offset is `NO_KERNEL`, and the set all of space, where it reaches for rows so far out that float32 does not tell
    their kernels from zero.
    """

    solver: Solver
    score: Score
    offsets: Array
    split_offsets: Array  # by split
    duals: list[Dual]
    report: SolveReport
    log_square_integral: float

    @property
    def sigma(self) -> float:
        """The bandwidth."""
        return self.score.views[0].sigma

    @property
    def nu(self) -> float:
        """The ν it was solved with."""
        return self.solver.nu

    def logs(self, points: Array, run: Map = map) -> Array:
        """Logarithms of its function."""
        return self.score.roughly(points, run)

    def largest_set(self, run: Map) -> Membership:
        """Which points lie in the set of the largest mass, of those that are not all of space."""
        offset = min(self.offsets[self.offsets > NO_KERNEL], default=self.offsets[-1])
        return lambda points: np.asarray(self.logs(points, run) >= offset)


def is_small(split: Split, n_rows: int) -> bool:
    """Whether a split trains on so few rows that it is solved on a Gram matrix of its own."""
    return 2 * len(split.train) < n_rows


def scored(split: Split, n_rows: int) -> Split:
    """The split with as many rows held out as it takes to compare bandwidths; the others would only cost time."""
    if not is_small(split, n_rows):
        return split
    return Split(split.train, split.held_out[:: -(-len(split.held_out) // _SCORED_ROWS)])


def split_offsets(split_scores: Sequence[Array], masses: Array) -> Array:
    """Offsets of the masses that each split alone would give (rows)."""
    if len({len(scores) for scores in split_scores}) == 1:  # mostly: sorted together
        return offset_at(offsets_by_rank(split_scores), masses)
    return np.stack([offset_at(offsets_by_rank(scores)[0], masses) for scores in split_scores])
