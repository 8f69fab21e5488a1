r"""Volumes of rows with categories: Lebesgue measure of the numbers times counting measure of the categories.

A cell is a combination of values, one for each category column. The volume of a set is the sum over all cells of the
volume of its part in the cell. Points are drawn in the numeric columns first. Each gets a cell from the distribution
:math:`r(c \mid z)`: a cell of rows near the point as a rule, but also any other one. Its weight is divided by r.
"""

from functools import reduce

import numpy as np
from scipy.spatial import cKDTree

from mvset.rows.layout import ColumnLayout
from mvset.values import Array, Indices

_NEIGHBOURS = 8  # rows near a point whose cells it may get
_REFERENCE_ROWS = 1000
_NEAR, _SEEN = 0.6, 0.25  # shares of points with the cell of a row near by, and with any cell of the rows; the rest
# gets independent values of the category columns, so that every combination has a chance.


class CellSampler:
    """Draws cells for numeric points; rows are encoded, as the layout says."""

    def __init__(self, X: Array, layout: ColumnLayout, rng: np.random.RandomState) -> None:
        self._layout, self._rng = layout, rng
        codes = self._codes(X)
        self._cells, cell_of_row = np.unique(codes, axis=0, return_inverse=True)
        reference = rng.permutation(len(X))[:_REFERENCE_ROWS]
        numbers = X[:, : layout.n_numeric]
        spread = numbers.std(axis=0)
        self._units = np.where(spread > 0, spread, 1.0)
        self._tree = cKDTree(numbers[reference] / self._units)
        self._reference_cells = cell_of_row.reshape(-1)[reference]
        self._n_neighbours = min(_NEIGHBOURS, len(reference))
        # Frequent values are more likely to matter, rare ones must not be missed.
        self._marginals = [
            0.5 * np.bincount(column, minlength=size) / len(X) + 0.5 / size
            for column, size in zip(codes.T, layout.sizes, strict=True)
        ]

    def draw(self, numbers: Array) -> tuple[Array, Array]:
        """A block of zeros and ones per category column for each point, and the log probability of its cell."""
        n_points, rng = len(numbers), self._rng
        _, near = self._tree.query(numbers / self._units, k=self._n_neighbours)
        near_cells = self._reference_cells[near.reshape(n_points, -1)]
        way = rng.uniform(size=n_points)
        chosen = near_cells[np.arange(n_points), rng.randint(self._n_neighbours, size=n_points)]
        chosen = np.where(way < _NEAR, chosen, rng.randint(len(self._cells), size=n_points))
        codes = self._cells[chosen]
        independent = np.column_stack(
            [rng.choice(len(marginal), n_points, p=marginal) for marginal in self._marginals]
        ).astype(np.intp)
        codes = np.where((way < _NEAR + _SEEN)[:, np.newaxis], codes, independent)
        return self._blocks(codes), np.log(self._probability(codes, near_cells))

    def _probability(self, codes: Indices, near_cells: Indices) -> Array:
        cells = self._numbers(codes)
        near = (near_cells == cells[:, np.newaxis]).mean(axis=1)
        seen = np.where(cells >= 0, 1.0 / len(self._cells), 0.0)
        each = (marginal[column] for marginal, column in zip(self._marginals, codes.T, strict=True))
        return np.asarray(_NEAR * near + _SEEN * seen + (1.0 - _NEAR - _SEEN) * reduce(np.multiply, each))

    def _numbers(self, codes: Indices) -> Indices:
        """Numbers of cells of the rows; -1 for other cells."""
        joined, inverse = np.unique(np.vstack([self._cells, codes]), axis=0, return_inverse=True)
        number = np.full(len(joined), -1, dtype=np.intp)
        inverse = inverse.reshape(-1)
        number[inverse[: len(self._cells)]] = np.arange(len(self._cells))
        return number[inverse[len(self._cells) :]]

    def _codes(self, X: Array) -> Indices:
        return np.column_stack([X[:, block].argmax(axis=1) for block in self._layout.blocks])

    def _blocks(self, codes: Indices) -> Array:
        return np.hstack([np.eye(size)[column] for size, column in zip(self._layout.sizes, codes.T, strict=True)])


def with_cells(numbers: Array, cells: CellSampler | None) -> tuple[Array, Array]:
    """Points with a cell for each, if there are any, and the log probabilities of these cells."""
    if cells is None:
        return numbers, np.zeros(len(numbers))
    blocks, log_probability = cells.draw(numbers)
    return np.hstack([numbers, blocks]), log_probability
