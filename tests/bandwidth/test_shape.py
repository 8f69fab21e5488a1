from dataclasses import replace

import numpy as np
import pytest

from mvset.bandwidth.curves import mass_grid
from mvset.bandwidth.shape import ShapeOptions, best_shape
from mvset.calibration.plan import CalibrationPlan, TableRows
from mvset.paper.datasets import two_moons
from mvset.rows.encoding import RowEncoding
from mvset.rows.layout import ColumnLayout

X = two_moons(300, random_state=0) * [1.0, 100.0]
OPTIONS = ShapeOptions("auto", "auto", "auto", mass_grid(0.9), 1000)


def shape(options=OPTIONS, splits=4, rows=X):
    rng = np.random.RandomState(0)
    table = TableRows(RowEncoding(rows.shape[1]), rows, rows.min(axis=0), rows.max(axis=0))
    division = CalibrationPlan(0.9, "cross", 0.95, splits, None, False).divided(table, rng)
    return division, best_shape(division, ColumnLayout(rows.shape[1]), options, rng)


@pytest.mark.parametrize(
    ("nu", "sigma", "n_rows", "expected"),
    [
        ("auto", "auto", 200, (0.4, 0.7, 0.9)),
        ("auto", "auto", 199, (0.4,)),
        ("auto", [0.3, 0.5], 1000, (0.4,)),
        (0.2, "auto", 1000, (0.2,)),
    ],
)
def test_larger_nus_are_tried_for_automatic_bandwidths_of_enough_rows(nu, sigma, n_rows, expected):
    assert replace(OPTIONS, nu=nu, sigma=sigma).nus(n_rows) == expected


def test_bandwidths_that_are_given_are_in_the_units_of_the_columns():
    division, found = shape(replace(OPTIONS, sigma=[3.0, 10.0]))
    assert [candidate.sigma for candidate in found.search.candidates] == [3.0, 10.0]
    assert found.search.scaling is None
    assert found.models.scalings == []
    assert found.scaling_comparison == {}
    assert len(found.models.duals) == len(division.splits) == 4


def test_a_scaling_that_is_given_does_not_race():
    _, found = shape(replace(OPTIONS, scaling="whiten"))
    assert found.search.scaling == "whiten"
    assert found.scaling_comparison == {}
    assert len(found.models.scalings) == 4


def test_the_scaling_of_the_smallest_sets_in_the_race_is_taken():
    _, found = shape()
    assert set(found.scaling_comparison) == {"standard", "whiten"}
    assert found.search.scaling == min(found.scaling_comparison, key=found.scaling_comparison.get)


def test_if_nothing_can_be_compared_the_first_scaling_is_taken(monkeypatch):
    monkeypatch.setattr("mvset.bandwidth.shape.race", lambda scalings, task: {})
    _, found = shape()
    assert (found.search.scaling, found.scaling_comparison) == ("standard", {})


def test_the_first_splits_choose_the_bandwidth_and_all_have_models():
    division, found = shape(splits="auto")
    assert len(division.splits) == 50
    assert len(found.search.splits) == 10
    assert len(found.models.duals) == 50
    for split, dual in zip(division.splits, found.models.duals, strict=True):
        np.testing.assert_array_equal(dual.alpha[split.held_out], 0.0)
        assert dual.alpha.sum(dtype=np.float64) == pytest.approx(found.search.best.nu * len(split.train), rel=1e-5)


def test_in_many_columns_the_winner_of_the_race_must_win_in_all_of_them(monkeypatch):
    """Independent columns: if whitening won the race by chance, its parameters would cost more than they gain."""
    rows = np.random.default_rng(0).normal(size=(200, 9))
    raced = {"standard": 0.0, "whiten": -1.0}
    monkeypatch.setattr(
        "mvset.bandwidth.shape.race",
        lambda scalings, task: {
            name: type("Result", (), {"log_volume": raced[name], "sigma": 3.0}) for name in scalings
        },
    )
    _, found = shape(rows=rows)
    assert found.scaling_comparison == raced
    assert found.search.scaling == "standard"
