import pickle

import numpy as np
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mvset import BatchScorer, MinimumVolumeSet
from mvset.paper import PluginKernelDensity
from mvset.paper.datasets import two_moons

RESULTS = ["inside", "score", "level", "p_value"]


def rows(n=300, seed=1):
    X = 1.3 * two_moons(n, random_state=seed)
    return pa.table({"y": X[:, 1], "id": [f"r{i}" for i in range(n)], "x": X[:, 0].astype(np.float32)})


@pytest.fixture(scope="module")
def model():
    X = two_moons(400, random_state=0)
    return MinimumVolumeSet(sigma=0.3, random_state=0).fit(pa.table({"x": X[:, 0], "y": X[:, 1]}))


@pytest.fixture(scope="module")
def judge(model):
    return BatchScorer(model)


def test_the_answers_are_those_of_the_model(model, judge):
    table = rows()
    judged = judge(table)
    features = table.select(["x", "y"]).to_pandas().astype(float)
    assert judged.select(table.column_names).equals(table)
    assert 0.02 < np.mean(model.predict(features) == -1) < 0.9
    np.testing.assert_array_equal(judged["inside"], model.predict(features) == 1)
    np.testing.assert_allclose(judged["score"], model.score_samples(features), rtol=1e-12)
    np.testing.assert_allclose(judged["level"], model.level(features), rtol=1e-12)
    np.testing.assert_allclose(judged["p_value"], model.p_value(features), rtol=1e-12)


def test_another_mass_decides_which_rows_are_inside(model):
    features = rows().select(["x", "y"]).to_pandas().astype(float)
    inside = BatchScorer(model, mass=0.5)(rows())["inside"]
    np.testing.assert_array_equal(inside, model.predict(features, 0.5) == 1)
    with pytest.raises(ValueError, match="mass"):
        BatchScorer(model, mass=1.5)


def test_every_kind_of_batch_has_the_same_answers(judge):
    polars = pytest.importorskip("polars")
    table, expected = rows(), judge(rows())
    batches = table.to_batches(max_chunksize=7)
    assert pa.Table.from_batches([judge(batch) for batch in batches]).equals(expected)
    assert pa.Table.from_batches(judge(iter(batches))).equals(expected)
    assert judge(pa.Table.from_batches(batches)).combine_chunks().equals(expected)
    reader = judge(pa.RecordBatchReader.from_batches(table.schema, batches))
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.read_all().combine_chunks().equals(expected)
    frame = table.to_pandas()
    frame.index = np.arange(100, 400)
    of_pandas = judge(frame)
    assert list(of_pandas.index) == list(frame.index)
    np.testing.assert_array_equal(of_pandas["score"], expected["score"])
    of_polars = judge(polars.from_arrow(table))
    assert isinstance(of_polars, polars.DataFrame)
    np.testing.assert_array_equal(of_polars["score"].to_numpy(), expected["score"])
    lazy = polars.from_arrow(table).lazy().map_batches(judge, validate_output_schema=False).collect()
    np.testing.assert_array_equal(lazy["level"].to_numpy(), expected["level"])


def test_it_travels_as_a_pickle(judge):
    assert pickle.loads(pickle.dumps(judge))(rows()).equals(judge(rows()))


def test_a_row_with_a_gap_has_no_answer_and_the_others_have_theirs(judge):
    table = rows(6)
    x, y = table["x"].to_pylist(), table["y"].to_pylist()
    x[1], y[2], y[4] = None, float("nan"), float("inf")
    gappy = judge(table.set_column(2, "x", pa.array(x, pa.float32())).set_column(0, "y", pa.array(y)))
    for name in RESULTS:
        assert gappy[name].is_null().to_pylist() == [False, True, True, False, True, False]
    complete = [0, 3, 5]
    assert gappy.select(RESULTS).take(complete).equals(judge(table).select(RESULTS).take(complete))
    assert judge(table.slice(0, 0)).num_rows == 0
    assert judge(gappy.select(["x", "y"]).slice(1, 2))["score"].null_count == 2


