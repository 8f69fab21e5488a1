from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mvset import MinimumVolumeSet, PluginKernelDensity
from mvset.datasets import paper_mixture
from mvset.plotting import BandwidthDisplay


@pytest.fixture(scope="module")
def model(moons):
    return MinimumVolumeSet(sigma=[0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0], n_splits=5, random_state=0).fit(moons)


def test_numbers_are_those_of_the_curves(model):
    display = BandwidthDisplay.from_estimator(model)
    assert_array_equal(display.sigmas, [curve.sigma for curve in model.curves_])
    assert_array_equal(display.areas, [curve.area for curve in model.curves_])
    assert_array_equal(display.errors, [curve.area_error for curve in model.curves_])
    assert_array_equal(display.valid, [curve.training_mass <= curve.masses[0] for curve in model.curves_])
    assert display.chosen == model.sigma_


def test_the_choice_is_marked_and_those_that_do_not_compete_are_hollow(model):
    display = BandwidthDisplay.from_estimator(model)
    assert display.ax_.get_xscale() == "log"
    area = next(curve.area for curve in model.curves_ if curve.sigma == model.sigma_)
    assert_array_equal(display.choice_.get_xydata(), [[model.sigma_, area]])
    assert f"σ = {model.sigma_:.3g}" in [text.get_text() for text in display.ax_.texts]
    assert_array_equal(display.invalid_.get_xdata(), display.sigmas[~display.valid])
    assert display.invalid_.get_markerfacecolor() == "white"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["fails the condition on ν"]
    assert display.ax_.get_title(loc="left") == "The widest σ of the smallest sets is chosen"


def test_no_legend_when_all_compete():
    display = BandwidthDisplay.from_predictions([0.1, 0.2], [1.0, 2.0], valid=[True, True])
    assert display.invalid_ is None
    assert display.ax_.get_legend() is None


def test_a_given_bandwidth_is_drawn_in_a_pipeline(suburbs_model):
    display = BandwidthDisplay.from_estimator(suburbs_model)
    assert_array_equal(display.sigmas, [0.45])
    assert display.ax_.get_title(loc="left") == ""


def test_what_explodes_leaves_the_picture_but_not_the_minimum_and_its_neighbours():
    areas = np.array([1e6, 1.4, 1.2, 1.0, 1.1, 1.3, 1e9])
    low, high = BandwidthDisplay.from_predictions(np.geomspace(0.1, 1.0, 7), areas).ax_.get_ylim()
    assert 0.8 < low < 1.0
    assert 1.4 < high < 2.0


def test_a_minimum_between_powers_of_ten_is_on_a_logarithmic_axis():
    ax = BandwidthDisplay.from_predictions([1.0, 2.0, 4.0, 8.0], [1e20, 1e15, 1e12, 1e13]).ax_
    assert ax.get_yscale() == "log"
    low, high = ax.get_ylim()
    assert low < 1e12 < 1e20 < high


def test_tiny_areas_that_do_not_compete_do_not_hide_the_minimum():
    display = BandwidthDisplay.from_predictions(
        np.geomspace(0.1, 1.0, 8), [1e-30, 1e-20, 1.6, 1.5, 1.4, 1.2, 1.0, 1.1], valid=[False] * 2 + [True] * 6
    )
    assert display.ax_.get_yscale() == "linear"
    assert display.ax_.get_ylim()[0] > 0.8


def test_what_is_not_measured_is_left_out():
    display = BandwidthDisplay.from_predictions(
        [0.1, 0.2, 0.4, 0.8], [0.0, 1.0, 2.0, np.inf], errors=[0.0, 0.1, 0.1, np.nan], chosen=0.8
    )
    assert_array_equal(display.line_.get_xydata(), [[0.2, 1.0], [0.4, 2.0]])
    assert_array_equal(display.choice_.get_xdata(), [0.8, 0.8])
    nothing = BandwidthDisplay.from_predictions([0.1, 0.2], [0.0, np.inf], chosen=0.1)
    assert len(nothing.line_.get_xdata()) == 0


def test_twenty_columns():
    X = paper_mixture(20).sample(300, random_state=0)
    model = MinimumVolumeSet(sigma=[4.0, 5.0, 6.0, 12.0], n_splits=3, random_state=0).fit(X)
    display = BandwidthDisplay.from_estimator(model)
    low, high = display.ax_.get_ylim()
    assert low < display.areas.min() < high
    assert display.areas.min() > 1e10
    display.figure_.canvas.draw()


def test_estimators_that_choose_otherwise_are_refused(moons):
    with pytest.raises(TypeError, match="PluginKernelDensity does not choose a bandwidth by volume"):
        BandwidthDisplay.from_estimator(PluginKernelDensity(sigma=0.2, random_state=0).fit(moons))
