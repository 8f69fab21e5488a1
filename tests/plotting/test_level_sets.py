import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline

from mvset import CalibratedSet, MinimumVolumeSet
from mvset.paper import PluginKernelDensity
from mvset.paper.datasets import paper_mixture
from mvset.plotting import LevelSetDisplay, numbers
from mvset.plotting.numbers import Slice


@pytest.fixture(autouse=True)
def _coarse(request, monkeypatch):
    if "border_is_where" not in request.node.name:
        monkeypatch.setattr(numbers, "RESOLUTION", 110)


def legend_of(display):
    return [text.get_text() for text in display.axes_[-1].get_legend().get_texts()]


def test_numbers_are_those_of_the_model(moons, split_model):
    display = LevelSetDisplay.from_estimator(split_model, moons)
    (plane,) = display.slices
    grid = np.stack(np.meshgrid(plane.x, plane.y), axis=-1).reshape(-1, 2)
    assert_array_equal(plane.scores.ravel(), split_model.score_samples(grid))
    assert_array_equal(display.masses, [0.7, 0.8, 0.9, 0.95, 0.99])
    assert_array_equal(display.offsets, [split_model.offset(mass) for mass in display.masses])
    assert_array_equal(display.inside, split_model.predict(moons) == 1)
    assert (display.mass, display.offset) == (0.95, split_model.offset_)


def test_rows_and_borders_are_drawn(moons, conformal_model):
    display = LevelSetDisplay.from_estimator(conformal_model, moons)
    outside = conformal_model.predict(moons) == -1
    assert_array_equal(display.outside_[0].get_offsets(), moons[outside])
    assert_array_equal(display.inside_[0].get_offsets(), moons[~outside])
    assert_array_equal(display.borders_[0].levels, [conformal_model.offset_])
    larger, smaller = display.band_borders_[0].levels
    assert larger < conformal_model.offset_ < smaller
    assert legend_of(display) == [
        *("70 %", "80 %", "90 %", "95 %", "99 %"),
        "border of 95 %",
        "border, 95 % band",
        f"{outside.sum()} of 400 rows outside",
    ]
    assert display.ax_.get_title(loc="left") == ""


def test_the_border_is_where_the_decision_changes(moons, split_model):
    display = LevelSetDisplay.from_estimator(split_model, moons)
    border = display.borders_[0].get_paths()[0].vertices
    assert_allclose(split_model.decision_function(border), 0.0, atol=0.02)


def test_masses_that_cannot_be_guaranteed_are_omitted_by_default_only(moons):
    few = MinimumVolumeSet(mass=0.8, nu=0.5, sigma=1.0, calibration="conformal", random_state=0)
    few.fit(moons[:40])
    display = LevelSetDisplay.from_estimator(few, moons)
    assert_array_equal(display.masses, [0.7, 0.8, 0.9, 0.95])
    with pytest.raises(ValueError, match=r"cannot guarantee mass=0\.99"):
        LevelSetDisplay.from_estimator(few, moons, masses=[0.8, 0.99])


def test_a_pipeline_is_drawn_in_the_units_and_names_of_its_table(suburbs, suburbs_model):
    display = LevelSetDisplay.from_estimator(suburbs_model, suburbs, masses=[0.9])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("RM", "LSTAT")
    (plane,) = display.slices
    assert plane.x[0] < suburbs["RM"].min() < suburbs["RM"].max() < plane.x[-1]
    rows = np.stack(np.meshgrid(plane.x, plane.y), axis=-1).reshape(-1, 2)
    expected = suburbs_model.score_samples(type(suburbs)(rows, columns=suburbs.columns))
    assert_array_equal(plane.scores.ravel(), expected)


def test_more_columns_are_drawn_as_slices(table, table_model):
    display = LevelSetDisplay.from_estimator(table_model, table)
    names = [(ax.get_xlabel(), ax.get_ylabel()) for ax in display.axes_]
    assert names == [("load", "speed"), ("load", "pressure"), ("speed", "pressure")]
    assert {ax.get_title(loc="left") for ax in display.axes_} == {"Slice: other columns at their medians"}
    plane = display.slices[2]
    at = [[table["load"].median(), plane.x[3], plane.y[5]]]
    assert plane.scores[5, 3] == table_model.score_samples(type(table)(at, columns=table.columns))[0]
    assert [ax.get_legend() is None for ax in display.axes_] == [True, True, False]


