"""Two-dimensional slices of nested sets: scores over a grid in two columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Score = Callable[[Array], Array]

_MARGIN = 0.12  # around the rows, as a share of their range
_SLICE_MARGIN = 0.25  # wider for slices: there the sets may reach beyond all rows
_DEFAULT_COLUMNS = 3  # three columns have three pairs


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


def column_pairs(features: Sequence[Any] | None, names: Sequence[str]) -> list[tuple[int, int]]:
    """Indices of the column pairs to draw: the given pairs, or all pairs of the given or the first three columns."""
    if len(names) < 2:
        raise ValueError("At least two columns are needed to draw sets in the plane; X has one.")
    if features is None:
        return list(combinations(range(min(len(names), _DEFAULT_COLUMNS)), 2))
    if all(isinstance(feature, str | int) for feature in features):
        features = list(combinations(features, 2))
    pairs = [() if isinstance(pair, str | int) else tuple(pair) for pair in features]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"features must be a list of pairs of columns, such as [(0, 1)]; got {features!r}.")
    columns = [(_column(first, names), _column(second, names)) for first, second in pairs]
    if any(first == second for first, second in columns):
        raise ValueError(f"The two columns of a pair must differ; got {features!r}.")
    return columns


def _column(feature: Any, names: Sequence[str]) -> int:
    if feature in names:
        return list(names).index(feature)
    if isinstance(feature, int | np.integer) and 0 <= feature < len(names):
        return int(feature)
    listed = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
    raise ValueError(f"There is no column {feature!r}: the {len(names)} columns are {listed}.")


def anchor(score: Score, rows: Array, at: ArrayLike | None, least_score: float) -> tuple[Array, str]:
    """The point at which the other columns are fixed, and a caption that describes it.

    The point is `at` if given. Otherwise it is the vector of medians or, if its score is below `least_score`, as
    between clusters, the row with the highest score.
    """
    if at is not None:
        given = np.asarray(at, dtype=np.float64)
        if given.shape != rows.shape[1:]:
            raise ValueError(f"at must have a value for each of {rows.shape[1]} columns; got shape {given.shape}.")
        return given, "Slice: other columns as given"
    medians = np.nanmedian(rows, axis=0)
    if score(medians[np.newaxis])[0] >= least_score:
        return medians, "Slice: other columns at their medians"
    return rows[np.argmax(score(rows))], "Slice: other columns as in the top-scoring row"


def slice_through(
    centre: Array, pair: tuple[int, int], score: Score, rows: Array, names: Sequence[str], resolution: int
) -> Slice:
    """The slice through `centre` in two columns, over a grid that covers the rows."""
    margin = _MARGIN if len(names) == 2 else _SLICE_MARGIN
    x, y = (_grid(rows[:, column], margin, resolution) for column in pair)
    points = np.tile(centre, (len(x) * len(y), 1))
    points[:, pair] = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    return Slice((names[pair[0]], names[pair[1]]), x, y, score(points).reshape(len(y), len(x)), rows[:, pair])


def _grid(values: Array, margin: float, resolution: int) -> Array:
    low, high = np.nanmin(values), np.nanmax(values)
    padding = margin * (high - low) or 1.0
    return np.linspace(low - padding, high + padding, resolution)
