import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import IsolationForest

from mvset import mass_volume_curve
from mvset.plotting import MassVolumeDisplay


def test_numbers_are_those_of_the_model(split_model):
    display = MassVolumeDisplay.from_estimator(split_model)
    assert_allclose(display.masses, np.arange(80, 100) / 100)
    volumes = [split_model.volume(mass) for mass in display.masses]
    assert_array_equal(display.volumes, [volume.value for volume in volumes])
    assert_allclose(display.upper, [volume.value + 1.959964 * volume.standard_error for volume in volumes])
    assert_allclose(display.lower, [volume.value - 1.959964 * volume.standard_error for volume in volumes])
    band = split_model.mass_band(display.masses)
    assert_array_equal(display.mass_lower, band.lower)
    assert_array_equal(display.mass_upper, band.upper)


def test_artists_have_the_numbers(conformal_model):
    display = MassVolumeDisplay.from_estimator(conformal_model, masses=[0.5, 0.7, 0.9])
    assert_array_equal(display.line_.get_xydata(), np.transpose([display.masses, display.volumes]))
    corners = display.mass_band_.get_paths()[0].vertices
    assert corners[:, 0].min() == display.mass_lower.min()
    assert corners[:, 0].max() == display.mass_upper.max()
    assert display.band_.get_paths()[0].vertices[:, 1].max() == display.upper.max()
    assert display.ax_.get_legend().get_title().get_text() == "shaded: 95 % confidence"


def test_in_split_mode_no_bounds_below_a_half(split_model):
    display = MassVolumeDisplay.from_estimator(split_model, masses=[0.4, 0.9])
    assert_array_equal(np.isnan(display.mass_lower), [True, False])


def test_with_rows_it_is_the_curve_of_any_detector(moons):
    forest = IsolationForest(n_estimators=20, random_state=0).fit(moons)
    display = MassVolumeDisplay.from_estimator(forest, moons, masses=[0.8, 0.9], confidence=0.9, random_state=0)
    curve = mass_volume_curve(forest, moons, masses=[0.8, 0.9], confidence=0.9, random_state=0)
    assert_array_equal(display.volumes, curve.volumes)
    assert_array_equal(display.lower, curve.lower)
    assert_array_equal(display.upper, curve.upper)
    assert display.mass_band_ is None
    assert display.name == "IsolationForest"


def test_curves_on_the_same_axes_differ_and_share_a_legend():
    ax = MassVolumeDisplay([0.8, 0.9], [1.0, 2.0], name="a").plot().ax_
    MassVolumeDisplay([0.8, 0.9], [1.5, 2.5], lower=[1.2, 2.2], upper=[1.7, 2.7], name="b").plot(ax)
    MassVolumeDisplay([0.8, 0.9], [3.0, 4.0], name="c").plot(ax, color="green", linestyle=":")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    assert len({line.get_color() for line in ax.lines}) == 3
    assert len({line.get_linestyle() for line in ax.lines}) == 3
    assert ax.lines[2].get_color() == "green"


def test_units_are_those_of_the_columns_that_were_measured(suburbs, suburbs_model, split_model):
    display = MassVolumeDisplay.from_estimator(suburbs_model, masses=[0.9, 0.95])
    assert display.ax_.get_ylabel() == "volume (of the transformed columns)"
    assert display.name == "MinimumVolumeSet"
    assert display.volumes[1] == suburbs_model[-1].volume_.value
    assert MassVolumeDisplay.from_estimator(split_model, masses=[0.9]).ax_.get_ylabel() == "volume"
    # With rows the points are drawn in their units: the product of the scales is in the volume.
    of_rows = MassVolumeDisplay.from_estimator(suburbs_model, suburbs, masses=[0.9, 0.95], random_state=0)
    assert of_rows.ax_.get_ylabel() == "volume"
    assert_allclose(of_rows.volumes / np.prod(suburbs_model[0].scale_), display.volumes, rtol=0.15)


def test_volumes_of_many_columns_want_a_logarithmic_axis():
    display = MassVolumeDisplay([0.8, 0.9, 0.99], [1e12, 1e13, 1e14], lower=[0, 0, 0], upper=[1e15] * 3).plot()
    assert display.ax_.get_yscale() == "log"
    assert MassVolumeDisplay([0.8, 0.9], [1.0, 2.0]).plot().ax_.get_yscale() == "linear"


def test_what_has_no_nested_sets_needs_rows(moons):
    with pytest.raises(TypeError, match="A MinimumVolumeSet is needed"):
        MassVolumeDisplay.from_estimator(IsolationForest(n_estimators=5).fit(moons))
    with pytest.raises(ValueError, match="confidence must be"):
        MassVolumeDisplay.from_estimator(IsolationForest(n_estimators=5).fit(moons), moons, confidence=95)


def test_no_name_no_legend():
    assert MassVolumeDisplay([0.8, 0.9], [1.0, 2.0]).plot().ax_.get_legend() is None


def test_bounds_that_are_none_do_not_blow_up_the_picture():
    bounds = {"lower": [0.0, 1e-270, 50.0], "upper": [4.0, np.inf, np.inf]}
    display = MassVolumeDisplay([0.8, 0.9, 0.95], [2.0, 3.0, 100.0], **bounds).plot()
    low, high = display.ax_.get_ylim()
    assert 0.1 < low < 2.0 < 100.0 < high < 1000.0
    display.figure_.canvas.draw()


def test_a_model_with_categories_has_both_curves(machines, machines_model):
    own = MassVolumeDisplay.from_estimator(machines_model, masses=[0.8, 0.9])
    assert_array_equal(own.volumes, [machines_model.volume(mass).value for mass in own.masses])
    of_rows = MassVolumeDisplay.from_estimator(machines_model, machines, masses=[0.8, 0.9], random_state=0)
    curve = mass_volume_curve(machines_model, machines, masses=[0.8, 0.9], random_state=0)
    assert_array_equal(of_rows.volumes, curve.volumes)
    assert of_rows.ax_.get_ylabel() == "volume"
