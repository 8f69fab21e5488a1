import json
import sys
import warnings

import numpy as np
import onnxruntime as ort
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import mvset
from mvset import CalibratedSet, MinimumVolumeSet
from mvset.files.onnx import to_onnx
from mvset.paper import PluginKernelDensity
from mvset.paper.datasets import paper_mixture, two_moons

TABLES = {"moons": lambda n, seed: two_moons(n, random_state=seed), "mixture8": paper_mixture(8).sample}
MODES = ("cross", "conformal", "pac")
SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler(feature_range=(-1, 2)),
    RobustScaler(),
    RobustScaler(with_centering=False),
    RobustScaler(with_scaling=False),
    MaxAbsScaler(),
    "passthrough",
    None,
]


def sets(**parameters):
    return MinimumVolumeSet(random_state=0, splits=4, n_volume_points=2000, **{"sigma": 0.4, **parameters})


def session(model, dtype=np.float64):
    return ort.InferenceSession(to_onnx(model, dtype=dtype).SerializeToString(), providers=["CPUExecutionProvider"])


def run(model, X, dtype=np.float64):
    return session(model, dtype).run(["label", "score", "level"], {"X": np.asarray(X, dtype=dtype)})


def last(model):
    return model[-1] if isinstance(model, Pipeline) else model


def assert_agree(model, X, dtype=np.float64, error=1e-11):
    """The graph says what the model says of the same rows, and its three answers do not contradict each other.

    Scores are logarithms: they have an absolute error, that of values, and far out a relative one.
    """
    rows = np.asarray(X, dtype=dtype).astype(np.float64)
    label, score, level = run(model, X, dtype)
    expected = model.score_samples(rows)
    np.testing.assert_allclose(score, expected, rtol=1e-12, atol=error)
    certain = np.abs(expected - last(model).offset_) > error + 1e-12 * np.abs(expected)
    np.testing.assert_array_equal(label[certain], model.predict(rows)[certain])
    np.testing.assert_array_equal(level, last(model).sets_.level(score))
    np.testing.assert_array_equal(label == 1, level <= last(model).mass)
    return label, score, level


def near_border(model, X, rng, n=4000):
    """Rows at every distance from the border, by bisection between rows inside and outside."""
    inside = rng.choice(X[model.predict(X) == 1], size=n)
    outside = inside + rng.normal(size=inside.shape) * 10 * X.std(axis=0)
    steps = rng.integers(40, size=n)
    for step in range(40):
        middle = 0.5 * (inside + outside)
        held = (model.predict(middle) == 1)[:, np.newaxis]
        moves = (step < steps)[:, np.newaxis]
        inside = np.where(moves & held, middle, inside)
        outside = np.where(moves & ~held, middle, outside)
    return np.where(rng.uniform(size=(n, 1)) < 0.5, inside, outside)


@pytest.fixture(scope="module", params=TABLES)
def table(request):
    return TABLES[request.param](600, 0), {"moons": 0.2, "mixture8": 1.5}[request.param]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_graph_and_model_agree(table, mode, scaled, dtype):
    X, sigma = table
    model = sets(sigma=sigma / X.std() if scaled else sigma, calibration=mode, mass=0.9)
    model = (make_pipeline(StandardScaler(), model) if scaled else model).fit(X)
    wide = X.mean(axis=0) + 3 * np.random.default_rng(0).normal(size=X.shape) * X.std(axis=0)
    label, _, level = assert_agree(model, np.vstack([X, wide]), dtype)
    assert set(label) == {-1, 1}
    assert level.min() < 0.1
    assert level.max() == 1.0


@pytest.mark.parametrize("mode", MODES)
def test_labels_near_the_border(table, mode):
    """In float32, too, labels are those of the rows in float64, unless the score is at the offset."""
    X, sigma = table
    model = sets(sigma=sigma, calibration=mode, mass=0.9).fit(X)
    rows = near_border(model, X, np.random.default_rng(1))
    distance = np.abs(model.decision_function(rows))
    assert np.quantile(distance, 0.2) < 1e-8
    assert np.quantile(distance, 0.8) > 1e-6
    label, *_ = assert_agree(model, rows)
    label_32, score_32, _ = assert_agree(model, rows, np.float32)
    assert (np.abs(score_32 - model.offset_)[label_32 != label] < 1e-6).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scaling", ["standard", "whiten", "both"])
