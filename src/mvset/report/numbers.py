"""First: all the numbers that the page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from mvset.estimators.pipeline import FittedModel, columns_in_order
from mvset.summaries.bars import chance_heights
from mvset.summaries.candidates import Candidates
from mvset.summaries.masses import fitted_curve
from mvset.summaries.slices import Slice
from mvset.summaries.survey import LEVEL_EDGES, SurveyResult
from mvset.volume.measure import VolumeEstimate

Array = NDArray[np.float64]

_STEPS = [*np.round(np.arange(0.60, 0.995, 0.01), 2).tolist(), 0.995]
CONFIDENCE = 0.95  # of all bands
_LOG_OF_NOTHING = 750.0  # -log of less than the least float64
_MOST_FEATURES = 4  # whose pairs are drawn
_RESOLUTION = 64  # of the grid of a picture, each way
_MARGIN = 0.25  # around the rows, in units of the extent of those inside
_REACH = 1.5  # how far from these rows outside are shown in their place


@dataclass(frozen=True)
class ReportNumbers:
    """What the page is about."""

    model: FittedModel
    survey: SurveyResult
    masses: Array  # of the slider
    offsets: Array
    volumes: list[VolumeEstimate]
    shadows: list[Slice]
    curve: dict[str, Array]  # volumes along the masses, with bounds, and those of the true masses where there are any
    bandwidths: Candidates
    level_shares: Array  # of the rows, between LEVEL_EDGES
    level_chance: tuple[Array, Array]  # where these are by chance

    @property
    def start(self) -> int:
        """Where the slider stands first: at the mass that the table was judged by."""
        return int(np.abs(self.masses - self.survey.mass).argmin())


def slider_masses(model: FittedModel, mass: float) -> list[float]:
    """Masses that the slider stops at: those of the tail that the model can claim, and the one asked for."""
    steps = {*_STEPS, float(model.sets.mass), float(mass)}
    return sorted(step for step in steps if model.sets._level_sets.can_claim(step))


def report_numbers(model: FittedModel, survey: SurveyResult) -> ReportNumbers:
    """Everything, from the model and one pass over the table."""
    masses = survey.masses
    return ReportNumbers(
        model=model,
        survey=survey,
        masses=masses,
        offsets=np.array([model.sets.offset(mass) for mass in masses]),
        volumes=[model.sets.volume(mass) for mass in masses],
        shadows=_shadows(model, survey),
        curve=fitted_curve(model.sets, masses, CONFIDENCE),
        bandwidths=Candidates.of(model.sets.curves_).measured(),
        level_shares=survey.level_counts / survey.drift.n_rows,
        level_chance=_chance_shares(model, survey),
    )


def _chance_shares(model: FittedModel, survey: SurveyResult) -> tuple[Array, Array]:
    """Least and greatest share of rows at each level by chance: of these rows, and of the calibration rows."""
    low, high = chance_heights(survey.drift.n_rows, LEVEL_EDGES, model.sets.mass_interval_.n_rows, CONFIDENCE)
    return low * np.diff(LEVEL_EDGES), high * np.diff(LEVEL_EDGES)


def smooth_levels(numbers: ReportNumbers, scores: Array) -> Array:
    """Levels without steps, exact at the slider's masses, and above 1 far out: what contours need."""
    with np.errstate(divide="ignore"):  # of a score of zero, which an offset may be, too: then all is inside
        falling, borders = (np.minimum(-np.log(values), _LOG_OF_NOTHING) for values in (scores, numbers.offsets))
    masses = numbers.masses
    # One more stop on either side, so that contours do not break off at the first and the last mass.
    stops = np.concatenate([[borders[0] - 1.0], borders, [borders[-1] + 2.0]])
    return np.asarray(np.interp(falling, stops, np.concatenate([[masses[0] - 0.2], masses, [1.2]])))


def _shadows(model: FittedModel, survey: SurveyResult) -> list[Slice]:
    """The nested sets over pairs of columns: in each picture the shadow that they cast."""
    stage = _Stage.of(model, survey)
    if len(stage.names) == 1:
        return [_strip(stage, survey.sample.numbers)]
    return [_shadow(stage, pair) for pair in combinations(_telling_features(stage.names, survey), 2)]


