"""MinimumVolumeSet with category columns."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import mvset
from mvset import MinimumVolumeSet
from mvset.estimators.fitted_model import FittedModel

COLOURS = np.array(["red", "green", "blue"])
CENTRES, SCALES, SHARES = np.array([[0.0, 0.0], [4.0, 1.0], [-3.0, 3.0]]), np.array([1.0, 0.5, 0.8]), [0.6, 0.3, 0.1]


def table(n=400, seed=0):
    """Three colours, each with a cluster of its own."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(3, n, p=SHARES)
    numbers = CENTRES[colour] + SCALES[colour][:, np.newaxis] * rng.normal(size=(n, 2))
    return pd.DataFrame({"a": numbers[:, 0], "colour": COLOURS[colour], "b": numbers[:, 1]})


@pytest.fixture(scope="module")
def model():
    return MinimumVolumeSet(random_state=0).fit(table())


def density(rows):
    colour = np.array([list(COLOURS).index(each) for each in rows["colour"]])
    deviations = (rows[["a", "b"]].to_numpy() - CENTRES[colour]) / SCALES[colour][:, np.newaxis]
    heights = np.array(SHARES)[colour] / (2 * np.pi * SCALES[colour] ** 2)
    return heights * np.exp(-0.5 * (deviations**2).sum(axis=1))


def test_mass_and_volume(model):
    """The smallest set of mass 0.95 is a disc in each colour, up to the density that five percent of rows do not reach.

    Its volume is the sum of the areas.
    """
    assert np.mean(model.predict(table(20_000, seed=1)) == 1) == pytest.approx(0.95, abs=0.03)
    threshold = np.quantile(density(table(100_000, seed=2)), 0.05)
    heights = np.array(SHARES) / (2 * np.pi * SCALES**2)
    area = np.sum(np.pi * SCALES**2 * np.maximum(0.0, 2 * np.log(heights / threshold)))
    assert model.volume_.value == pytest.approx(area, rel=0.25)


def test_rows_whose_category_and_numbers_do_not_belong_together(model):
    rows = table(2000, seed=3)
    others = rows.assign(colour=np.roll(rows["colour"], 1))
    wrong = (others["colour"] != rows["colour"]).to_numpy()
    assert np.mean(model.predict(others)[wrong] == -1) > 0.98


def test_unseen_values_are_outside_and_named_by_the_explanation(model):
    rows = pd.DataFrame({"a": [0.0, 0.0], "colour": ["red", "mauve"], "b": [0.0, 0.0]})
    np.testing.assert_array_equal(model.predict(rows), [1, -1])
    np.testing.assert_array_equal(model.level(rows) == 1.0, [False, True])
    contributions = model.explain(rows)
    assert contributions.shape == (2, 3)
    assert np.abs(contributions[1]).argmax() == 1
    assert np.abs(contributions[0]).max() < 3


def test_kinds_of_tables(model):
    """The same answers whatever the table is."""
    rows = table(50, seed=4)
    scores = model.score_samples(rows)
    for other in (
        pl.from_pandas(rows),
        pa.Table.from_pandas(rows),
        rows.astype({"colour": "category"}),
        rows.astype({"colour": object}),
    ):
        np.testing.assert_array_equal(model.score_samples(other), scores)
        again = MinimumVolumeSet(random_state=0).fit(
            pl.from_pandas(table())
            if isinstance(other, pl.DataFrame)
            else pa.Table.from_pandas(table(), preserve_index=False)
            if isinstance(other, pa.Table)
            else table().astype({"colour": other["colour"].dtype})
        )
        np.testing.assert_array_equal(again.score_samples(rows), scores)
        assert again.categories_ == {"colour": ["blue", "green", "red"]}


def test_columns_by_index_or_name(model):
    """Numbers that stand for categories: their size does not matter."""
    rows = table()
    by_name = MinimumVolumeSet(categorical_features=["colour"], random_state=0).fit(rows)
    np.testing.assert_array_equal(by_name.score_samples(rows), model.score_samples(rows))
    codes = rows["colour"].map({"blue": 7, "green": -100, "red": 12})
    numbers = np.column_stack([rows["a"], codes, rows["b"]])
    by_index = MinimumVolumeSet(categorical_features=[1], random_state=0).fit(numbers)
    assert by_index.categories_ == {1: ["-100", "7", "12"]}
    # The order of the codes is another, and with it rounding.
    np.testing.assert_allclose(by_index.score_samples(numbers), model.score_samples(rows), rtol=0.2)
    assert by_index.predict([[0.0, 13.0, 0.0]])[0] == -1
    objects = np.column_stack([rows["a"], rows["colour"], rows["b"]]).astype(object)
    as_objects = MinimumVolumeSet(categorical_features=[1], random_state=0).fit(objects)
    np.testing.assert_array_equal(as_objects.score_samples(objects), model.score_samples(rows))


