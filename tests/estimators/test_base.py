from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mvset import MinimumVolumeSet
from mvset.datasets import paper_mixture, two_moons
from mvset.volume.box import draw_box_sample

MASSES = (0.05, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)


@pytest.fixture(scope="module")
def fitted():
    X = two_moons(400, random_state=0)
    return MinimumVolumeSet(random_state=0).fit(X), X


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sets_are_nested(table):
    """Every pair of masses, on the rows and on points all over the box."""
    model = MinimumVolumeSet(splits=3, random_state=0).fit(table)
    points = np.vstack([table, draw_box_sample(2 * table, 2000, np.random.RandomState(1)).points])
    inside = {mass: model.predict(points, mass=mass) == 1 for mass in MASSES}
    for smaller, larger in itertools.combinations(MASSES, 2):
        assert not (inside[smaller] & ~inside[larger]).any()
        assert model.offset(smaller) >= model.offset(larger)
        assert model.volume(smaller).value <= model.volume(larger).value


@given(first=st.floats(0.001, 0.999), second=st.floats(0.001, 0.999))
@settings(max_examples=50, deadline=None)
def test_any_two_masses_are_nested_and_levels_tell_membership(fitted, first, second):
    model, X = fitted
    smaller, larger = sorted((first, second))
    inside_smaller, inside_larger = model.predict(X, mass=smaller) == 1, model.predict(X, mass=larger) == 1
    assert not (inside_smaller & ~inside_larger).any()
    np.testing.assert_array_equal(model.level(X) <= smaller, inside_smaller)


def test_decision_is_score_minus_offset_exactly(fitted):
    model, X = fitted
    np.testing.assert_array_equal(model.decision_function(X), model.score_samples(X) - model.offset_)
    np.testing.assert_array_equal(model.decision_function(X, mass=0.7), model.score_samples(X) - model.offset(0.7))
    np.testing.assert_array_equal(model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1))
    assert model.offset_ == model.offset(model.mass)
    assert model.volume_ == model.volume(model.mass)


def test_levels_are_monotone_in_the_score_and_defined_everywhere(fitted):
    model, X = fitted
    points = np.vstack([X, [[1e3, 1e3], [1e300, -1e300]]])
    order = np.argsort(model.score_samples(points))
    levels = model.level(points)
    assert (np.diff(levels[order]) <= 0).all()
    assert levels.min() >= 0
    np.testing.assert_array_equal(levels[-2:], 1.0)


def test_levels_of_new_rows_are_close_to_uniform():
    mixture = paper_mixture()
    model = MinimumVolumeSet(random_state=0, sigma=0.8, nu=0.8).fit(mixture.sample(2000, random_state=0))
    levels = model.level(mixture.sample(20_000, random_state=1))
    for mass in (0.3, 0.5, 0.8, 0.95):
        assert np.mean(levels <= mass) == pytest.approx(mass, abs=0.04)
