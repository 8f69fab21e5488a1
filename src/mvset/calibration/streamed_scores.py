"""Scores of all rows of a table that train nothing, on this machine or by the workers of a cluster."""

from collections.abc import Iterable, Iterator

import numpy as np

from mvset.calibration.score_summary import N_EXACT, ScoreSummary
from mvset.devices.device import CopiedRowsScore, Device, current_device, scored_on
from mvset.devices.places import ArrayRows
from mvset.devices.scores import ArrayExpansion, blocks
from mvset.parallel import Map, cluster_map
from mvset.progress import ProgressLine
from mvset.rows.stream import Part
from mvset.rows.survey import Survey, chosen, numbers_of_parts, remaining, remaining_of
from mvset.svm.score import Score
from mvset.values import Array, Indices

_SAMPLE_ROWS, _DISTINCT = 10_000, 0.99  # rows that tell whether rows repeat, and the share that must not
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

    def merge(self, following: "StreamedScores") -> None:
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
    if cluster is None or not surveyed.parts or isinstance(surveyed.stream, ArrayRows):
        for scores in _scores_of_others(score, surveyed, run):
            found.add(scores)
            line.reach("calibrating", "row", len(found), n_rows)
        return found
    numbers = numbers_of_parts(surveyed)
    n_before = [part.start - int(np.searchsorted(surveyed.numbers, part.start)) for part in surveyed.parts]
    n_ordered = [max(0, N_ORDERED - before) for before in n_before]
    for scores in cluster(_part_scores, [score] * len(numbers), surveyed.parts, numbers, n_ordered):
        found.merge(scores)
        line.reach("calibrating", "row", len(found), n_rows)
    return found


def reserved_scores(score: Score, X: Array, reserved: Indices, run: Map, line: ProgressLine) -> Array:
    """Scores of the rows of an array that are reserved for calibration."""
    scores, done = [np.empty(0)], 0
    device = current_device()
    if device is not None and _rows_repeat(X[reserved[:: max(1, len(reserved) // _SAMPLE_ROWS)]]):
        device = None
    for found in _batch_scores(score, chosen(X, reserved), run, device):
        scores.append(found)
        done += len(found)
        line.reach("calibrating", "row", done, len(reserved))
    return np.concatenate(scores)


def _scores_of_others(score: Score, surveyed: Survey, run: Map) -> Iterator[Array]:
    """Scores of the rows that were not sampled, some at a time; on their device if they are on one."""
    stream = surveyed.stream
    device = current_device()
    repeat = (device is not None or isinstance(stream, ArrayRows)) and _rows_repeat(surveyed.rows)
    if repeat or not isinstance(stream, ArrayRows) or score.encoding:
        yield from _batch_scores(score, remaining(surveyed), run, None if repeat else device)
        return
    single = stream.place.is_single(stream.X)
    function = ArrayExpansion(score, stream.place, single=single, n_rows=surveyed.n_rows)
    for rows in blocks(surveyed.n_rows, function.chunk_rows):
        first, last = np.searchsorted(surveyed.numbers, [rows.start, rows.stop])
        scores = stream.place.host(function(stream.X[rows, :]))
        yield np.delete(scores, surveyed.numbers[first:last] - rows.start)


def _rows_repeat(rows: Array) -> bool:
    """Whether rows repeat: new rows must tie with them, so that their scores must be those of the CPU to the digit."""
    sample = rows[:_SAMPLE_ROWS]
    return len(np.unique(sample, axis=0)) < _DISTINCT * len(sample)


def _batch_scores(score: Score, batches: Iterable[Array], run: Map, device: Device | None) -> Iterator[Array]:
    """Scores of batches in host memory, by this machine or its device."""
    if device is None:
        return (score(rows, run) for rows in batches)
    return scored_on(device, CopiedRowsScore(score, device.place), batches, lambda rows: rows, lambda _, scores: scores)


def _part_scores(score: Score, part: Part, numbers: Indices, n_ordered: int) -> StreamedScores:
    """What a worker does: read a part of the table, and score all rows but those with given numbers."""
    found = StreamedScores(n_ordered)
    for rows in remaining_of(part, numbers):
        found.add(score(rows))
    return found