@pytest.mark.parametrize("named", [["color"], [3], [-1], [True]])
def test_columns_that_do_not_exist(named):
    with pytest.raises(ValueError, match="categorical_features: there is no column"):
        MinimumVolumeSet(categorical_features=named).fit(table())


def test_text_is_refused_if_no_column_is_a_category():
    with pytest.raises(ValueError, match="'colour' of X is not numeric"):
        MinimumVolumeSet(categorical_features=None).fit(table())


def test_missing_values_are_named(model):
    rows = table(10)
    rows.loc[3, "colour"] = None
    with pytest.raises(ValueError, match=r"NaN or infinity in column 'colour' \(1 of 10 rows\)"):
        model.predict(rows)
    with pytest.raises(ValueError, match="column 'colour'"):
        MinimumVolumeSet().fit(pd.concat([table(), rows]))


def test_copies_and_files(model, tmp_path):
    rows = table(50, seed=5)
    scores = model.score_samples(rows)
    mvset.save(model, tmp_path / "model.mvset")
    for again in (pickle.loads(pickle.dumps(model)), mvset.load(tmp_path / "model.mvset")):
        np.testing.assert_array_equal(again.score_samples(rows), scores)
        assert again.categories_ == model.categories_


def test_parts_take_codes(model):
    """Readers of files give codes in place of text."""
    rows = table(50, seed=6)
    codes = rows["colour"].map({"blue": 0.0, "green": 1.0, "red": 2.0})
    parts = FittedModel.of(model)
    scores = parts.estimator.score_samples(np.column_stack([rows["a"], codes, rows["b"]]))
    np.testing.assert_array_equal(scores, model.score_samples(rows))
    np.testing.assert_array_equal(parts.scores(rows), scores)


def test_judge(model):
    rows = table(50, seed=7)
    rows.loc[3, "colour"] = None
    rows.loc[4, "colour"] = "mauve"
    judged = mvset.BatchScorer(model)(pa.Table.from_pandas(rows)).to_pandas()
    assert judged["inside"].isna().to_list() == [i == 3 for i in range(50)]
    assert not judged["inside"][4]
    complete = rows.drop(index=3)
    np.testing.assert_array_equal(judged["score"].drop(index=3), model.score_samples(complete))


def test_onnx_says_that_it_cannot(model):
    with pytest.raises(TypeError, match="Columns with categories: 'colour'"):
        mvset.to_onnx(model)


def test_a_constant_category():
    rows = table().assign(site="north")
    with pytest.warns(mvset.exceptions.ConstantColumnWarning, match="column 'site'"):
        model = MinimumVolumeSet(random_state=0).fit(rows)
    assert np.mean(model.predict(table(500, seed=7).assign(site="north")) == 1) > 0.9
    assert (model.predict(rows.assign(site="south")) == -1).all()


@pytest.mark.parametrize("scaling", ["whiten", None])
def test_metrics(scaling):
    model = MinimumVolumeSet(scaling=scaling, random_state=0).fit(table())
    assert np.mean(model.predict(table(5000, seed=8)) == 1) == pytest.approx(0.95, abs=0.04)
    assert model.column_scales_.shape == (3,)


@pytest.mark.filterwarnings("ignore::mvset.exceptions.VolumeWarning")
def test_many_columns():
    """A bound decides where volumes cannot be measured; categories are columns like others."""
    rng = np.random.default_rng(0)
    numbers = rng.standard_t(3, size=(300, 40))
    rows = pd.DataFrame(numbers).add_prefix("x").assign(kind=COLOURS[rng.integers(3, size=300)])
    model = MinimumVolumeSet(n_volume_points=20, random_state=0).fit(rows)
    assert model.selection_.criterion == "bound"
    assert np.isfinite(model.explain(rows)).all()


def test_large_tables_and_reserved_rows():
    for options in ({"calibration": "conformal"}, {"max_train_samples": 200, "splits": 3}):
        model = MinimumVolumeSet(random_state=0, **options).fit(table(3000))
        assert np.mean(model.predict(table(5000, seed=9)) == 1) == pytest.approx(0.95, abs=0.03)
