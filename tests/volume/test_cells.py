"""Volumes of sets of rows with categories: summed over the combinations of values."""

import numpy as np
import pytest

from mvset.rows.layout import ColumnLayout
from mvset.volume.cells import CellSampler
from mvset.volume.measure import measure
from mvset.volume.sampler import VolumeSampler

LAYOUT = ColumnLayout(2, (3, 2))


def encoded(numbers, first, second):
    return np.hstack([numbers, np.eye(3)[first], np.eye(2)[second]])


def rows(n=600, seed=0):
    """In the second value of the first column rows are elsewhere; the second column is independent, and rarely one."""
    rng = np.random.default_rng(seed)
    first = rng.choice(3, n, p=[0.7, 0.25, 0.05])
    numbers = rng.uniform(-1.0, 1.0, size=(n, 2)) + 5.0 * (first == 1)[:, np.newaxis]
    return encoded(numbers, first, rng.choice(2, n, p=[0.9, 0.1]))


def squares(points):
    """A unit square in cells (0, 0) and (0, 1), one of side two elsewhere in (1, 0), nothing in other cells."""
    first, second = points[:, 2:5].argmax(axis=1), points[:, 5:].argmax(axis=1)
    small = np.abs(points[:, :2]).max(axis=1) < 0.5
    large = np.abs(points[:, :2] - 5.0).max(axis=1) < 1.0
    return ((first == 0) & small) | ((first == 1) & (second == 0) & large)


@pytest.mark.parametrize("method", ["box", "importance"])
def test_volumes_are_summed_over_cells(method):
    sampler = VolumeSampler(method, rows(), 20_000, np.random.RandomState(0), layout=LAYOUT)
    sample = sampler.draw(squares)
    volume = measure(sample, squares(sample.points)[:, np.newaxis]).estimate(0)
    assert volume.value == pytest.approx(1 + 1 + 4, abs=3 * volume.standard_error)
    assert volume.standard_error < 0.1 * volume.value


def test_combinations_that_no_row_has_are_measured():
    """All rows but those of a combination: the set holds it all the same."""
    X = rows()
    X = X[~((X[:, 2] == 1) & (X[:, 6] == 1))]
    sampler = VolumeSampler("importance", X, 20_000, np.random.RandomState(0), layout=LAYOUT)

    def target(points):
        return (points[:, 2] == 1) & (points[:, 6] == 1) & (np.abs(points[:, :2]).max(axis=1) < 0.5)

    sample = sampler.draw(target)
    volume = measure(sample, target(sample.points)[:, np.newaxis]).estimate(0)
    assert volume.value == pytest.approx(1.0, abs=3 * volume.standard_error)
    assert volume.hits > 100


def test_probabilities_of_cells():
    """They are those with which the cells are drawn."""
    sampler = CellSampler(rows(), LAYOUT, np.random.RandomState(0))
    blocks, log_probability = sampler.draw(np.full((200_000, 2), 5.0))
    cells = blocks[:, :3].argmax(axis=1) * 2 + blocks[:, 3:].argmax(axis=1)
    probability = np.exp(log_probability)
    total = 0.0
    for cell in range(6):
        drawn = cells == cell
        assert drawn.any()
        np.testing.assert_allclose(probability[drawn], probability[drawn][0])
        assert drawn.mean() == pytest.approx(probability[drawn][0], abs=0.005)
        total += probability[drawn][0]
    assert total == pytest.approx(1.0)


def test_rows_near_a_point_are_found_in_units_of_the_columns():
    """The narrow column tells the cell, the wide one nothing; the third is constant."""
    rng = np.random.default_rng(0)
    narrow, first = 1e-3 * rng.uniform(-1.0, 1.0, size=600), rng.choice(2, 600)
    numbers = np.column_stack([narrow + 3e-3 * first, rng.uniform(size=600), np.ones(600)])
    X = np.hstack([numbers, np.eye(2)[first]])
    blocks, _ = CellSampler(X, ColumnLayout(3, (2,)), np.random.RandomState(0)).draw(numbers)
    assert np.mean(blocks.argmax(axis=1) == first) == pytest.approx(0.6 + 0.4 / 2, abs=0.05)


def test_layout():
    X = rows()
    assert LAYOUT.n_columns == 4
    assert LAYOUT.n_codes == 5
    assert LAYOUT.blocks == [slice(2, 5), slice(5, 7)]
    np.testing.assert_array_equal(LAYOUT.varying(X[X[:, 5] == 1]), [0, 1, 2])
    columns, layout = LAYOUT.selected([3, 1])
    np.testing.assert_array_equal(columns, [1, 5, 6])
    assert layout == ColumnLayout(1, (2,))
