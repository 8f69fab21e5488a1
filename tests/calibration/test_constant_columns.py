import pickle

import numpy as np
import pytest

from mvset.calibration.constant_columns import ConstantColumns

X = np.random.default_rng(0).normal(size=(50, 4))
X[:, 1] = 7.0
X[:, 3] = 0.0


def of(X):
    return ConstantColumns.between(X.min(axis=0), X.max(axis=0))


def test_finds_the_columns_that_never_change():
    constants = of(X)
    np.testing.assert_array_equal(constants.indices, [1, 3])
    np.testing.assert_array_equal(constants.values, [7.0, 0.0])
    assert not constants.changed(X).any()
    assert len(of(X[:, [0, 2]]).columns) == 0
    assert not of(X[:, [0, 2]]).changed(X).any()


@pytest.mark.parametrize(("column", "value", "shows"), [(1, 7.0001, True), (1, 7.00001, False), (3, 2e-6, True)])
def test_a_change_that_shows_is_found_in_its_row_alone(column, value, shows):
    rows = X.copy()
    rows[5, column] = value
    rows[7, 0] = 100.0
    constants = of(X)
    np.testing.assert_array_equal(np.flatnonzero(constants.changed(rows)), [5] if shows else [])
    changes = constants.changes(rows)
    expected = (value - X[5, column]) * shows
    np.testing.assert_array_equal(changes[5], [expected, 0.0] if column == 1 else [0.0, expected])


@pytest.mark.parametrize("value", [7.0, -7.0, 1e300, 0.1, 1e-12, 0.0])
def test_float32_and_rounding_are_no_change(value):
    constants = ConstantColumns(np.array([0.0]), np.array([value]))
    with np.errstate(over="ignore"):
        single = float(np.float32(value)) if abs(value) < 1e38 else value
    rows = np.array([[value], [single], [float(f"{value:.6g}")], [value + 1e-15 * abs(value)]])
    assert not constants.changed(rows).any()


def test_it_equals_its_copy():
    constants = of(X)
    assert pickle.loads(pickle.dumps(constants)) == constants
    assert constants != of(X + 1.0)


@pytest.mark.parametrize(
    ("columns", "values", "match"),
    [
        ([1.0, 2.0], [7.0], "length 2"),
        ([0.5], [7.0], "must be indices"),
        ([-1.0], [7.0], "must be indices"),
        ([0.0], [np.nan], "finite"),
        ([[0.0]], [7.0], "1 dimension"),
    ],
)
def test_damaged_parts_are_refused(columns, values, match):
    with pytest.raises(ValueError, match=rf"ConstantColumns\..*{match}"):
        ConstantColumns(np.array(columns), np.array(values))
