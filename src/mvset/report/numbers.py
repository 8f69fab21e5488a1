"""First: all the numbers that the page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from mvset.answers import MassBand
from mvset.level_sets import KernelExpansion
from mvset.pipelines import FittedModel, columns_in_order
from mvset.plotting.slices import Slice
from mvset.survey import SurveyResult
from mvset.volumes import VolumeEstimate

Array = NDArray[np.float64]

_STEPS = [*np.round(np.arange(0.60, 0.995, 0.01), 2).tolist(), 0.995]
_MOST_FEATURES = 4  # whose pairs are drawn
_RESOLUTION = 80  # of the grid of a picture, each way
_MARGIN = 0.12
_COMPLETIONS = 400  # rows whose other columns cast shadows


@dataclass(frozen=True)
class ReportNumbers:
    """What the page is about."""

    model: FittedModel
    survey: SurveyResult
    masses: Array  # of the slider
    offsets: Array
    volumes: list[VolumeEstimate]
    shadows: list[Slice]
    band: MassBand

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
        band=model.sets.mass_band(),
    )


def smooth_levels(numbers: ReportNumbers, scores: Array) -> Array:
    """Levels without steps, exact at the slider's masses, and above 1 far out: what contours need."""
    with np.errstate(divide="ignore"):
        falling, borders = -np.log(scores), -np.log(numbers.offsets)
    masses = numbers.masses
    # One more stop on either side, so that contours do not break off at the first and the last mass.
    stops = np.concatenate([[borders[0] - 1.0], borders, [borders[-1] + 2.0]])
    return np.asarray(np.interp(falling, stops, np.concatenate([[masses[0] - 0.2], masses, [1.2]])))


def _shadows(model: FittedModel, survey: SurveyResult) -> list[Slice]:
    """The nested sets over pairs of columns: in each picture the shadow that they cast."""
    rows, names = survey.sample.rows, model.feature_names
    with columns_in_order():
        prepared = np.asarray(model.prepared(rows))
    if model.prepared_names != names:  # columns that the table does not have, such as principal components
        rows, names = prepared, model.prepared_names
    if len(names) == 1:
        return [_strip(names[0], rows, survey.sample.numbers, model)]
    pairs = combinations(_telling_features(names, survey), 2)
    return [_shadow(model.sets._level_sets.function, pair, rows, prepared, names) for pair in pairs]


def _shadow(
    function: KernelExpansion, pair: tuple[int, int], rows: Array, prepared: Array, names: Sequence[str]
) -> Slice:
    r"""Highest score that a row with given values in two columns can have.

    Over what the rows of the sample have in the other columns. A row inside a set is inside its shadow; a row outside
    may be, too. The kernel is a product over columns, so that the scores of the whole grid, completed by the k-th row,
    are :math:`\sum_j c_j\, k(x, x_j)\, k(y, x_j)\, k(r_k, x_j)`, with a factor for the first column, for the second,
    and for all others.
    """
    others = [f for f in range(len(names)) if f not in pair]
    completions = prepared[:: max(1, len(prepared) // _COMPLETIONS)][:, others] if others else np.empty((1, 0))
    rest = function.weights * _kernels(completions, function.centres[:, others], function.sigma)
    axes = [_axis(rows[:, f], prepared[:, f]) for f in pair]
    along_x, along_y = (
        _kernels(axis[1][:, np.newaxis], function.centres[:, [f]], function.sigma)
        for axis, f in zip(axes, pair, strict=True)
    )
    scores = np.stack([((rest * factors) @ along_x.T).max(axis=0) for factors in along_y])
    return Slice((names[pair[0]], names[pair[1]]), axes[0][0], axes[1][0], scores, rows[:, pair])


def _kernels(points: Array, centres: Array, sigma: float) -> Array:
    return np.asarray(np.exp(-cdist(points, centres, "sqeuclidean") / (2.0 * sigma**2)))


def _axis(values: Array, prepared: Array, n: int = _RESOLUTION) -> tuple[Array, Array]:
    """Places along a column, and the same as the sets see them: scalers move and stretch columns, and no more."""
    low, high = values.argmin(), values.argmax()
    ends = values[[low, high]]
    room = _MARGIN * np.ptp(ends) or 1.0
    axis = np.linspace(ends[0] - room, ends[1] + room, n)
    stretch = np.ptp(prepared[[low, high]]) / np.ptp(ends) if np.ptp(ends) else 1.0
    return axis, prepared[low] + stretch * (axis - ends[0])


def _telling_features(names: Sequence[str], survey: SurveyResult) -> list[int]:
    """Columns to draw, in their order: of many those that contribute most to what is unusual."""
    shares = [sum(abs(row.contributions[name]) / row.distance for row in survey.unusual) for name in names]
    return sorted(sorted(range(len(names)), key=lambda j: -shares[j])[:_MOST_FEATURES])


def _strip(name: str, rows: Array, numbers: NDArray[np.int64], model: FittedModel) -> Slice:
    """A single column: the sets are stripes, and the rows stand in them by their number."""
    with columns_in_order():
        prepared = np.asarray(model.prepared(rows))
        x, seen = _axis(rows[:, 0], prepared[:, 0], _RESOLUTION**2)
        scores = model.sets.score_samples(seen[:, np.newaxis])
    y = np.array([0.0, max(1.0, float(numbers.max()))])
    return Slice((name, "row"), x, y, np.tile(scores, (2, 1)), np.column_stack([rows, numbers]))
