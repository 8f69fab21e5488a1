"""Planes through the columns of a table, on which nested sets are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Score = Callable[[Array], Array]

_MARGIN = 0.12  # around the rows, in their range
_MARGIN_OF_SLICES = 0.25  # through the middle of the sets, where they reach further than any row
_COLUMNS_BY_DEFAULT = 3  # their pairs are three pictures


@dataclass(frozen=True, eq=False)
class Slice:
    """Scores over a grid in two columns, whatever is done about the others, and the rows projected on it.

    Attributes
    ----------
    names : tuple of str
        Of the two columns.
    x, y : ndarray of shape (n_x,), (n_y,)
        The grid, in units of the columns.
    scores : ndarray of shape (n_y, n_x)
        Scores on it.
    rows : ndarray of shape (n_samples, 2)
        The two columns of the rows.
    """

    names: tuple[str, str]
    x: Array
    y: Array
    scores: Array
    rows: Array


def column_pairs(features: Sequence[Any] | None, names: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of columns to draw, by index: those asked for, all of the columns asked for, or of the first three."""
    if len(names) < 2:
        raise ValueError("Sets in one column are intervals: there are no two columns to draw them over.")
    if features is None:
        return list(combinations(range(min(len(names), _COLUMNS_BY_DEFAULT)), 2))
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
    """Where the columns that are not drawn are fixed, and that in words.

    Without `at` the medians or, where these have less than a least score, as between clusters, the row of the highest.
    """
    if at is not None:
        given = np.asarray(at, dtype=np.float64)
        if given.shape != rows.shape[1:]:
            raise ValueError(f"at must have a value for each of {rows.shape[1]} columns; got shape {given.shape}.")
        return given, "Slice: other columns as given"
    medians = np.nanmedian(rows, axis=0)
    if score(medians[np.newaxis])[0] >= least_score:
        return medians, "Slice: other columns at their medians"
    return rows[np.argmax(score(rows))], "Slice: other columns as in the innermost row"


def slice_through(
    centre: Array, pair: tuple[int, int], score: Score, rows: Array, names: Sequence[str], resolution: int
) -> Slice:
    """Scores over a grid around the rows in two columns, with the others as in `centre`."""
    margin = _MARGIN if len(names) == 2 else _MARGIN_OF_SLICES
    x, y = (_grid(rows[:, column], margin, resolution) for column in pair)
    points = np.tile(centre, (len(x) * len(y), 1))
    points[:, pair] = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    return Slice((names[pair[0]], names[pair[1]]), x, y, score(points).reshape(len(y), len(x)), rows[:, pair])


def _grid(values: Array, margin: float, resolution: int) -> Array:
    low, high = np.nanmin(values), np.nanmax(values)
    room = margin * (high - low) or 1.0
    return np.linspace(low - room, high + room, resolution)