@dataclass(frozen=True)
class _Stage:
    """Rows as they are drawn and as the sets see them, column by column."""

    model: FittedModel
    names: list[str]
    rows: Array
    prepared: Array
    inside: NDArray[np.bool_]  # which of them the largest set holds

    @classmethod
    def of(cls, model: FittedModel, survey: SurveyResult) -> _Stage:
        rows, names = survey.sample.rows, model.feature_names
        with columns_in_order():
            prepared = np.asarray(model.prepared(rows))
        if model.prepared_names != names:  # columns that the table does not have, such as principal components
            rows, names = prepared, model.prepared_names
        inside = survey.sample.scores >= model.sets.offset(survey.masses[-1])
        return cls(model, names, rows, prepared, inside if inside.any() else np.ones_like(inside))

    def axis(self, column: int, n: int = _RESOLUTION) -> Array:
        """Places along a column, around the rows inside; some way towards rows further out, but not all the way."""
        values, inside = self.rows[:, column], self.rows[self.inside, column]
        extent = np.ptp(inside) or 1.0
        low = max(values.min() - _MARGIN * extent, inside.min() - _REACH * extent)
        high = min(values.max() + _MARGIN * extent, inside.max() + _REACH * extent)
        return np.linspace(low, high, n)

    def seen(self, column: int, values: Array) -> Array:
        """What the sets see of values of a column: steps before them take one column at a time, or have new names."""
        if self.rows is self.prepared or self.model.before is None:
            return values
        points = np.tile(self.rows[0], (len(values), 1))
        points[:, column] = values
        with columns_in_order(), np.errstate(all="ignore"):
            seen = np.asarray(self.model.prepared(points))[:, column]
        return np.where(np.isfinite(seen), seen, np.inf)  # the margin may lie where a logarithm has no value


def _shadow(stage: _Stage, pair: tuple[int, int]) -> Slice:
    r"""Highest score that a row with given values in two columns can have.

    Over what the rows inside have in the other columns. A row inside a set is inside its shadow; a row outside may be,
    too. The kernel is a product over columns, so that the scores of the whole grid, completed by the k-th row, are
    :math:`\sum_j c_j\, k(x, x_j)\, k(y, x_j)\, k(r_k, x_j)`, with a factor for the first column, for the second, and
    for all others. Rows beyond the picture are put on its edge.
    """
    function = stage.model.sets._level_sets.function
    others = [f for f in range(len(stage.names)) if f not in pair]
    completions = stage.prepared[stage.inside][:, others] if others else np.empty((1, 0))
    rest = function.weights * _kernels(completions, function.centres[:, others], function.sigma)
    x, y = (stage.axis(f) for f in pair)
    along_x, along_y = (
        _kernels(stage.seen(f, axis)[:, np.newaxis], function.centres[:, [f]], function.sigma)
        for f, axis in zip(pair, (x, y), strict=True)
    )
    scores = np.stack([((rest * factors) @ along_x.T).max(axis=0) for factors in along_y])
    rows = np.clip(stage.rows[:, pair], [x[0], y[0]], [x[-1], y[-1]])
    return Slice((stage.names[pair[0]], stage.names[pair[1]]), x, y, scores, rows)


def _kernels(points: Array, centres: Array, sigma: float) -> Array:
    return np.asarray(np.exp(-cdist(points, centres, "sqeuclidean") / (2.0 * sigma**2)))


def _telling_features(names: Sequence[str], survey: SurveyResult) -> list[int]:
    """Columns to draw, in their order: of many those that contribute most to what is unusual."""
    shares = [sum(abs(row.contributions[name]) / (row.distance or 1.0) for row in survey.unusual) for name in names]
    return sorted(sorted(range(len(names)), key=lambda j: -shares[j])[:_MOST_FEATURES])


def _strip(stage: _Stage, numbers: NDArray[np.int64]) -> Slice:
    """A single column: the sets are stripes, and the rows stand in them by their number."""
    x = stage.axis(0, _RESOLUTION**2)
    scores = stage.model.sets._level_sets.function(stage.seen(0, x)[:, np.newaxis])
    y = np.array([0.0, max(1.0, float(numbers.max()))])
    rows = np.column_stack([np.clip(stage.rows[:, 0], x[0], x[-1]), numbers])
    return Slice((stage.names[0], "row"), x, y, np.tile(scores, (2, 1)), rows)
