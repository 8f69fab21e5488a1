import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose, assert_array_equal

from mvset.paper import PluginKernelDensity
from mvset.paper.datasets import two_moons
from mvset.plotting import LevelHistogramDisplay, palette


@pytest.fixture(scope="module")
def fresh():
    return two_moons(300, random_state=1)


def test_numbers_are_those_of_the_model(conformal_model, fresh):
    display = LevelHistogramDisplay.from_estimator(conformal_model, fresh, confidence=0.9)
    assert_array_equal(display.levels, conformal_model.level(fresh))
    assert display.mass == 0.95
    assert_array_equal(display.band.lower, conformal_model.mass_band(confidence=0.9).lower)
    assert display.n_calibration == 200


def test_bars_beyond_the_mass_are_highlighted(conformal_model, fresh):
    display = LevelHistogramDisplay.from_estimator(conformal_model, fresh)
    edges = np.array([bar.get_x() for bar in display.bars_])
    assert_allclose(edges, np.arange(20) / 20)
    colours = [to_hex(bar.get_facecolor()) for bar in display.bars_]
    assert colours == [palette.OURS_LIGHT] * 19 + [palette.HIGHLIGHT]
    outside = np.mean(conformal_model.predict(fresh) == -1)
    last = display.bars_[-1]
    assert_allclose(last.get_height() * last.get_width(), outside)
    assert display.ax_.get_title(loc="left") == f"300 rows: {100 * outside:.1f} % outside where 5 % are expected"
    assert_array_equal(display.line_.get_ydata(), [1.0, 1.0])
    assert display.chance_ is not None


def test_cumulative(conformal_model, fresh):
    display = LevelHistogramDisplay.from_estimator(conformal_model, fresh, kind="cumulative")
    x, y = display.steps_.get_data()
    assert_allclose(y[x <= 0.95].max(), np.mean(conformal_model.predict(fresh) == 1))
    assert_array_equal(display.line_.get_xydata(), [[0.0, 0.0], [1.0, 1.0]])
    corners = display.band_.get_paths()[0].vertices
    assert corners[:, 1].max() == display.band.upper.max()
    assert display.bars_ is None
    again = display.plot(kind="histogram")
    assert again.steps_ is None
    assert again.band_ is None


def test_a_pipeline_sees_the_table_as_it_is(suburbs, suburbs_model):
    display = LevelHistogramDisplay.from_estimator(suburbs_model, suburbs)
    assert_array_equal(display.levels, suburbs_model[-1].level(suburbs_model[:-1].transform(suburbs)))


def test_models_without_band(moons, fresh):
    plugin = PluginKernelDensity(sigma=0.2, random_state=0).fit(moons)
    display = LevelHistogramDisplay.from_estimator(plugin, fresh, kind="cumulative")
    assert display.band_ is None
    assert display.n_calibration is None


def test_levels_alone():
    display = LevelHistogramDisplay([0.1, 0.6, 0.9, 1.0], bins=4).plot()
    assert display.ax_.get_title(loc="left") == "4 rows"
    assert {to_hex(bar.get_facecolor()) for bar in display.bars_} == {palette.OURS_LIGHT}
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["95 % range by chance", "uniform"]


def test_unknown_kind():
    with pytest.raises(ValueError, match='kind must be "histogram" or "cumulative"; got \'pie\''):
        LevelHistogramDisplay([0.5]).plot(kind="pie")


def test_the_bars_outside_hold_the_rows_outside(split_model):
    rows = two_moons(1000, random_state=1)
    display = LevelHistogramDisplay.from_estimator(split_model, rows)
    outside = sum(bar.get_height() * bar.get_width() for bar in display.bars_ if bar.get_x() > 0.95 - 1e-9)
    assert outside == pytest.approx(np.mean(split_model.predict(rows) == -1))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("kind", ["frame", "array"])
def test_rows_with_categories(kind, machines, machines_model):
    rows = machines if kind == "frame" else machines.to_numpy()
    display = LevelHistogramDisplay.from_estimator(machines_model, rows)
    assert_array_equal(display.levels, machines_model.level(machines))
