"""The numbers behind displays and the charts of the report: slices, masses, bandwidths, bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
from scipy.special import ndtri
from scipy.stats import betabinom, binom

from mvset.bandwidth.choice import Selection
from mvset.calibration.fitted_sets import FittedSets
from mvset.estimators.fitted_model import FittedModel
from mvset.inference.results import MassBand
from mvset.metrics.detectors import Score, input_format
from mvset.rows.labels import label_text
from mvset.rows.validation import checked_rows
from mvset.values import Array, Flags
from mvset.volume.measure import VolumeEstimate

_MARGIN = 0.12  # around the rows, as a share of their range
_SLICE_MARGIN = 0.25  # wider for slices: there the sets may reach beyond all rows
_DEFAULT_COLUMNS = 3  # three columns have three pairs
RESOLUTION = 200  # grid values per column


@dataclass(frozen=True, eq=False)
class Slice:
    """Scores over a grid in two columns, and the values of the rows in these columns.

    Attributes
    ----------
    names : tuple of str
        Names of the two columns.
    x, y : ndarray of shape (n_x,), (n_y,)
        Grid values of the first and the second column, in their units.
    scores : ndarray of shape (n_y, n_x)
        Scores at the grid points.
    rows : ndarray of shape (n_samples, 2)
        Values of the rows in the two columns.
    """

    names: tuple[str, str]
    x: Array
    y: Array
    scores: Array
    rows: Array


@dataclass(frozen=True)
class DrawnTable:
    """A model and rows of a table as numbers: codes in place of categories, which are not drawn but fixed."""

    names: list[str]
    rows: Array
    score: Score  # of such rows
    categories: dict[int, list[str]]  # the values of each category column, by code

    @classmethod
    def of(cls, model: FittedModel, X: Any) -> Self:
        """The rows of X, in the columns of the table also for a Pipeline."""
        names = model.feature_names
        if model.before is None:
            categories = {names.index(name): values for name, values in model.category_values.items()}
            return cls(names, model.rows(X), model.scores, categories)
        rows = checked_rows(X, ensure_all_finite="allow-nan")
        as_input = input_format(X if hasattr(X, "dtypes") else rows)  # some steps select columns by name
        return cls(names, rows, lambda points: model.scores(as_input(points)), {})

    @property
    def numeric(self) -> list[int]:
        """Indices of the columns that can be drawn."""
        return [j for j in range(len(self.names)) if j not in self.categories]

    def pairs(self, features: Sequence[Any] | None) -> list[tuple[int, int]]:
        """Indices of the column pairs to draw: the given pairs, or all pairs of the given or first three columns."""
        if len(self.numeric) < 2:
            raise ValueError("At least two columns of numbers are needed to draw sets in the plane; X has one.")
        features = self.numeric[:_DEFAULT_COLUMNS] if features is None else features
        if all(isinstance(feature, str | int) for feature in features):
            features = list(combinations(features, 2))
        pairs = [() if isinstance(pair, str | int) else tuple(pair) for pair in features]
        if not pairs or any(len(pair) != 2 for pair in pairs):
            raise ValueError(f"features must be a list of pairs of columns, such as [(0, 1)]; got {features!r}.")
        columns = [(self._column(first), self._column(second)) for first, second in pairs]
        if any(first == second for first, second in columns):
            raise ValueError(f"The two columns of a pair must differ; got {features!r}.")
        return columns

    def _column(self, feature: Any) -> int:
        column = self.names.index(feature) if feature in self.names else feature
        if not isinstance(column, int | np.integer) or not 0 <= column < len(self.names):
            listed = ", ".join(self.names[:10]) + (", …" if len(self.names) > 10 else "")
            raise ValueError(f"There is no column {feature!r}: the {len(self.names)} columns are {listed}.")
        if column in self.categories:
            raise ValueError(f"Column {self.names[column]!r} has categories: sets are drawn over columns of numbers.")
        return int(column)

    def anchor(self, at: Any, least_score: float) -> tuple[Array, str]:
        """The point at which the other columns are fixed, and a caption that describes it.

        The point is `at` if given. Otherwise it has the medians and the most frequent categories or, if its score is
        below `least_score`, as between clusters, the values of the row with the highest score.
        """
        if at is not None:
            centre, how = self._coded(at), "as given"
        else:
            centre, how = self._middle(), "at their medians"
            if self.score(centre[np.newaxis])[0] < least_score:
                centre, how = self.rows[np.argmax(self.score(self.rows))], "as in the top-scoring row"
        fixed = [f"{self.names[j]} {values[int(centre[j])]}" for j, values in self.categories.items()]
        others = [] if fixed and len(self.numeric) == 2 else [f"other columns {how}"]
        return centre, f"Slice: {', '.join([*fixed, *others])}"

    def _middle(self) -> Array:
        middle = np.nanmedian(self.rows, axis=0)
        for j, values in self.categories.items():
            codes = self.rows[:, j][self.rows[:, j] >= 0].astype(np.intp)
            middle[j] = np.bincount(codes, minlength=len(values)).argmax()
        return middle

    def _coded(self, at: Any) -> Array:
        given = np.asarray(at, dtype=object if self.categories else np.float64)
        if given.shape != self.rows.shape[1:]:
            raise ValueError(f"at must have a value for each of {self.rows.shape[1]} columns; got shape {given.shape}.")
        coded = given.copy()
        for j, values in self.categories.items():
            value = label_text(given[j])
            if value not in values:
                raise ValueError(f"at: column {self.names[j]!r} had no value {value!r} in the fit.")
            coded[j] = values.index(value)
        return coded.astype(np.float64)

    def slice_through(self, centre: Array, pair: tuple[int, int]) -> Slice:
        """The slice through `centre` in two columns, over a grid that covers the rows."""
        margin = _MARGIN if len(self.names) == 2 else _SLICE_MARGIN
        x, y = (_grid(self.rows[:, column], margin) for column in pair)
        points = np.tile(centre, (len(x) * len(y), 1))
        points[:, pair] = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        names = self.names[pair[0]], self.names[pair[1]]
        return Slice(names, x, y, self.score(points).reshape(len(y), len(x)), self.rows[:, pair])


def table_scores(model: FittedModel, X: Any) -> Array:
    """Scores of rows of any kind, with text in category columns."""
    return model.scores(model.rows(X) if model.before is None else X)


def _grid(values: Array, margin: float) -> Array:
    low, high = np.nanmin(values), np.nanmax(values)
    padding = margin * (high - low) or 1.0
    return np.linspace(low - padding, high + padding, RESOLUTION)


TAIL = np.arange(80, 100) / 100  # the masses that the sets are meant to describe
CONTOUR_MASSES = (0.7, 0.8, 0.9, 0.95, 0.99)


def tail_masses(sets: FittedSets) -> Array:
    """Masses 0.80, 0.81 … 0.99 and the fitted one; if that is lower, starting a little below it."""
    first = max(1, min(80, round(100 * sets.masses[0])))
    return sets.calibration.guaranteed(np.union1d(np.arange(first, 100) / 100, sets.mass))


def fitted_curve(
    sets: FittedSets, masses: Array, confidence: float, estimates: Sequence[VolumeEstimate] | None = None
) -> dict[str, Array]:
    """Mass-volume curve of the fitted sets: volumes with bounds, and bounds for the true masses if there are any.

    `estimates` are the volumes at these masses, if they are known already.
    """
    estimates = [sets.volume(float(mass)) for mass in masses] if estimates is None else estimates
    volumes = np.array([estimate.value for estimate in estimates])
    errors = ndtri(0.5 + 0.5 * confidence) * np.array([estimate.standard_error for estimate in estimates])
    curve = {"masses": masses, "volumes": volumes, "lower": np.maximum(volumes - errors, 0), "upper": volumes + errors}
    band = known_band(sets, masses, confidence)
    return curve if band is None else {**curve, "mass_lower": band.lower, "mass_upper": band.upper}


def known_band(sets: FittedSets, masses: Array, confidence: float) -> MassBand | None:
    """Simultaneous bounds for the true masses, NaN below the tail in "cross" mode; None without calibration rows."""
    if not sets.calibration.is_calibrated:
        return None
    band = sets.calibration.mass_band(masses, confidence)
    known = masses >= _least_bounded(sets)
    return MassBand(masses, np.where(known, band.lower, np.nan), np.where(known, band.upper, np.nan), confidence)


def masses_around(sets: FittedSets, confidence: float) -> list[float]:
    """Masses of two sets between whose borders the set with exactly the fitted mass lies, at the given confidence.

    The first is the largest set whose true mass is below the fitted mass with confidence, the second the smallest set
    whose true mass is at least the fitted mass. With too few rows one or both are missing; without bounds both are.
    """
    if not sets.calibration.is_calibrated or sets.mass < _least_bounded(sets):
        return []
    least = _least_bounded(sets)
    fine = np.union1d(np.linspace(least, sets.mass, 100), np.linspace(sets.mass, 1.0, 100, endpoint=False))
    band = known_band(sets, sets.calibration.guaranteed(fine[fine > 0]), confidence)
    assert band is not None
    below, at_least = band.masses[band.upper < sets.mass], band.masses[band.lower >= sets.mass]
    return [*below[-1:].tolist(), *at_least[:1].tolist()]


def _least_bounded(sets: FittedSets) -> float:
    """The smallest mass for which the model gives bounds; 1 if there is none."""
    return float(min(sets.calibration.comparable_masses, default=1.0))


VOLUME_LABEL = "volume relative to the smallest"
_TITLES = {
    "log volume": "The widest σ within one standard error",
    "bound": "The σ of the smallest bounds on the volume",
    "middle": "The middle σ of sets without sample points",
}


@dataclass(frozen=True, eq=False)
class BandwidthComparison:
    """The selection criterion of each candidate bandwidth whose sets could be measured.

    It is the geometric mean of the volume over the masses, smoothed, or of a bound on it, relative to the smallest.
    With volumes, the rule selects the widest bandwidth whose value exceeds one by no more than its standard error.
    """

    sigmas: Array
    values: Array  # the criterion
    errors: Array  # its standard errors
    eligible: Flags  # whether each bandwidth meets the paper's condition on ν
    title: str | None  # the selection rule in a sentence; None if there was only one candidate

    @classmethod
    def of(cls, selection: Selection) -> Self:
        """The comparison behind the selection of a fit."""
        compared = selection.eligible if selection.eligible.any() else np.ones_like(selection.eligible)
        least = min(selection.values[compared & np.isfinite(selection.values)], default=0.0)
        with np.errstate(over="ignore"):
            values = np.exp(selection.values - least)
        drawn, errors, title = is_measured(values), values * selection.errors, _TITLES.get(selection.criterion)
        return cls(selection.sigmas[drawn], values[drawn], errors[drawn], selection.eligible[drawn], title)


def is_measured(values: Array) -> Flags:
    """Which volumes or areas can be drawn: finite, and positive, so that the set contains a sample point."""
    return np.asarray(np.isfinite(values) & (values > 0))


_ROUNDING = 1e-13  # rounding error of the edges; distinct levels differ by at least 1e-12, see offsets.py


def bar_edges(n_bars: int, mass: float | None) -> Array:
    """Edges of bars on [0, 1], as evenly spaced as possible; the mass is one of them."""
    if n_bars < 2:
        raise ValueError(f"bins must be at least 2; got {n_bars!r}.")
    if mass is None:
        return np.linspace(0.0, 1.0, n_bars + 1)
    n_inside = min(max(round(n_bars * mass), 1), n_bars - 1)
    return np.append(np.linspace(0.0, mass, n_inside + 1), np.linspace(mass, 1.0, n_bars - n_inside + 1)[1:])


def bar_heights(levels: Array, edges: Array) -> Array:
    """Density of the levels; a level equal to an edge counts below it, since a row with level == mass is inside."""
    up_to = np.searchsorted(np.sort(levels), edges + _ROUNDING, side="right")
    return np.asarray(np.diff(np.append(0, up_to[1:])) / (len(levels) * np.diff(edges)))


def chance_heights(n_rows: int, edges: Array, n_calibration: int | None, chance: float = 0.95) -> tuple[Array, Array]:
    """Pointwise lower and upper bounds for the height of each bar, for rows from the distribution of the fit.

    The number of rows between two of m calibration scores is beta-binomial rather than binomial, because the true
    share between them is estimated from m rows.
    """
    widths = np.diff(edges)
    if n_calibration is None:
        counts = binom(n_rows, widths)
    else:
        counts = betabinom(n_rows, n_calibration * widths, n_calibration * (1.0 - widths))
    scale = n_rows * widths
    return counts.ppf(0.5 - 0.5 * chance) / scale, counts.ppf(0.5 + 0.5 * chance) / scale
