"""What fitted sets answer about rows on a device: arrays of the same library, on the same device.

Scores are computed where the rows are, in float32 or float64. Where a score is so near an offset that rounding may
decide, that row is scored again by the compiled core, on the CPU: so labels are those of the CPU, all of them. The
offsets are those of the mass asked for and of the fitted one; for levels and p-values also those of the masses around
it and of all whole percentages: at these masses a level is at most the mass exactly where the label is +1.

Rows that repeat (counts, rounded values) have the score of calibration rows, and must tie with them: a score that is
within rounding of one that many calibration rows share is replaced by it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mvset.calibration.calibration import Calibration
from mvset.calibration.constant_columns import ConstantColumns
from mvset.calibration.fitted_sets import FittedSets, HostAnswers
from mvset.devices.places import Place
from mvset.devices.scores import DOUBLE_ERROR, ArrayExpansion, blocks, doubtful_edges
from mvset.parallel import Map
from mvset.svm.score import Score
from mvset.values import Array, Flags

_SETTLED_ROWS = 50_000  # at a time
_PERCENTAGES = np.arange(1, 100) / 100


@dataclass(frozen=True)
class ArrayAnswers(HostAnswers):
    """The answers of fitted sets about the rows of an array that is not one of numpy."""

    place: Any = None  # X is an array of numpy if its rows are judged in host memory

    def scores(self, masses: Sequence[float] = (), strata: Any = None) -> Any:
        """Scores of all rows, as float64; those of the CPU where rounding may decide on which side of an offset."""
        if isinstance(self.X, np.ndarray):
            return self.place.array(self.sets.scores(self.X, self.run))
        if not isinstance(self.sets.function, Score):
            return self.place.array(self.sets.scores(self.place.double_on_host(self.X), self.run))
        scored = ScoredChunks(self.sets, self.place, n_rows=self.X.shape[0], single=self.place.is_single(self.X))
        chunks = (self.X[rows, :] for rows in blocks(self.X.shape[0], scored.expansion.chunk_rows))
        if strata is None:
            edges = self.place.array(_edges(self.sets, self.sets.calibration, scored.expansion.error, masses))
            return self.place.xp.concat(self._checked(chunks, scored, edges))
        scores = np.concatenate([self.place.host(scored(chunk)) for chunk in chunks])
        again = np.flatnonzero(_doubtful(self.sets, scores, scored.expansion.error, masses, strata))
        scores = _tied(np, scores, _repeated(self.sets), scored.expansion.error)
        rows = self.place.xp.take(self.X, self.place.array(again), axis=0)
        scores[again] = self.sets.scores(self.place.double_on_host(rows), self.run)
        return self.place.array(scores)

    def decision(self, mass: float | None, strata: Any) -> Any:
        """Scores less offsets."""
        offset = self.sets.offset(mass)  # before any work, for the error
        scores = self.scores([] if mass is None else [mass], strata)
        return scores - (
            offset if strata is None else self.place.array(self.sets.row_offsets(mass, strata, self.X.shape[0]))
        )

    def labels(self, mass: float | None, strata: Any) -> Any:
        """+1 inside, -1 outside."""
        xp = self.place.xp
        inside = xp.astype(self.decision(mass, strata) >= 0, xp.int64)
        return 2 * inside - 1

    def levels(self, strata: Any) -> Any:
        """Smallest masses whose sets hold the rows."""
        scores = self.scores(self._all_masses, strata)
        if strata is not None:
            return self.place.array(self.sets.level(self.place.host(scores), strata))
        return self._looked_up(self.sets.calibration.level_table, -scores, "left")

    def p_values(self, strata: Any) -> Any:
        """Conformal p-values."""
        scores = self.scores(self._all_masses, strata)
        if strata is not None:
            return self.place.array(self.sets.p_value(self.place.host(scores), strata))
        return self._looked_up(self.sets.calibration.p_value_table, scores, "right")

    @property
    def _all_masses(self) -> Sequence[float]:
        """Masses that people ask for: those around the fitted one, and whole percentages."""
        return [*self.sets.masses.tolist(), *_PERCENTAGES.tolist()]

    def _checked(self, chunks: Iterable[Any], scored: "ScoredChunks", edges: Any) -> list[Any]:
        """Scores of chunks, of which those in doubt are taken again on the CPU, many together."""
        xp, found, doubts = self.place.xp, [], _Doubts(self.sets, self.place, self.run)
        repeated = self.place.array(_repeated(self.sets))
        for rows in chunks:
            scores = scored(rows)
            doubtful = xp.searchsorted(edges, scores) % 2 == 1
            scores = _tied(xp, scores, repeated, scored.expansion.error)
            if bool(xp.any(doubtful)):
                doubts.add(scores, doubtful, rows)
            found.append(scores)
        doubts.settle()
        return found

    def _looked_up(self, table: tuple[Array, Array], keys: Any, side: str) -> Any:
        edges, values = (self.place.array(each) for each in table)
        return self.place.xp.take(values, self.place.xp.searchsorted(edges, keys, side=side), axis=0)


class _Doubts:
    """Scores that the CPU computes again. A call has a fixed cost, so the rows of many chunks are scored together."""

    def __init__(self, sets: FittedSets, place: Place, run: Map) -> None:
        self._sets, self._place, self._run = sets, place, run
        self._waiting: list[tuple[Any, Any, Array]] = []

    def add(self, scores: Any, doubtful: Any, rows: Any) -> None:
        """Some scores of a chunk of rows, changed when they are settled."""
        self._waiting.append((scores, doubtful, self._place.double_on_host(rows[doubtful])))
        if sum(len(host) for _, _, host in self._waiting) >= _SETTLED_ROWS:
            self.settle()

    def settle(self) -> None:
        """Compute them again."""
        if not self._waiting:
            return
        again = self._sets.scores(np.concatenate([host for _, _, host in self._waiting]), self._run)
        for scores, doubtful, host in self._waiting:
            scores[doubtful] = self._place.array(again[: len(host)])
            again = again[len(host) :]
        self._waiting.clear()


class ScoredChunks:
    """Scores of rows on a device, chunk by chunk; and where they are in doubt."""

    def __init__(self, sets: FittedSets, place: Place, *, n_rows: int = 0, single: bool = False) -> None:
        assert isinstance(sets.function, Score)
        self.sets, self.place = sets, place
        self.expansion = ArrayExpansion(sets.function, place, single=single, n_rows=n_rows)
        constants: ConstantColumns = sets.constants
        self._constants = [
            (int(j), float(value), float(tolerance))
            for j, value, tolerance in zip(constants.indices, constants.values, constants.tolerances, strict=True)
        ]

    def __call__(self, rows: Any) -> Any:
        """Scores of a chunk of rows; below every offset where a column differs that never changed before."""
        xp, scores = self.place.xp, self.expansion(rows)
        for j, value, tolerance in self._constants:
            changed = xp.abs(self.place.double(rows[:, j]) - value) > tolerance
            scores = xp.where(changed, self.sets.calibration.below_all, scores)
        return scores


def settled(sets: FittedSets, rows: Array, scores: Array, error: float, mass: float, strata: Any = None) -> Array:
    """Scores of rows in host memory, from those that a device computed with some error.

    They are below every offset where a column differs that never changed before, and those of the CPU where rounding
    may decide on which side of an offset.
    """
    if len(sets.constants.columns):
        scores = np.where(sets.constants.changed(rows), sets.calibration.below_all, scores)
    again = np.flatnonzero(_doubtful(sets, scores, error, [mass], strata))
    scores = _tied(np, scores, _repeated(sets), error)
    scores[again] = sets.scores(rows[again])
    return scores


def _repeated(sets: FittedSets) -> Array:
    """Scores that calibration rows repeat, ascending, and the ends once more: each score has one on both sides."""
    scores = sets.calibration.repeated_scores
    return np.concatenate([scores[:1], scores, scores[-1:]])


def _tied(xp: Any, scores: Any, repeated: Any, error: float) -> Any:
    """Replace each score that is within rounding of a repeated one by that one."""
    if not repeated.shape[0]:
        return scores
    below = xp.searchsorted(repeated[1:-1], scores)
    low, high = xp.take(repeated, below, axis=0), xp.take(repeated, below + 1, axis=0)
    nearest = xp.where(scores - low <= high - scores, low, high)
    return xp.where(xp.abs(scores - nearest) <= error + DOUBLE_ERROR * xp.abs(nearest), nearest, scores)


def _doubtful(sets: FittedSets, scores: Array, error: float, masses: Sequence[float], strata: Any) -> Flags:
    """Whether a score is so near an offset of its group that rounding may decide."""
    found = np.zeros(len(scores), dtype=bool)
    for calibration, rows in sets.by_stratum(strata, len(scores)):
        found[rows] = np.searchsorted(_edges(sets, calibration, error, masses), scores[rows]) % 2 == 1
    return found


def _edges(sets: FittedSets, calibration: Calibration, error: float, masses: Sequence[float]) -> Array:
    """Ends of the intervals of scores in doubt, at the fitted mass and others."""
    return doubtful_edges(calibration.offsets_of([sets.mass, *masses]), error)