def test_graph_and_model_agree_in_a_metric(table, scaling, mode, dtype):
    X = table[0] * np.geomspace(1, 1000, table[0].shape[1]) + 50.0
    model = sets(sigma=1.5, scaling=scaling, calibration=mode, mass=0.9).fit(X)
    wide = X.mean(axis=0) + 3 * np.random.default_rng(0).normal(size=X.shape) * X.std(axis=0)
    label, _, level = assert_agree(model, np.vstack([X, wide]), dtype)
    assert set(label) == {-1, 1}
    assert level.min() < 0.1
    assert level.max() == 1.0


def assert_judged_far_out(model, X):
    """Rows far out are outside, and have the order that they have in Python; at infinity, and with NaN, as well."""
    far = X.mean(axis=0) + np.repeat([[1e3], [-1e5], [1e5], [1e20], [-1e50], [1e90]], X.shape[1], axis=1)
    label, score, level = assert_agree(model, far)
    np.testing.assert_array_equal(np.argsort(score), np.argsort(model.score_samples(far)))
    extreme = np.repeat([[-1e200], [1e300], [1e307]], X.shape[1], axis=1)
    for labels, scores, levels in ((label, score, level), assert_agree(model, extreme)):
        assert (labels == -1).all()
        assert (scores < last(model).offset_).all()
        assert np.isfinite(scores).all()
        assert (levels == 1).all()
    for dtype in (np.float64, np.float32):  # where Python refuses
        label, score, level = run(model, np.vstack([X[:1] + np.inf, X[:1] * np.nan, X[:1]]), dtype)
        np.testing.assert_array_equal(label[:2], -1)
        np.testing.assert_array_equal(level[:2], 1)
        assert score[0] <= model.score_samples(extreme)[-1]
        assert np.isnan(score[1])
        assert score[2] == pytest.approx(model.score_samples(X[:1].astype(dtype).astype(np.float64))[0], abs=1e-9)


@pytest.mark.parametrize("scaling", ["standard", "whiten", "both"])
def test_in_a_metric_rows_at_the_border_far_away_and_none(table, scaling):
    X = table[0]
    model = sets(sigma=1.5, scaling=scaling, mass=0.9).fit(X)
    assert_agree(model, near_border(model, X, np.random.default_rng(1), n=1000))
    assert_judged_far_out(model, X)
    assert_agree(model, X[:1])
    assert [answer.shape for answer in run(model, X[:0])] == [(0,)] * 3


@pytest.mark.parametrize("scaling", ["standard", "whiten", "both"])
def test_metric_behind_a_scaler(scaling):
    X = two_moons(300, random_state=0) * [1.0, 30.0] + [5.0, -2.0]
    assert_agree(make_pipeline(RobustScaler(), sets(sigma=0.5, scaling=scaling)).fit(X), X)


def test_rows_far_from_zero(table):
    X, sigma = table[0] + 1e6, table[1]
    assert_agree(sets(sigma=sigma).fit(X), X)
    assert_agree(make_pipeline(StandardScaler(), sets(sigma=sigma / X.std(axis=0).mean())).fit(X), X)


def test_groups_far_apart():
    """The limit that the docstring states; past it scores are coarse, but never larger than those of one kernel."""
    X = np.random.default_rng(0).normal(size=(600, 2))
    for distance, error in ((1e3, 1e-9), (1e4, 1e-7), (1e5, 1e-5), (1e10, 1e5)):
        apart = X + np.where(np.arange(600) < 300, distance, 0.0)[:, np.newaxis] * [1, 0]
        with warnings.catch_warnings(action="ignore"):  # of the scales of the columns
            model = sets(sigma=1.0).fit(apart)
        _, score, _ = assert_agree(model, apart, error=error)
        assert (score <= 1e-12).all()


def test_tiny_scores(table):
    """From where kernels are numbers of float64 to where they are not."""
    X, sigma = table
    model = sets(sigma=sigma).fit(X)
    tail = X[:1] + sigma * np.linspace(0, 60, 200)[:, np.newaxis] * np.eye(X.shape[1])[:1]
    _, score, _ = assert_agree(model, tail)
    assert score.min() < -1000 < -50 < score.max()
    np.testing.assert_array_equal(np.argsort(score), np.argsort(model.score_samples(tail)))


@pytest.mark.parametrize("scaled", [False, True])
def test_far_away_rows_keep_their_order(table, scaled):
    X, sigma = table
    model = sets(sigma=sigma)
    assert_judged_far_out((make_pipeline(StandardScaler(), model) if scaled else model).fit(X), X)


