"""MinimumVolumeSet on rows with missing values."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest

import mvset
from mvset import MinimumVolumeSet
from mvset.rows.imputation import Imputation


def correlated(n, seed):
    """Five columns that follow one another."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 1)) @ [[1.0, 0.9, 0.8, 0.7, 0.6]] + 0.4 * rng.normal(size=(n, 5))


def with_gaps(X, seed, share=0.08):
    X = X.copy()
    X[np.random.default_rng(seed).uniform(size=X.shape) < share] = np.nan
    return X


@pytest.fixture(scope="module")
def model():
    return MinimumVolumeSet(missing="impute", random_state=0).fit(with_gaps(correlated(600, 0), 1))


@pytest.mark.slow
def test_mass_on_rows_with_gaps(model):
    rows = with_gaps(correlated(20_000, 2), 3)
    inside, gaps = model.predict(rows) == 1, np.isnan(rows).any(axis=1)
    assert gaps.mean() > 0.3
    assert inside.mean() == pytest.approx(0.95, abs=0.03)
    assert inside[gaps].mean() == pytest.approx(0.95, abs=0.045)


def test_what_is_known_is_judged(model):
    """A gap hides no other value."""
    row = np.zeros((2, 5))
    row[:, 2] = np.nan
    row[1, 0] = 5.0  # the other columns say zero
    np.testing.assert_array_equal(model.predict(row), [1, -1])
    assert np.abs(model.explain(row)[1]).argmax() == 0


def test_imputed_values_follow_the_other_columns():
    X = correlated(1000, 4)
    imputation = Imputation.fitted(X, MinimumVolumeSet(random_state=0).fit(X)._encoding.categories, np.random)
    rows = np.array([[2.0, 1.8, np.nan, 1.4, 1.2], [-2.0, -1.8, np.nan, -1.4, -1.2]])
    filled = imputation.completed(rows)
    np.testing.assert_array_equal(filled[:, [0, 1, 3, 4]], rows[:, [0, 1, 3, 4]])
    np.testing.assert_allclose(filled[:, 2], [1.6, -1.6], atol=0.5)


def test_rows_do_not_depend_on_each_other(model):
    rows = with_gaps(correlated(200, 5), 6, share=0.3)
    one_by_one = np.concatenate([model.score_samples(row[np.newaxis]) for row in rows])
    np.testing.assert_allclose(model.score_samples(rows), one_by_one, rtol=1e-12)


def switched_off(n, seed):
    """The second sensor has no value while the machine stands still, and only then."""
    rng = np.random.default_rng(seed)
    runs = rng.uniform(size=n) < 0.6
    speed = np.where(runs, 10.0, 0.0) + rng.normal(size=n)
    return pd.DataFrame({"speed": speed, "pressure": np.where(runs, 3.0 + 0.1 * rng.normal(size=n), np.nan)})


def test_informative_gaps_have_an_indicator():
    """A gap while the machine runs is an anomaly, and so is a value while it stands still."""
    model = MinimumVolumeSet(missing="impute", random_state=0).fit(switched_off(500, 0))
    np.testing.assert_array_equal(model._encoding.imputation.indicators, [1])
    rows = pd.DataFrame({"speed": [10.0, 0.0, 10.0, 0.0], "pressure": [3.0, np.nan, np.nan, 3.0]})
    np.testing.assert_array_equal(model.predict(rows), [1, 1, -1, -1])
    assert model.explain(rows).shape == (4, 2)
    assert model.column_scales_.shape == (2,)


def test_random_gaps_have_none(model):
    assert not len(model._encoding.imputation.indicators)


def test_categories_with_gaps():
    """Missing is a value like others, if the rows of the fit have it."""
    rng = np.random.default_rng(0)
    kind = rng.choice(np.array(["a", "b", None], dtype=object), 400)
    level = pd.Series(kind).map({"a": 0.0, "b": 5.0}).fillna(10.0).to_numpy()
    rows = pd.DataFrame({"x": level + rng.normal(size=400), "kind": kind})
    model = MinimumVolumeSet(missing="impute", random_state=0).fit(rows)
    assert model.categories_ == {"kind": ["(missing)", "a", "b"]}
    new = pd.DataFrame({"x": [10.0, 0.0, 0.0], "kind": [None, None, "a"]})
    np.testing.assert_array_equal(model.predict(new), [1, -1, 1])
    # A gap where there was none before is filled: with the kind that such numbers have.
    complete = rows[rows["kind"].notna()]
    model = MinimumVolumeSet(missing="impute", random_state=0).fit(complete)
    np.testing.assert_array_equal(model.predict(new), [-1, 1, 1])


def test_copies_and_files(model, tmp_path):
    rows = with_gaps(correlated(50, 7), 8)
    mvset.save(model, tmp_path / "model.mvset")
    np.testing.assert_array_equal(mvset.load(tmp_path / "model.mvset").score_samples(rows), model.score_samples(rows))


def test_streams_give_the_same_model(tmp_path):
    rows = with_gaps(correlated(5000, 9), 10)
    table = pa.table({f"x{j}": pa.array(column, mask=np.isnan(column)) for j, column in enumerate(rows.T)})
    frame = table.to_pandas()
    in_memory = MinimumVolumeSet(missing="impute", splits=3, random_state=0).fit(frame)
    streamed = MinimumVolumeSet(missing="impute", splits=3, random_state=0).fit(pa.dataset.dataset(table))
    np.testing.assert_array_equal(in_memory.score_samples(frame), streamed.score_samples(frame))


@pytest.mark.slow
def test_a_large_stream():
    rows = with_gaps(correlated(25_000, 11), 12)
    table = pa.table({f"x{j}": pa.array(column, mask=np.isnan(column)) for j, column in enumerate(rows.T)})
    model = MinimumVolumeSet(missing="impute", random_state=0).fit(pa.dataset.dataset(table))
    new = pd.DataFrame(with_gaps(correlated(20_000, 13), 14), columns=table.column_names)
    assert np.mean(model.predict(new) == 1) == pytest.approx(0.95, abs=0.01)


def test_what_is_refused():
    X = correlated(100, 15)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity in column 1"):
        MinimumVolumeSet().fit(X)
    X[4, 2] = np.inf
    with pytest.raises(ValueError, match="contains infinity in column 2"):
        MinimumVolumeSet(missing="impute").fit(X)
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match="X has no values in column 2: there is nothing to impute from"):
        MinimumVolumeSet(missing="impute").fit(X)
    model = MinimumVolumeSet(random_state=0).fit(X[4:, :2])
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.predict([[np.nan, 0.0]])


def test_a_row_without_any_value_is_refused(model):
    row = np.full((3, 5), np.nan)
    row[[0, 2], 1] = 0.0
    with pytest.raises(ValueError, match=r"no value at all in 1 row, the first of them row 1: there"):
        model.predict(row)
    assert model.predict(row[[0, 2]]).shape == (2,)


def test_a_category_that_is_missing_is_no_value():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"x": rng.normal(size=200), "kind": np.where(rng.uniform(size=200) < 0.3, None, "a")})
    model = MinimumVolumeSet(missing="impute", sigma=1.0, splits=2, random_state=0).fit(rows)
    assert model.categories_ == {"kind": ["(missing)", "a"]}
    with pytest.raises(ValueError, match=r"no value at all in 1 row"):
        model.predict(pd.DataFrame({"x": [np.nan], "kind": [None]}))
