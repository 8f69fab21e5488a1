import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mvset.plotting import numbers
from mvset.plotting.numbers import DrawnTable

NAMES = ["load", "speed", "pressure", "flow"]


def table(rows=None, score=None, names=NAMES, categories=None):
    return DrawnTable(names, np.zeros((2, len(names))) if rows is None else rows, score, categories or {})


def column_pairs(features, names):
    return table(names=names).pairs(features)


def test_pairs_by_name_and_index():
    assert column_pairs([("speed", "load"), (2, np.int64(3)), ("flow", 0)], NAMES) == [(1, 0), (2, 3), (3, 0)]


def test_pairs_by_default():
    assert column_pairs(None, NAMES[:2]) == [(0, 1)]
    assert column_pairs(None, NAMES) == [(0, 1), (0, 2), (1, 2)]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([("speed", "torque")], "There is no column 'torque': the 4 columns are load, speed, pressure, flow"),
        ([(0, 4)], "There is no column 4"),
        ([(0, -1)], "There is no column -1"),
        ([(0, 1.5)], "There is no column 1.5"),
        (["load"], "features must be a list of pairs of columns"),
        ([(0, 1, 2)], "features must be a list of pairs of columns"),
        ([], "features must be a list of pairs of columns"),
        ([("load", 0)], "The two columns of a pair must differ"),
    ],
)
def test_invalid_pairs_are_refused(features, message):
    with pytest.raises(ValueError, match=message):
        column_pairs(features, NAMES)


def test_one_column_has_no_pairs():
    with pytest.raises(ValueError, match="At least two columns of numbers are needed"):
        column_pairs(None, ["load"])


def first_column(points):
    return points[:, 0]


def test_the_other_columns_are_fixed_at_their_medians_if_these_are_inside():
    rows = np.array([[0.0, 1.0], [1.0, np.nan], [5.0, 3.0]])
    centre, words = table(rows, first_column, NAMES[:2]).anchor(None, 1.0)
    assert_array_equal(centre, [1.0, 2.0])
    assert words == "Slice: other columns at their medians"
    centre, words = table(rows, first_column, NAMES[:2]).anchor(None, 1.5)
    assert_array_equal(centre, rows[2])
    assert words == "Slice: other columns as in the top-scoring row"


def test_the_other_columns_are_fixed_where_asked():
    rows = np.zeros((3, 2))
    centre, words = table(rows, first_column, NAMES[:2]).anchor([7.0, 8.0], 1.0)
    assert_array_equal(centre, [7.0, 8.0])
    assert words == "Slice: other columns as given"
    with pytest.raises(ValueError, match=r"at must have a value for each of 2 columns; got shape \(3,\)"):
        table(rows, first_column, NAMES[:2]).anchor([1.0, 2.0, 3.0], 1.0)


def test_scores_are_those_of_the_points_of_the_grid(monkeypatch):
    monkeypatch.setattr(numbers, "RESOLUTION", 5)
    rows = np.array([[0.0, 10.0, 5.0, 3.0], [1.0, 30.0, 5.0, 4.0]])
    weights = np.array([1.0, 10.0, 100.0, 1000.0])
    plane = table(rows, lambda points: points @ weights).slice_through(np.array([9.0, 8.0, 7.0, 6.0]), (1, 3))
    assert plane.names == ("speed", "flow")
    assert (plane.x[0], plane.x[-1]) == (5.0, 35.0)
    expected = 9.0 + 10.0 * plane.x + 700.0 + 1000.0 * plane.y[:, np.newaxis]
    assert_array_equal(plane.scores, expected)
    assert_array_equal(plane.rows, rows[:, [1, 3]])


def test_a_constant_column_gets_a_range(monkeypatch):
    monkeypatch.setattr(numbers, "RESOLUTION", 3)
    rows = np.array([[0.0, 1.0], [0.0, 2.0]])
    plane = table(rows, first_column, NAMES[:2]).slice_through(rows[0], (0, 1))
    assert_array_equal(plane.x, [-1.0, 0.0, 1.0])


def test_a_list_of_columns_gives_all_their_pairs():
    names = ["load", "speed", "pressure", "flow"]
    assert column_pairs(["load", "flow"], names) == [(0, 3)]
    assert column_pairs([0, "flow", 2], names) == [(0, 3), (0, 2), (3, 2)]


def test_categories_are_named_and_the_most_frequent_one_is_taken():
    rows = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 5.0], [2.0, 2.0, 3.0], [3.0, -1.0, 4.0]])
    mixed = table(rows, first_column, ["load", "line", "flow"], {1: ["a", "b", "c"]})
    assert mixed.pairs(None) == [(0, 2)]
    centre, words = mixed.anchor(None, 0.0)
    assert_array_equal(centre, [1.5, 2.0, 3.5])
    assert words == "Slice: line c"
    assert_array_equal(mixed.anchor([7.0, "b", 8.0], 0.0)[0], [7.0, 1.0, 8.0])
    wider = table(np.insert(rows, 3, 1.0, axis=1), first_column, [*mixed.names, "speed"], mixed.categories)
    assert wider.anchor(None, 0.0)[1] == "Slice: line c, other columns at their medians"
