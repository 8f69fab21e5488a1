import numpy as np
import pytest
from scipy import stats

from mvset.paper.experiments.summary import Interval, column, distinct, everywhere, interval, means, table_of, where

ROWS = [
    {"n": 100, "method": "a", "value": 1.0},
    {"n": 20, "method": "b", "value": 2},
    {"n": 20, "method": "a", "value": 3},
]


def test_interval_is_students():
    values = np.random.default_rng(0).normal(size=12)
    found = interval(values)
    low, high = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert (found.mean, found.low, found.high) == pytest.approx((values.mean(), low, high))
    assert str(found) == f"{values.mean():.3f} ± {high - values.mean():.3f}"


def test_a_single_repetition_has_no_interval():
    one, two = interval(np.array([1.0])), interval(np.array([2.0]))
    assert not one.below(two)
    assert str(one) == "1.000"


def test_below_means_that_intervals_are_apart():
    assert Interval(1.0, 0.9, 1.1, 5).below(Interval(1.3, 1.2, 1.4, 5))
    assert not Interval(1.0, 0.9, 1.2, 5).below(Interval(1.3, 1.2, 1.4, 5))


def test_selection_of_rows():
    assert distinct(ROWS, "n") == [20.0, 100.0]
    assert where(ROWS, n=20, method="a") == [ROWS[2]]
    np.testing.assert_array_equal(column(ROWS, "value", method="a"), [1.0, 3.0])


def test_everywhere_names_the_cases_in_which_a_statement_holds():
    assert everywhere("a", "n", {10: True, 20: True}).ours == "at every n"
    assert everywhere("a", "n", {10: True, 20: True}).holds is True
    some = everywhere("a", "n", {10: False, 20: True, 5000: True})
    assert (some.ours, some.holds) == ("at n = 20, 5000", False)
    assert everywhere("a", "n", {10: False}).ours == "at no n"
    assert everywhere("a", "n", {10: True}, paper="").holds is None


def test_means_and_tables_are_by_case():
    assert [each.mean for each in means(ROWS, "n", "value", method="a")] == [3.0, 1.0]
    rows = [{"n": n, "method": method, "difference": n / 10} for n in (5, 20) for method in "ab"]
    assert table_of(rows, "n", {"b": "B", "a": "A"}) == [
        ["n", "B", "A"],
        ["5", "0.500", "0.500"],
        ["20", "2.000", "2.000"],
    ]