@pytest.mark.parametrize("mode", MODES)
def test_labels_of_two_views_are_those_of_the_model(table, mode):
    """Each view decides about some rows on the border and far away."""
    X = table[0] @ np.array([[1.0, 0.9], [0.0, 0.3]]) if table[0].shape[1] == 2 else table[0]
    model = sets(sigma=table[1] if X.shape[1] > 2 else 0.7, scaling="both", calibration=mode, mass=0.9).fit(X)
    assert len(model.sets_.function.views) == 2
    rng = np.random.default_rng(1)
    rows = np.vstack([X, near_border(model, X, rng, n=1000), *(X + rng.normal(size=X.shape) * s for s in (3.0, 1e5))])
    assert set(model.sets_.function.deciding(rows[len(X) :])) == {0, 1}
    label, _, _ = assert_agree(model, rows)
    certain = np.abs(model.decision_function(rows)) > 1e-9
    assert certain.sum() > len(X) * 3
    np.testing.assert_array_equal(label[certain], model.predict(rows)[certain])
    assert (label[-len(X) :] == -1).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_row_and_one_row(table, dtype):
    X, sigma = table
    model = sets(sigma=sigma).fit(X)
    assert_agree(model, X[:1], dtype)
    for answer, kind in zip(run(model, X[:0], dtype), (np.int64, np.float64, np.float64), strict=True):
        assert answer.shape == (0,)
        assert answer.dtype == kind


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_scaler(scaler, dtype):
    X = two_moons(300, random_state=0) * [1.0, 3.0] + [5.0, -2.0]
    assert_agree(Pipeline([("scaler", scaler), ("sets", sets())]).fit(X), X, dtype)


def test_scalers_in_a_row():
    X = two_moons(300, random_state=0)
    assert_agree(make_pipeline("passthrough", RobustScaler(), None, MinMaxScaler(), sets(sigma=0.1)).fit(X), X)


@pytest.mark.parametrize("mode", MODES)
def test_levels_of_counts(mode):
    """Rows repeated many times: offsets tie, with each other and with scores."""
    X = np.random.default_rng(0).poisson(2.0, size=(600, 2)).astype(float)
    model = sets(sigma=1.0, calibration=mode, mass=0.9).fit(X)
    label, _, level = assert_agree(model, X)
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_array_equal(level, model.level(X))


def run_by_group(model, X, strata, dtype=np.float64):
    inputs = {"X": np.asarray(X, dtype=dtype), "strata": np.array(strata, dtype=object)}
    return session(model, dtype).run(["label", "score", "level"], inputs)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_groups_have_their_own_offsets(mode, scaled, dtype):
    X, rng = two_moons(600, random_state=0), np.random.default_rng(0)
    groups = rng.choice(["a", "größe", "few"], p=[0.6, 0.38, 0.02], size=600).astype(object)
    X = np.where((groups == "größe")[:, np.newaxis], 1.5 * X, X)
    if scaled:
        model = make_pipeline(StandardScaler(), sets(calibration=mode, mass=0.9)).fit(
            X, minimumvolumeset__strata=groups
        )
    else:
        model = sets(calibration=mode, mass=0.9).fit(X, strata=groups)
    new = (X[rng.permutation(600)] + 0.1 * rng.normal(size=X.shape)).astype(dtype).astype(np.float64)
    strata = rng.choice(["a", "größe", "few", "never seen", ""], size=600).astype(object)
    label, score, level = run_by_group(model, new, strata, dtype)
    np.testing.assert_allclose(score, model.score_samples(new), rtol=1e-12, atol=1e-9)
    named = np.where(strata == "", "new", strata)  # in Python blank text is no label
    with warnings.catch_warnings(action="ignore", category=mvset.exceptions.UnseenStratumWarning):
        np.testing.assert_array_equal(label, model.predict(new, strata=named))
        np.testing.assert_array_equal(level, last(model).sets_.level(score, named))
    np.testing.assert_array_equal(label == 1, level <= 0.9)
    judged = {name: set(label[strata == name]) for name in set(strata)}
    assert all(found == {-1, 1} for found in judged.values())


