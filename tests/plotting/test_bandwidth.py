import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mvset import MinimumVolumeSet
from mvset.paper import PluginKernelDensity
from mvset.paper.datasets import paper_mixture
from mvset.plotting import BandwidthDisplay
from mvset.plotting.numbers import BandwidthComparison


def drawn(sigmas, values, eligible=None, chosen=None):
    numbers = np.array(sigmas), np.array(values), np.full(len(values), 0.1)
    eligible = np.ones(len(values), dtype=bool) if eligible is None else np.array(eligible)
    return BandwidthDisplay(BandwidthComparison(*numbers, eligible, None), chosen).plot()


@pytest.fixture(scope="module")
def model(moons):
    return MinimumVolumeSet(sigma=[0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0], splits=5, random_state=0).fit(moons)


def test_numbers_are_those_that_decided(model):
    display = BandwidthDisplay.from_estimator(model)
    selection = model.selection_
    assert_array_equal(display.compared.sigmas, selection.sigmas)
    least = selection.values[selection.eligible].min()
    assert_allclose(display.compared.values, np.exp(selection.values - least))
    assert_allclose(display.compared.errors, display.compared.values * selection.errors)
    assert_array_equal(display.compared.eligible, [curve.training_mass <= curve.masses[0] for curve in model.curves_])
    assert display.chosen == model.sigma_
    assert display.ax_.get_ylabel() == "volume relative to the smallest"


def test_the_choice_is_marked_and_those_that_do_not_compete_are_hollow(model):
    display = BandwidthDisplay.from_estimator(model)
    assert display.ax_.get_xscale() == "log"
    value = display.compared.values[display.compared.sigmas == model.sigma_][0]
    assert_array_equal(display.choice_.get_xydata(), [[model.sigma_, value]])
    assert f"σ = {model.sigma_:.3g}" in [text.get_text() for text in display.ax_.texts]
    assert_array_equal(display.ineligible_.get_xdata(), display.compared.sigmas[~display.compared.eligible])
    assert display.ineligible_.get_markerfacecolor() == "white"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["fails the condition on ν"]
    title = "The widest σ within one standard error"
    assert display.ax_.get_title(loc="left") == title


def test_no_legend_when_all_compete():
    display = drawn([0.1, 0.2], [1.0, 2.0], eligible=[True, True])
    assert display.ineligible_ is None
    assert display.ax_.get_legend() is None


def test_a_given_bandwidth_is_drawn_in_a_pipeline(suburbs_model):
    display = BandwidthDisplay.from_estimator(suburbs_model)
    assert_array_equal(display.compared.sigmas, [0.45])
    assert display.ax_.get_title(loc="left") == ""


def test_limits_show_the_minimum_and_its_neighbours():
    values = np.array([1e6, 1.4, 1.2, 1.0, 1.1, 1.3, 1e9])
    low, high = drawn(np.geomspace(0.1, 1.0, 7), values).ax_.get_ylim()
    assert 0.8 < low < 1.0
    assert 1.4 < high < 2.0


def test_a_minimum_between_powers_of_ten_is_on_a_logarithmic_axis():
    ax = drawn([1.0, 2.0, 4.0, 8.0], [1e20, 1e15, 1e12, 1e13]).ax_
    assert ax.get_yscale() == "log"
    low, high = ax.get_ylim()
    assert low < 1e12 < 1e20 < high


def test_tiny_values_that_do_not_compete_do_not_hide_the_minimum():
    display = drawn(
        np.geomspace(0.1, 1.0, 8), [1e-30, 1e-20, 1.6, 1.5, 1.4, 1.2, 1.0, 1.1], eligible=[False] * 2 + [True] * 6
    )
    assert display.ax_.get_yscale() == "linear"
    assert display.ax_.get_ylim()[0] > 0.8


def test_a_choice_that_cannot_be_drawn_is_a_line():
    display = drawn([0.2, 0.4], [1.0, 2.0], chosen=0.8)
    assert_array_equal(display.choice_.get_xdata(), [0.8, 0.8])
    empty = drawn([], [], chosen=0.1)
    assert len(empty.line_.get_xdata()) == 0


@pytest.mark.filterwarnings("ignore::mvset.exceptions.BandwidthEdgeWarning")
def test_twenty_columns():
    X = paper_mixture(20).sample(300, random_state=0)
    model = MinimumVolumeSet(sigma=[4.0, 5.0, 6.0, 12.0], splits=3, random_state=0).fit(X)
    display = BandwidthDisplay.from_estimator(model)
    low, high = display.ax_.get_ylim()
    assert low < 1.0 < high
    assert display.compared.values.min() == 1.0
    display.figure_.canvas.draw()


def test_estimators_with_another_selection_are_refused(moons):
    with pytest.raises(TypeError, match="PluginKernelDensity does not select a bandwidth by volume"):
        BandwidthDisplay.from_estimator(PluginKernelDensity(sigma=0.2, random_state=0).fit(moons))