def test_columns_that_do_not_fit_are_named(judge):
    with pytest.raises(ValueError, match="no column 'x'"):
        judge(rows().drop_columns(["x"]))
    with pytest.raises(ValueError, match="column 'score' already"):
        judge(rows().append_column("score", pa.array(range(300))))
    with pytest.raises(TypeError, match="got list"):
        judge([[0.0, 0.0]])


def test_a_pipeline_judges_the_columns_of_the_table():
    X = two_moons(400, random_state=0)
    table = pa.table({"x": 1000 * X[:, 0], "y": X[:, 1]})
    pipeline = make_pipeline(StandardScaler(), MinimumVolumeSet(sigma=0.3, random_state=0)).fit(table.to_pandas())
    judged = BatchScorer(pipeline)(table)
    np.testing.assert_allclose(judged["score"], pipeline.score_samples(table.to_pandas()), rtol=1e-12)


def test_groups_have_their_own_offsets():
    X = two_moons(400, random_state=0)
    site = np.where(np.arange(400) % 2, "a", "b")
    X[site == "b"] *= 1.5
    model = MinimumVolumeSet(sigma=0.4, random_state=0).fit(X, strata=site)
    table = pa.table({"x0": X[:, 0], "x1": X[:, 1], "site": site})
    with pytest.raises(ValueError, match="name their column with strata"):
        BatchScorer(model)
    judged = BatchScorer(model, strata="site")(table)
    np.testing.assert_array_equal(judged["inside"], model.predict(X, strata=site) == 1)
    np.testing.assert_allclose(judged["p_value"], model.p_value(X, strata=site))
    with pytest.raises(ValueError, match="no column 'site'"):
        BatchScorer(model, strata="site")(table.drop_columns(["site"]))


@pytest.mark.parametrize("kind", ["int64", "float64", "float32", "str"])
def test_groups_that_are_numbers_are_known_whatever_their_type(kind):
    X = two_moons(400, random_state=0)
    line = np.random.default_rng(0).integers(1, 3, size=400)
    X[line == 2] *= 1.5
    model = MinimumVolumeSet(sigma=0.4, random_state=0).fit(X, strata=line)
    table = pa.table({"x0": X[:, 0], "x1": X[:, 1], "line": line.astype(kind)})
    scored = BatchScorer(model, strata="line")(table)  # and no warning about groups that were not seen
    np.testing.assert_array_equal(scored["level"], model.level(X, strata=line))
    assert np.abs(scored["level"].to_numpy() - model.level(X)).max() > 0.05


def test_a_model_that_imputes_answers_rows_with_gaps():
    X = two_moons(300, random_state=0)
    X[::9, 1] = np.nan
    model = MinimumVolumeSet(sigma=0.4, missing="impute", random_state=0).fit(X)
    new = np.array([[0.0, np.nan], [0.0, 1.0], [np.nan, np.nan], [np.inf, 1.0]])
    scored = BatchScorer(model)(pa.table({"x0": new[:, 0], "x1": pa.array(new[:, 1], from_pandas=True)}))
    for name in RESULTS:
        assert scored[name].is_null().to_pylist() == [False, False, True, True]
    np.testing.assert_array_equal(scored["score"][:2], model.score_samples(new[:2]))


def test_numbers_of_any_type_and_no_text(judge):
    X = rows(4)
    expected = judge(X.set_column(2, "x", pa.array([1.0, 0.0, None, 1.0])))
    for kind in (pa.bool_(), pa.int8(), pa.decimal128(5, 2)):
        numbers = pa.array([1, 0, None, 1], pa.int8()).cast(kind)
        assert judge(X.set_column(2, "x", numbers)).select(RESULTS).equals(expected.select(RESULTS))
    with pytest.raises(ValueError, match=r"Column 'x' of the rows is not numeric, but text"):
        judge(X.set_column(2, "x", pa.array(["1", "0", "1", "1"])))


def test_without_calibration_rows_there_are_no_p_values():
    X = two_moons(200, random_state=0)
    judged = BatchScorer(PluginKernelDensity(random_state=0).fit(X))(pa.table({"x0": X[:, 0], "x1": X[:, 1]}))
    assert judged["p_value"].null_count == 200
    assert judged["level"].null_count == 0
