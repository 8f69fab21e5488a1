"""The same hostile rows through every way to score rows: all give the same answers."""

import shutil

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import mvset as library
from mvset import BatchScorer, MinimumVolumeSet, to_onnx
from mvset.app.summaries.scan import written_levels
from mvset.exceptions import ExtraColumnWarning
from mvset.rows.labels import label_text

pytestmark = [
    pytest.mark.filterwarnings("ignore::mvset.exceptions.UnseenStratumWarning"),
    pytest.mark.filterwarnings("ignore::mvset.exceptions.ExtraColumnWarning"),
]

ANSWERS = ["inside", "score", "level", "p_value"]
LARGEST = np.finfo(float).max
N = 200
RNG = np.random.default_rng(0)
FLOW, PRESSURE = 40 + 2 * RNG.normal(size=N), 4 + 0.1 * RNG.normal(size=N)
PUMP = np.array(["A", "B", "7"], dtype=object)[np.arange(N) % 3]
CODE = 1 + np.arange(N) % 2
SITE = np.array([1.0, 2.0, 0.1])[np.arange(N) % 3]
QUICK = {"sigma": 0.8, "scaling": "standard", "splits": 3, "n_volume_points": 500, "random_state": 0}


def table(**columns):
    return pd.DataFrame({"flow": FLOW, **columns, "pressure": PRESSURE})


def with_gaps():
    rows = table(pump=np.where(np.arange(N) % 11 == 0, None, PUMP))
    rows.loc[::7, "pressure"] = np.nan
    return rows


def of_sites():
    widths = np.where(SITE == 2.0, 3.0, 1.0)
    rows = pd.DataFrame({"flow": 40 + (FLOW - 40) * widths, "pressure": 4 + (PRESSURE - 4) * widths})
    model = MinimumVolumeSet(**QUICK).fit(rows, strata=SITE)
    model.strata_column_ = "site"  # as `mvset fit --strata site` sets it
    return model


MODELS = {
    "numbers": lambda: MinimumVolumeSet(**QUICK).fit(table()),
    "text": lambda: MinimumVolumeSet(**QUICK).fit(table(pump=PUMP)),
    "codes": lambda: MinimumVolumeSet(categorical_features=["code"], **QUICK).fit(table(code=CODE)),
    "gaps": lambda: MinimumVolumeSet(missing="impute", **QUICK).fit(with_gaps()),
    "sites": of_sites,
}


@pytest.fixture(scope="module")
def models():
    return {name: fit() for name, fit in MODELS.items()}


def rows_with(n, **columns):
    """Rows with the columns in another order, and one more that no model knows."""
    return pd.DataFrame({**columns, "id": [f"r{i}" for i in range(n)], "pressure": 4.05, "flow": 40.5})


HOSTILE = [40.0, np.nan, np.inf, -np.inf, 1e300, -1e300, LARGEST, -LARGEST, 47.0, 0.0]
BLANKS = ["A", "B ", " B", "\tB", "b", "", " ", None, "7", "7.0", "007", "A"]
SITES = {
    "int": pd.Series([1, 2, 3, 1]),
    "float": pd.Series([1.0, 2.0, 0.1, 3.0, 1.5, None]),
    "float32": pd.Series([1.0, 2.0, 0.1, 3.0, 1.5, None], dtype="float32"),
    "nullable": pd.Series([1, 2, None, 3], dtype="Int64"),
    "text": pd.Series(["1", " 2", "0.1", "1.0", "2.00 ", "01", "", " ", None, "elsewhere"], dtype=object),
}
CASES = {
    "numbers": ("numbers", rows_with(len(HOSTILE)).assign(flow=HOSTILE)),
    "both columns": ("numbers", rows_with(4).assign(flow=[1e300, np.nan, 41.0, 39.0], pressure=[1e300, np.inf, 4, 5])),
    "text": ("text", rows_with(len(BLANKS), pump=BLANKS)),
    "text and numbers": ("text", rows_with(4, pump=["A", "B ", None, "mauve"]).assign(flow=[np.nan, 1e300, 40, 40])),
    "gaps": ("gaps", rows_with(len(HOSTILE), pump=["A "] * len(HOSTILE)).assign(flow=HOSTILE)),
    "gaps in all columns": (
        "gaps",
        rows_with(6, pump=[None, None, "B", None, " ", "A"]).assign(
            flow=[40, np.nan, np.nan, 40, np.nan, np.inf], pressure=[4, 4, np.nan, np.nan, np.nan, np.nan]
        ),
    ),
    **{f"sites as {kind}": ("sites", rows_with(len(each), site=each)) for kind, each in SITES.items()},
    **{f"codes as {kind}": ("codes", rows_with(len(each), code=each)) for kind, each in SITES.items()},
}