def test_groups_are_an_input_only_if_the_fit_has_them():
    X = two_moons(300, random_state=0)
    assert [each.name for each in session(sets().fit(X)).get_inputs()] == ["X"]
    model = sets().fit(X, strata=np.arange(300) % 2)
    assert [each.name for each in session(model).get_inputs()] == ["X", "strata"]
    for answer in run_by_group(model, X[:0], []):
        assert answer.shape == (0,)
    label, score, level = run_by_group(model, X[:2] * np.nan, ["0", "none"])
    np.testing.assert_array_equal(label, -1)
    np.testing.assert_array_equal(level, 1)
    assert np.isnan(score).all()


@pytest.mark.filterwarnings("ignore::mvset.exceptions.ConstantColumnWarning")
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_constant_column_that_changes_is_outside(mode, scaled, grouped):
    X = np.insert(two_moons(400, random_state=0), [1, 2], [5.0, 0.005], axis=1)
    strata = np.where(np.arange(400) % 3, "a", "b").astype(object) if grouped else None
    model = sets(calibration=mode, mass=0.9)
    if scaled:
        model = make_pipeline(StandardScaler(), model).fit(X, minimumvolumeset__strata=strata)
    else:
        model = model.fit(X, strata=strata)
    new = np.repeat(X[:100], 4, axis=0)
    new[1::4, 1] = 5.3
    new[2::4, 3] = 0.5
    new[3::4, 1] = np.nextafter(5.0, 6.0)
    strata = np.repeat(strata[:100], 4) if grouped else None
    label, score, level = run_by_group(model, new, strata) if grouped else run(model, new)
    np.testing.assert_array_equal(label, model.predict(new) if strata is None else model.predict(new, strata=strata))
    np.testing.assert_array_equal(level, last(model).sets_.level(score, strata))
    np.testing.assert_allclose(score, model.score_samples(new), rtol=1e-12, atol=1e-9)
    for changed in (1, 2):
        assert (label[changed::4] == -1).all()
        assert (level[changed::4] == 1).all()
    np.testing.assert_array_equal(label[::4], label[3::4])
    assert (label[::4] == 1).mean() > 0.8


def test_what_the_file_says():
    X = pd.DataFrame(two_moons(300, random_state=0), columns=["length", "größe"])
    for model in (sets(), make_pipeline(StandardScaler(), sets()), make_pipeline("passthrough", None, sets())):
        graph = to_onnx(model.fit(X))
        assert {p.key: json.loads(p.value) for p in graph.metadata_props} == {"feature_names": ["length", "größe"]}
        assert (graph.producer_name, graph.producer_version) == ("mvset", mvset.__version__)
        assert "mass 0.95" in graph.doc_string
        assert "sigma 0.4" in graph.doc_string
        assert graph.ir_version <= 7
        assert {opset.domain: opset.version for opset in graph.opset_import} == {"": 13, "ai.onnx.ml": 2}
    assert session(sets().fit(X)).get_inputs()[0].shape == ["N", 2]


@pytest.mark.parametrize(
    "step", [PCA(), FunctionTransformer(), MinMaxScaler(clip=True), make_pipeline(StandardScaler())], ids=str
)
def test_other_steps_are_refused(step):
    model = make_pipeline(StandardScaler(), step, sets()).fit(two_moons(300, random_state=0))
    with pytest.raises(TypeError, match=f"{type(step).__name__}.* RobustScaler"):
        to_onnx(model)


@pytest.mark.parametrize(
    "model",
    [
        CalibratedSet(IsolationForest(n_estimators=10), splits=2, n_volume_points=2000, random_state=0),
        PluginKernelDensity(sigma=0.3, n_volume_points=2000, random_state=0),
        IsolationForest(n_estimators=10),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_sets_are_refused(model):
    model.fit(two_moons(300, random_state=0))
    for refused in (model, make_pipeline(StandardScaler(), model)):
        with pytest.raises(TypeError, match=f"MinimumVolumeSet.*{type(model).__name__}"):
            to_onnx(refused)


def test_missing_values_are_refused_in_a_sentence():
    X = two_moons(300, random_state=0)
    for model in (sets(missing="impute"), make_pipeline(StandardScaler(), sets(missing="impute"))):
        with pytest.raises(TypeError, match=r"takes no missing values, and the model imputes them\. Fit without"):
            to_onnx(model.fit(X))


def test_refused_before_anything_is_done():
    with pytest.raises(NotFittedError):
        to_onnx(sets())
    with pytest.raises(ValueError, match="float16"):
        to_onnx(sets(), dtype=np.float16)


def test_onnx_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"more packages: pip install 'mvset\[onnx\]'"):
        to_onnx(sets())
