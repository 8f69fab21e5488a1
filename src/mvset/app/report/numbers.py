"""First step of the report: all numbers that it shows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.neighbors import NearestNeighbors

from mvset.app.report.over_time import OverTime
from mvset.app.summaries.flagged import Sample
from mvset.app.summaries.scan import LEVEL_EDGES, TableSummary
from mvset.estimators.fitted_model import FittedModel
from mvset.plotting.numbers import BandwidthComparison, Slice, chance_heights, fitted_curve
from mvset.svm.score import Score
from mvset.values import Array, Flags
from mvset.volume.measure import VolumeEstimate

_STEPS = [*np.round(np.arange(0.60, 0.995, 0.01), 2).tolist(), 0.995]
CONFIDENCE = 0.95  # of all bands
_MAX_PAIRS = 6  # of columns that are drawn
_COMPLETIONS = 10  # rows whose other values a grid point is given
_RESOLUTION = 64  # grid points per axis of a panel
_MARGIN = 0.25  # around all rows, as a share of the range of the rows inside
_MAX_MARGIN = 1.5  # around the rows inside: rows further out are drawn on the edge


@dataclass(frozen=True)
class ReportNumbers:
    """All numbers of the report."""

    model: FittedModel
    survey: TableSummary
    offsets: Array  # of the sets of the slider, whose masses the survey has
    volumes: list[VolumeEstimate]  # volumes of their sets
    projections: list[Slice]  # one panel each
    curve: dict[str, Array]  # mass-volume curve with bounds, see fitted_curve
    bandwidths: BandwidthComparison | None  # of the first view, if there are views
    level_shares: Array  # share of the rows with levels between LEVEL_EDGES
    level_chance: tuple[float, float]  # bounds for each of these shares expected by chance
    sides: Array  # of the slider's sets, with bounds; see cube_sides
    box_shares: Array  # volumes relative to the box of the normal ranges
    over_time: OverTime
    shows_rows: bool = True

    @property
    def has_volumes(self) -> bool:
        """Whether volumes were measured."""
        return self.volumes[-1].is_measured

    @property
    def start(self) -> int:
        """Index of the initial slider position: the mass of the set used for the drift test."""
        return int(np.abs(self.survey.masses - self.survey.mass).argmin())


def slider_masses(model: FittedModel, mass: float) -> list[float]:
    """Positions of the slider: masses from 0.60 to 0.995 that the model can guarantee, and the requested one."""
    return sorted(model.sets.calibration.guaranteed([*{*_STEPS, float(model.sets.mass), float(mass)}]).tolist())


def report_numbers(model: FittedModel, survey: TableSummary) -> ReportNumbers:
    """Compute all numbers from the model and the summary of the table."""
    masses = survey.masses
    volumes = [model.sets.volume(mass) for mass in masses]
    curve = fitted_curve(model.sets, masses, CONFIDENCE, volumes)
    sides, box_shares = cube_sides(model, survey, volumes)
    return ReportNumbers(
        model=model,
        survey=survey,
        offsets=np.array([model.sets.offset(mass) for mass in masses]),
        volumes=volumes,
        projections=_projections(model, survey),
        curve=curve,
        bandwidths=_bandwidths(model.estimator),
        level_shares=survey.level_counts / survey.drift.n_rows,
        level_chance=_chance_shares(model, survey),
        sides=sides,
        box_shares=box_shares,
        over_time=OverTime.of(model, survey, CONFIDENCE),
    )


def without_rows(numbers: ReportNumbers) -> ReportNumbers:
    """Return the numbers without the values of single rows, and with normal ranges rounded to wider ones.

    Medians of rows outside are left out as well, because the median of few rows is the value of one.
    """
    survey, over_time = numbers.survey, numbers.over_time
    columns = [
        replace(column, median_above=None, median_below=None, normal_range=_rounded(column.normal_range))
        for column in survey.columns
    ]
    return replace(
        numbers,
        survey=replace(
            survey,
            unusual=[],
            sample=Sample.of(np.empty((0, 5))),
            columns=columns,
            findings=survey.findings.without_values(),
        ),
        projections=[replace(projection, rows=projection.rows[:0]) for projection in numbers.projections],
        over_time=replace(
            over_time, inside=over_time.inside[:0], outside=over_time.outside[:0], top=over_time.top[:0], trends=[]
        ),
        shows_rows=False,
    )


def _rounded(normal_range: tuple[float, float] | None) -> tuple[float, float] | None:
    """A range whose ends are no values of rows: rounded to a tenth or less of its width."""
    if normal_range is None:
        return None
    low, high = normal_range
    width = high - low
    if width == 0.0 or not np.isfinite(width):  # a constant is no secret of one row
        return normal_range if width == 0.0 else None
    step = 10.0 ** (np.floor(np.log10(width)) - 1.0)
    return float(np.floor(low / step) * step), float(np.ceil(high / step) * step)


def cube_sides(model: FittedModel, survey: TableSummary, volumes: Sequence[VolumeEstimate]) -> tuple[Array, Array]:
    """Volumes in terms of the box of the normal ranges: sides of a box of the same shape, and shares of the box.

    A volume in many columns is a number with many digits and a unit that nobody knows. The side of a box of the same
    volume whose sides are all the same part of the normal range of their column is a number between 0 and 1. The first
    result has three rows: the sides, and their bounds at `CONFIDENCE`.
    """
    extents = np.ptp(survey.ranges, axis=0)
    varying = np.setdiff1d(np.flatnonzero(extents > 0), model.sets.constants.indices)
    # The box has a copy for every combination of categories.
    log_box = np.log(extents[varying]).sum() + sum(np.log(len(each)) for each in model.category_values.values())
    log_shares = np.array([volume.log_value for volume in volumes]) - log_box
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = np.nan_to_num(np.array([volume.standard_error / volume.value for volume in volumes]))
        errors = ndtri(0.5 + 0.5 * CONFIDENCE) * relative
        logs = log_shares + np.log(np.maximum([1.0 + 0.0 * errors, 1.0 - errors, 1.0 + errors], 0.0))
    return np.exp(logs / max(1, len(varying))), np.exp(log_shares)


def _bandwidths(estimator: Any) -> BandwidthComparison | None:
    """The bandwidths of the first view; None if the score of a detector is calibrated."""
    return BandwidthComparison.of(estimator.selection_) if hasattr(estimator, "selection_") else None


def _chance_shares(model: FittedModel, survey: TableSummary) -> tuple[float, float]:
    """Pointwise bounds for the share of rows in a bar, given the sampling error of rows and calibration rows."""
    low, high = chance_heights(survey.drift.n_rows, LEVEL_EDGES[:2], model.sets.calibration.n_rows, CONFIDENCE)
    return float(low[0] * LEVEL_EDGES[1]), float(high[0] * LEVEL_EDGES[1])


def interpolated_levels(numbers: ReportNumbers, scores: Array) -> Array:
    """Continuous levels for contour plots: exact at the slider's masses, interpolated between, above 1 far out."""
    distances, knots = -scores, -numbers.offsets
    masses = numbers.survey.masses
    # One more knot on either side, so that the contours at the first and the last mass are closed.
    knots = np.concatenate([[knots[0] - 1.0], knots, [knots[-1] + 2.0]])
    return np.asarray(np.interp(distances, knots, np.concatenate([[masses[0] - 0.2], masses, [1.2]])))