@pytest.fixture(params=CASES)
def case(request, models):
    name, rows = CASES[request.param]
    return models[name], rows


def by_the_estimator(model, rows):
    """Answers row by row: the estimator refuses a row that has none."""
    found = {name: [] for name in ANSWERS}
    for i in range(len(rows)):
        row = rows.iloc[[i]]
        options = {"strata": row["site"]} if "site" in rows else {}
        try:
            answers = [model.predict(row, **options)[0] == 1, model.score_samples(row)[0]]
            answers += [model.level(row, **options)[0], model.p_value(row, **options)[0]]
        except ValueError:
            answers = [None] * 4
        for name, answer in zip(ANSWERS, answers, strict=True):
            found[name].append(answer)
    return found


def assert_same(found, expected, model=None):
    """The same answers; levels of files are rounded up, by the calibration rows of `model`."""
    assert [bool(each) if each == each and each is not None else None for each in found["inside"]] == expected["inside"]
    for name in ANSWERS[1:]:
        right = np.array(expected[name], dtype=float)
        if name == "level" and model is not None:
            right = written_levels(right, model.sets_.calibration.n_rows)
        np.testing.assert_allclose(np.array(found[name], dtype=float), right, rtol=1e-12, err_msg=name)


def test_the_cases_have_all_kinds_of_answers(models):
    given = [by_the_estimator(models[name], rows)["inside"] for name, rows in CASES.values()]
    assert all(set(each) - {None} for each in given)
    assert {True, False, None} == {each for answers in given for each in answers}
    assert {False, None} <= set(given[0])
    assert given[2] == [True, True, True, True, False, None, None, None, True, True, False, True]


def test_batch_scorer(case):
    model, rows = case
    expected, scorer = by_the_estimator(model, rows), BatchScorer(model)
    assert_same(scorer(pa.Table.from_pandas(rows)).to_pydict(), expected)
    assert_same(scorer(rows), expected)
    assert_same(scorer(pl.from_pandas(rows)).to_dict(as_series=False), expected)


def written_answers(path):
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path).to_pydict()
    options = pa.csv.ConvertOptions(column_types={"inside": pa.bool_(), **dict.fromkeys(ANSWERS[1:], pa.float64())})
    return pa.csv.read_csv(path, convert_options=options).to_pydict()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_command_and_watch(case, suffix, mvset, tmp_path):
    model, rows = case
    expected = by_the_estimator(model, rows)
    library.save(model, tmp_path / "m")
    incoming = tmp_path / "in"
    incoming.mkdir()
    file = tmp_path / f"t{suffix}"
    rows.to_csv(file, index=False) if suffix == ".csv" else rows.to_parquet(file)
    done = mvset("score", tmp_path / "m", file, "--out", tmp_path / f"s{suffix}")
    assert done.exit_code == 0, done.stderr
    found = written_answers(tmp_path / f"s{suffix}")
    assert_same(found, expected, model)
    for note, inside in zip(found["note"], expected["inside"], strict=True):
        assert (inside is None) == (note or "").startswith("missing: ")
    shutil.copy(file, incoming)
    out = tmp_path / "out"
    options = ("--out-dir", out, "--out-format", suffix[1:], "--once", "--settle", 0)
    done = mvset("watch", tmp_path / "m", incoming, *options)
    assert done.exit_code == 0, done.stderr
    assert_same(written_answers(out / f"t{suffix}{suffix}"), expected, model)