def test_features_by_name_or_index_on_axes_given(table, table_model):
    axes = Figure().subplots(1, 2)
    display = LevelSetDisplay.from_estimator(
        table_model, table, features=[("pressure", "load"), (1, 2)], at=table.iloc[0], ax=axes
    )
    assert display.axes_ == axes.tolist()
    assert [plane.names for plane in display.slices] == [("pressure", "load"), ("speed", "pressure")]
    assert axes[0].get_title(loc="left") == "Slice: other columns as given"
    with pytest.raises(ValueError, match="There is no column 'torque': the 3 columns are load, speed, pressure"):
        LevelSetDisplay.from_estimator(table_model, table, features=[("load", "torque")])


def test_between_clusters_the_slice_goes_through_a_row():
    X = paper_mixture(8).sample(300, random_state=0)
    model = MinimumVolumeSet(sigma=2.5, splits=3, random_state=0).fit(X)
    display = LevelSetDisplay.from_estimator(model, X, features=[(0, 1)])
    assert display.caption == "Slice: other columns as in the top-scoring row"
    assert display.slices[0].scores.max() > model.offset_


def test_a_set_that_the_plane_misses_has_no_border_there(table, table_model):
    far = [0.0, 0.0, 1e5]
    display = LevelSetDisplay.from_estimator(table_model, table, features=[(0, 1)], at=far)
    assert display.borders_ == [None]
    assert display.band_borders_ == [None]


def test_tables_of_other_kinds_and_with_gaps(moons):
    frame = pl.DataFrame(moons, schema=["a", "b"])
    model = MinimumVolumeSet(sigma=0.3, splits=3, random_state=0)
    assert LevelSetDisplay.from_estimator(model.fit(frame), frame).slices[0].names == ("a", "b")
    arrow = pa.table({"a": moons[:, 0], "b": moons[:, 1]})
    assert LevelSetDisplay.from_estimator(model.fit(arrow), arrow).slices[0].names == ("a", "b")
    gaps = moons.copy()
    gaps[::20, 0] = np.nan
    display = LevelSetDisplay.from_estimator(make_pipeline(SimpleImputer(), model).fit(gaps), gaps)
    assert np.isfinite(display.slices[0].scores).all()


def test_models_without_band(moons):
    display = LevelSetDisplay.from_estimator(PluginKernelDensity(mass=0.9, sigma=0.2, random_state=0).fit(moons), moons)
    assert display.band_borders_ == [None]
    assert "border, 95 % band" not in legend_of(display)


def test_borders_at_negative_offsets_are_solid(moons):
    densities = CalibratedSet(KernelDensity(bandwidth=0.2), mass=0.9, random_state=0).fit(moons)
    assert densities.offset_ < 0
    assert LevelSetDisplay.from_estimator(densities, moons).borders_[0].linestyles == "solid"


def test_sets_that_tie():
    plane = Slice(("a", "b"), np.arange(3.0), np.arange(5.0, 8.0), np.arange(9.0).reshape(3, 3), np.array([[1.0, 6.0]]))
    display = LevelSetDisplay(
        slices=[plane], masses=np.array([0.5, 0.8, 0.9]), offsets=np.array([4.0, 4.0, 2.0])
    ).plot()
    assert legend_of(display) == ["50 %", "80 %", "90 %"]
    assert display.borders_ == [None]
    assert_array_equal(display.inside_[0].get_offsets(), [[1, 6]])
    assert display.ax_.get_ylabel() == "b"


def test_categories_are_fixed_where_they_are_most_frequent(machines, machines_model):
    display = LevelSetDisplay.from_estimator(machines_model, machines)
    assert [plane.names for plane in display.slices] == [("temperature", "pressure")]
    assert display.ax_.get_title(loc="left") == "Slice: machine pump"
    plane = display.slices[0]
    at = machines.head(1).assign(temperature=plane.x[30], machine="pump", pressure=plane.y[70])
    assert plane.scores[70, 30] == machines_model.score_samples(at)[0]
    assert_array_equal(display.inside, machines_model.predict(machines) == 1)


def test_categories_are_fixed_where_asked(machines, machines_model):
    press = machines[machines["machine"] == "press"].iloc[0]
    display = LevelSetDisplay.from_estimator(machines_model, machines, at=press)
    assert display.caption == "Slice: machine press"
    row = machines.head(1).assign(
        temperature=display.slices[0].x[100], machine="press", pressure=display.slices[0].y[9]
    )
    assert display.slices[0].scores[9, 100] == machines_model.score_samples(row)[0]
    with pytest.raises(ValueError, match="at: column 'machine' had no value 'lathe' in the fit"):
        LevelSetDisplay.from_estimator(machines_model, machines, at=[0.0, "lathe", 0.0])
    with pytest.raises(ValueError, match="Column 'machine' has categories: sets are drawn over columns of numbers"):
        LevelSetDisplay.from_estimator(machines_model, machines, features=[("temperature", "machine")])
