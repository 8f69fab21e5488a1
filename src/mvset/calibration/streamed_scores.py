"""Scores of all rows of a table that train nothing, on this machine or by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mvset.calibration.score_summary import N_EXACT, ScoreSummary
from mvset.parallel import Map, cluster_map
from mvset.progress import ProgressLine
from mvset.row_stream import Part
from mvset.row_survey import Survey, chosen, numbers_of_parts, remaining, remaining_of

Array = NDArray[np.float64]
Score = Callable[..., Array]

N_ORDERED = 2 * N_EXACT  # from here on half of the scores and more are counted in bins, which saves memory


class StreamedScores:
    """Scores of rows that come one part after the other: a summary of all, and the first in their order.

    Parameters
    ----------
    n_ordered : int, default=200_000
        How many of the first are kept.
    """

    def __init__(self, n_ordered: int = N_ORDERED) -> None:
        self.n_ordered = n_ordered
        self.summary = ScoreSummary()
        self._first: list[Array] = []
        self._n_first = 0

    def __len__(self) -> int:
        return len(self.summary)

    @property
    def first(self) -> Array:
        """The first scores."""
        return np.concatenate([np.empty(0), *self._first])

    def add(self, scores: Array) -> None:
        """Count the scores of the next rows."""
        self._keep(scores)
        self.summary.add(scores)

    def merge(self, following: StreamedScores) -> None:
        """Count the scores of a later part, which keeps as many of the first as are missing here."""
        self._keep(following.first)
        self.summary.merge(following.summary)

    def _keep(self, scores: Array) -> None:
        if missing := max(0, self.n_ordered - self._n_first):
            self._first.append(scores[:missing])
            self._n_first += len(self._first[-1])


def streamed_scores(score: Score, surveyed: Survey, run: Map, line: ProgressLine) -> StreamedScores:
    """Scores of the rows of a table that were not sampled; `run` runs the threads of this machine."""
    found, cluster = StreamedScores(), cluster_map()
    n_rows = surveyed.n_rows - len(surveyed.rows)
    if cluster is None or not surveyed.parts:
        for rows in remaining(surveyed):
            found.add(score(rows, run))
            line.reach("calibrating", "row", len(found), n_rows)
        return found
    numbers = numbers_of_parts(surveyed)
    n_before = [part.start - int(np.searchsorted(surveyed.numbers, part.start)) for part in surveyed.parts]
    n_ordered = [max(0, N_ORDERED - before) for before in n_before]
    for scores in cluster(_part_scores, [score] * len(numbers), surveyed.parts, numbers, n_ordered):
        found.merge(scores)
        line.reach("calibrating", "row", len(found), n_rows)
    return found


def reserved_scores(score: Score, X: Array, reserved: NDArray[np.intp], run: Map, line: ProgressLine) -> Array:
    """Scores of the rows of an array that are reserved for calibration."""
    scores, done = [np.empty(0)], 0
    for rows in chosen(X, reserved):
        scores.append(score(rows, run))
        done += len(rows)
        line.reach("calibrating", "row", done, len(reserved))
    return np.concatenate(scores)


def _part_scores(score: Score, part: Part, numbers: NDArray[np.intp], n_ordered: int) -> StreamedScores:
    """What a worker does: read a part of the table, and score all rows but those with given numbers."""
    found = StreamedScores(n_ordered)
    for rows in remaining_of(part, numbers):
        found.add(score(rows))
    return found