def _projections(model: FittedModel, survey: TableSummary) -> list[Slice]:
    """Projections of the nested sets on pairs of columns, one panel each."""
    drawn = _DrawnRows.of(model, survey)
    numeric = [j for j, name in enumerate(drawn.names) if name not in model.category_values]
    if len(numeric) == 1:
        return [_single_column(drawn, numeric[0], survey.sample.numbers)]
    return [_projection(drawn, pair) for pair in _pairs(len(drawn.names), numeric, survey)]


@dataclass(frozen=True)
class _DrawnRows:
    """The sampled rows, before and after the preprocessing steps of the model."""

    model: FittedModel
    names: list[str]  # of the columns of `rows`
    rows: Array  # in the units of the panels
    prepared: Array  # as the estimator receives them
    inside: Flags  # whether each row lies in the largest set; all True if none does

    @classmethod
    def of(cls, model: FittedModel, survey: TableSummary) -> Self:
        """The sample of a table; in transformed columns if these are not the columns of the table."""
        rows, names = survey.sample.rows, model.feature_names
        prepared = model.estimator._encoding.completed(np.asarray(model.prepared(rows)))
        if model.before is None or model.prepared_names != names:  # e.g. principal components
            rows, names = prepared, model.prepared_names
        inside = survey.sample.scores >= model.sets.offset(survey.masses[-1])
        return cls(model, names, rows, prepared, inside if inside.any() else np.ones_like(inside))

    def axis(self, column: int, n: int = _RESOLUTION) -> Array:
        """Grid values of a column: the range of the rows with a margin, limited around the rows inside."""
        values, inside = self.rows[:, column], self.rows[self.inside, column]
        extent = np.ptp(inside) or 1.0
        low = max(values.min() - _MARGIN * extent, inside.min() - _MAX_MARGIN * extent)
        high = min(values.max() + _MARGIN * extent, inside.max() + _MAX_MARGIN * extent)
        return np.linspace(low, high, n)

    def transformed(self, column: int, values: Array) -> Array:
        """Values of a column after the preprocessing, which transforms each column separately if it keeps the names."""
        if self.rows is self.prepared or self.model.before is None:
            return values
        points = np.tile(self.rows[0], (len(values), 1))
        points[:, column] = values
        with np.errstate(all="ignore"):
            transformed = np.asarray(self.model.prepared(points))[:, column]
        return np.where(np.isfinite(transformed), transformed, np.inf)  # the margin may be outside a step's domain


