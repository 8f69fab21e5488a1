from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mvset.experiments.summary import Interval, column, distinct, everywhere, interval, where

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