@pytest.mark.parametrize("name", [name for name, (model, _) in CASES.items() if model in ("numbers", "sites")])
def test_onnx(name, models):
    model, rows = models[CASES[name][0]], CASES[name][1]
    expected = by_the_estimator(model, rows)
    answered = np.array([each is not None for each in expected["inside"]])
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    inputs = {"X": rows[list(model.feature_names_in_)].to_numpy()[answered]}
    if "site" in rows:
        inputs["strata"] = np.array([label_text(each) for each in rows["site"][answered]], dtype=object)
    label, score, level = session.run(["label", "score", "level"], inputs)
    assert (label == 1).tolist() == [each for each in expected["inside"] if each is not None]
    np.testing.assert_allclose(score, np.array(expected["score"], dtype=float)[answered], rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(level, np.array(expected["level"], dtype=float)[answered], atol=1e-3)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_other_columns_are_ignored_with_a_note(frame, models):
    rows = frame({"id": ["a", "b"], "pressure": [4.0, 9.0], "flow": [40.0, 40.0]})
    with pytest.warns(ExtraColumnWarning, match="not fitted to column 'id': ignored") as caught:
        found = models["numbers"].predict(rows)
    assert found.tolist() == [1, -1]
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match="feature names"):
        models["numbers"].predict(pd.DataFrame({"id": [1.0], "flow": [40.0]}))


def test_strata_of_a_model_that_was_fitted_in_python_are_named(mvset, tmp_path):
    model = of_sites()
    rows = pd.DataFrame({"flow": FLOW, "pressure": PRESSURE, "site": SITE}).head(40)
    expected = model.level(rows[["flow", "pressure"]], strata=rows["site"])
    model.strata_column_ = None  # no command fitted it
    library.save(model, tmp_path / "m")
    rows.to_parquet(tmp_path / "t.parquet")
    out = ("--out", tmp_path / "s.parquet")
    done = mvset("score", tmp_path / "m", tmp_path / "t.parquet", *out)
    assert done.exit_code == 1
    assert done.stderr == "The model has an offset for each stratum: name their column with --strata.\n"
    with pytest.raises(ValueError, match=r"name their column with strata\.$"):
        BatchScorer(model)
    assert mvset("score", tmp_path / "m", tmp_path / "t.parquet", *out, "--strata", "site").exit_code == 0
    levels = pa.parquet.read_table(tmp_path / "s.parquet")["level"].to_numpy()
    np.testing.assert_array_equal(levels, written_levels(expected, model.sets_.calibration.n_rows))
    incoming, watched = tmp_path / "in", tmp_path / "out"
    incoming.mkdir()
    shutil.copy(tmp_path / "t.parquet", incoming)
    options = ("--out-dir", watched, "--out-format", "parquet", "--once", "--settle", 0, "--strata", "site")
    assert mvset("watch", tmp_path / "m", incoming, *options).exit_code == 0
    found = pa.parquet.read_table(watched / "t.parquet.parquet")["level"].to_numpy()
    np.testing.assert_array_equal(found, levels)


def test_strata_that_a_model_does_not_have_are_refused(mvset, tmp_path):
    model = MODELS["numbers"]()
    library.save(model, tmp_path / "m")
    table(site=SITE).to_parquet(tmp_path / "t.parquet")
    done = mvset("score", tmp_path / "m", tmp_path / "t.parquet", "--strata", "site")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "--strata was given, but the model was fitted without strata. Leave it out.\n"
    with pytest.raises(ValueError, match=r"^strata was given, but the model was fitted without strata\."):
        BatchScorer(model, strata="site")