def _projection(drawn: _DrawnRows, pair: tuple[int, int]) -> Slice:
    r"""Projection of the nested sets on two columns: the highest score over the values of the other columns.

    The maximum is over the values that the rows inside have there, of those rows that are nearest to the grid point in
    the two columns. A row inside a set lies in the projection of the set, but so may a row outside. Rows
    outside the grid are moved to its edge.
    """
    function = drawn.model.sets.function
    if isinstance(function, Score):
        function = function.evaluated_in("single")  # enough for a picture
    x, y = (drawn.axis(f) for f in pair)
    grid = np.stack(np.meshgrid(*(drawn.transformed(f, axis) for f, axis in zip(pair, (x, y), strict=True))), axis=-1)
    grid = grid.reshape(-1, 2)
    inside = drawn.prepared[drawn.inside]
    with np.errstate(over="ignore"):  # rows near the limits of float64
        units = inside[:, pair].std(axis=0)
    units[units == 0.0] = 1.0
    finite = np.clip(grid, inside[:, pair].min(axis=0) - 1e3 * units, inside[:, pair].max(axis=0) + 1e3 * units)
    n_nearest = min(_COMPLETIONS, len(inside)) if len(drawn.names) > 2 else 1
    nearest = NearestNeighbors(n_neighbors=n_nearest).fit(inside[:, pair] / units)
    highest = np.full(len(grid), -np.inf)
    for rows in nearest.kneighbors(finite / units, return_distance=False).T:
        points = inside[rows]
        points[:, pair] = grid
        highest = np.maximum(highest, function(points))
    scores = highest.reshape(len(y), len(x))
    rows = np.clip(drawn.rows[:, pair], [x[0], y[0]], [x[-1], y[-1]])
    return Slice((drawn.names[pair[0]], drawn.names[pair[1]]), x, y, scores, rows)


def _pairs(n_columns: int, numeric: Sequence[int], survey: TableSummary) -> list[tuple[int, int]]:
    """Pairs of numeric columns that explain most rows outside: that contribute most and second to a row, most first.

    Where these are few, also pairs of columns that explain many rows by themselves.
    """
    flagged = survey.flagged
    alarms = np.bincount(flagged.top, minlength=n_columns) + 0.5 * np.bincount(flagged.second, minlength=n_columns)
    together = Counter(zip(*np.sort([flagged.top, flagged.second], axis=0).tolist(), strict=True))
    best = sorted(numeric, key=lambda j: -alarms[j])[: _MAX_PAIRS + 1]
    candidates = {*together, *((min(pair), max(pair)) for pair in combinations(best, 2))}
    ranked = sorted(candidates, key=lambda pair: (-together[pair], -alarms[list(pair)].sum(), pair))
    return [pair for pair in ranked if pair[0] != pair[1] and {*pair} <= {*numeric}][:_MAX_PAIRS]


def _single_column(drawn: _DrawnRows, column: int, numbers: NDArray[np.int64]) -> Slice:
    """The panel of a model with one column of numbers: values horizontally, row numbers vertically.

    If there are categories, it has the highest score over the categories of the rows inside.
    """
    x = drawn.axis(column, _RESOLUTION**2)
    values = drawn.transformed(column, x)
    others = np.delete(drawn.prepared[drawn.inside], column, axis=1)
    scores = np.full(len(x), -np.inf)
    for other in np.unique(others, axis=0):
        points = np.insert(np.tile(other, (len(x), 1)), column, values, axis=1)
        scores = np.maximum(scores, drawn.model.sets.function(points))
    y = np.array([0.0, max(1.0, float(numbers.max()))])
    rows = np.column_stack([np.clip(drawn.rows[:, column], x[0], x[-1]), numbers])
    return Slice((drawn.names[column], "row"), x, y, np.tile(scores, (2, 1)), rows)
