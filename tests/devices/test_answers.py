"""Arrays in, arrays of the same kind out, with the answers of the CPU."""

import numpy as np
import pytest
import sklearn
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import Pipeline

from border_rows import border_rows
from devices.conftest import assert_scores_agree, is_mixed, many_columns
from mvset import CalibratedSet, MinimumVolumeSet
from mvset.devices import answers
from mvset.devices import scores as array_scores
from mvset.devices.places import Place, place_of
from mvset.paper.datasets import paper_mixture

METHODS = ("score_samples", "decision_function", "predict", "level", "p_value", "explain")


def host(answer):
    return place_of(answer).host(answer)


@pytest.mark.parametrize("method", METHODS)
def test_answers_are_of_the_kind_of_the_rows(method, small_model, as_array, new_rows):
    rows = as_array(new_rows)
    answer = getattr(small_model, method)(rows)
    expected = getattr(small_model, method)(new_rows)
    assert type(answer) is type(rows)
    assert host(answer).shape == expected.shape
    assert host(answer).dtype == expected.dtype


def test_float64_rows_have_the_scores_of_the_cpu(small_model, as_array, new_rows):
    scores = host(small_model.score_samples(as_array(new_rows)))
    assert_scores_agree(scores, small_model.score_samples(new_rows), small_model, single=False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_in_float32_agree_also_far_from_the_data(dtype, model, as_array, new_rows):
    rows = new_rows.astype(dtype)
    scores, expected = host(model.score_samples(as_array(rows))), model.score_samples(rows)
    assert_scores_agree(scores, expected, model)
    assert expected[-1] < -1e50
    assert (expected < np.log(1e-300)).sum() > 10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_far_away_keep_their_order_and_are_outside(dtype, model, as_array):
    distances = np.geomspace(50.0, 1e30 if dtype == np.float32 else 1e300, 60)
    rows = (5.0 + distances[:, np.newaxis] * [1.0, -0.5, 0.2]).astype(dtype)
    scores, expected = host(model.score_samples(as_array(rows))), model.score_samples(rows)
    assert_scores_agree(scores, expected, model)
    np.testing.assert_array_equal(np.diff(scores) < 0, np.diff(expected) < 0)
    assert (np.diff(scores)[distances[1:] < 1e80] < 0).all()
    assert (host(model.predict(as_array(rows))) == -1).all()
    np.testing.assert_array_equal(host(model.level(as_array(rows))), 1.0)


def test_each_of_two_views_decides_about_some_rows(two_views_model, as_array, new_rows):
    """Else the tests of two views test nothing."""
    assert set(two_views_model._neighbourhood.deciding(new_rows[:1000])) == {0, 1}
    assert set(two_views_model._neighbourhood.deciding(border_rows(two_views_model, 150, np.float32))) == {0, 1}
    slopes = [view.slope for view in two_views_model._neighbourhood.views]
    assert slopes[0] == 1.0 != slopes[1]


def test_scores_of_float32_rows_are_computed_in_float32(model, as_array, new_rows):
    """Else the tests of rounding test nothing."""
    scores = host(model.score_samples(as_array(new_rows.astype(np.float32))))
    exact = model.score_samples(new_rows.astype(np.float32))
    assert np.abs(scores - exact)[:1000].max() > 1e-8


@pytest.mark.parametrize("mass", [None, 0.8, 0.777])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_on_the_border_are_those_of_the_cpu(mass, dtype, model, as_array, monkeypatch):
    rows = border_rows(model, 150, dtype, mass)
    labels = model.predict(rows, mass)
    assert 100 < np.sum(labels == 1) < len(rows) - 100
    assert np.count_nonzero(host(model.predict(as_array(rows), mass)) != labels) == 0
    decisions = host(model.decision_function(as_array(rows), mass))
    np.testing.assert_array_equal(decisions >= 0, labels == 1)
    if dtype == np.float32 or is_mixed(model):
        monkeypatch.setattr(answers, "doubtful_edges", lambda offsets, error: np.empty(0))
        assert np.count_nonzero(host(model.predict(as_array(rows), mass)) != labels) > 5


@pytest.mark.parametrize("mass", [0.95, 0.8])
def test_levels_and_labels_agree_on_the_border(mass, model, as_array):
    rows = as_array(border_rows(model, 150, np.float32, mass))
    np.testing.assert_array_equal(host(model.level(rows)) <= mass, host(model.predict(rows, mass)) == 1)


def test_levels_and_p_values_differ_by_rounding_at_most(model, as_array, new_rows):
    """They are those of a score that differs by 10⁻⁵ times the slope of its view."""
    rows = new_rows.astype(np.float32)
    sets, scores = model.sets_, model.score_samples(rows)
    levels, p_values = host(model.level(as_array(rows))), host(model.p_value(as_array(rows)))
    error = 2e-5 * max(view.slope for view in model._neighbourhood.views)
    assert (sets.level(scores + error) <= levels).all()
    assert (levels <= sets.level(scores - error)).all()
    assert (sets.p_value(scores - error) <= p_values).all()
    assert (p_values <= sets.p_value(scores + error)).all()
    assert levels[-1] == 1.0


def test_explanations_are_those_of_the_cpu(model, as_array, new_rows):
    contributions = host(model.explain(as_array(new_rows[:50])))
    np.testing.assert_array_equal(contributions, model.explain(new_rows[:50]))


def test_rows_judged_by_group(as_array):
    rng = np.random.default_rng(0)
    X, strata = paper_mixture(2).sample(400, random_state=0), rng.choice(["a", "b"], 400)
    model = MinimumVolumeSet(sigma=1.0, splits=3, n_volume_points=200, random_state=0).fit(X, strata=strata)
    rows, groups = border_rows(model, 100, np.float32), rng.choice(["a", "b"], 200)
    groups = groups[: len(rows)]
    for method in ("predict", "level", "p_value"):
        answer = getattr(model, method)(as_array(rows), strata=groups)
        np.testing.assert_allclose(host(answer), getattr(model, method)(rows, strata=groups), atol=0.01)
    labels = host(model.predict(as_array(rows), strata=groups))
    np.testing.assert_array_equal(labels, model.predict(rows, strata=groups))
    np.testing.assert_array_equal(host(model.level(as_array(rows), strata=groups)) <= 0.95, labels == 1)


def test_groups_are_arrays_too(as_array):
    X, strata = paper_mixture(2).sample(400, random_state=0), np.arange(400) % 2
    parameters = {"sigma": 1.0, "splits": 3, "n_volume_points": 200, "random_state": 0}
    model, twin = (MinimumVolumeSet(**parameters).fit(X, strata=each) for each in (as_array(strata), strata))
    assert model.sets_ == twin.sets_
    np.testing.assert_array_equal(
        host(model.predict(as_array(X), strata=as_array(strata))), twin.predict(X, strata=strata)
    )


def test_drift_at_another_mass(small_model, as_array):
    """Rows so near the offset of that mass that float32 would decide otherwise for some."""
    rows = border_rows(small_model, 300, np.float32, mass=0.6)
    drift, expected = (small_model.check_drift(each, mass=0.6) for each in (as_array(rows), rows))
    assert drift.n_outside == expected.n_outside


def test_a_constant_column_that_changes_is_outside(as_array):
    X = np.column_stack([paper_mixture(2).sample(200, random_state=0), np.full(200, 3.0)])
    with pytest.warns(UserWarning, match="constant"):
        model = MinimumVolumeSet(sigma=1.0, splits=2, n_volume_points=200, random_state=0).fit(X)
    rows = X[:20].copy()
    rows[::2, 2] += 0.1
    np.testing.assert_array_equal(host(model.score_samples(as_array(rows)))[::2], model.score_samples(rows)[::2])
    assert (host(model.predict(as_array(rows)))[::2] == -1).all()


@pytest.mark.parametrize("n_columns", [1, 64, 65, 130])
def test_any_number_of_columns(n_columns, as_array):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, n_columns))
    model = MinimumVolumeSet(sigma=float(np.sqrt(n_columns)), splits=2, n_volume_points=100, random_state=0)
    with sklearn.config_context(assume_finite=True), pytest.MonkeyPatch.context() as patch:
        patch.setattr("mvset.bandwidth.diagnostics.warn", lambda *_: None)
        model.fit(X)
    rows = rng.normal(size=(30, n_columns))
    assert_scores_agree(host(model.score_samples(as_array(rows))), model.score_samples(rows), model, single=False)


@pytest.fixture
def n_products(monkeypatch):
    """How many rows were multiplied with centres, call by call."""
    counts, plain = [], array_scores.ArrayExpansion._sums_of_products

    def counted(self, product, points):
        counts.append(points.shape[0])
        return plain(self, product, points)

    monkeypatch.setattr(array_scores.ArrayExpansion, "_sums_of_products", counted)
    return counts


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_many_columns_have_the_digits(dtype, wide_model, as_array, n_products):
    rng = np.random.default_rng(1)
    rows = np.vstack([rng.normal(size=(400, 30)) * scale for scale in (1.0, 3.0, 10.0)]).astype(dtype)
    scores, expected = host(wide_model.score_samples(as_array(rows))), wide_model.score_samples(rows)
    assert_scores_agree(scores, expected, wide_model)
    assert sum(n_products) > 0
    border = border_rows(wide_model, 150, dtype)
    np.testing.assert_array_equal(host(wide_model.predict(as_array(border))), wide_model.predict(border))


def test_a_narrow_bandwidth_of_many_columns_needs_differences(as_array, n_products):
    model, X = many_columns(sigma=0.5), np.random.default_rng(0).normal(size=(60, 30))
    assert_scores_agree(host(model.score_samples(as_array(X))), model.score_samples(X), model)
    assert n_products == []


def test_products_that_torch_may_round_are_not_used(wide_model, as_array, n_products, monkeypatch):
    monkeypatch.setattr(Place, "multiplies_exactly", False)
    rows = np.random.default_rng(2).normal(size=(50, 30)).astype(np.float32)
    expected = wide_model.score_samples(rows)
    assert_scores_agree(host(wide_model.score_samples(as_array(rows))), expected, wide_model)
    assert n_products == []


def test_torch_says_how_it_multiplies():
    torch = pytest.importorskip("torch")
    place = place_of(torch.zeros(1))
    assert place.multiplies_exactly
    torch.set_float32_matmul_precision("high")
    try:
        assert not place.multiplies_exactly
    finally:
        torch.set_float32_matmul_precision("highest")


def test_a_torch_that_does_not_say_how_it_multiplies(monkeypatch):
    torch = pytest.importorskip("torch")

    def refuses():
        raise RuntimeError("mix of the legacy and new APIs")

    monkeypatch.setattr(torch, "get_float32_matmul_precision", refuses)
    assert not place_of(torch.zeros(1)).multiplies_exactly


@pytest.mark.parametrize(("name", "value"), [("NVIDIA_TF32_OVERRIDE", "1"), ("CUPY_TF32", "1")])
def test_libraries_may_be_told_to_round_by_the_environment(name, value, monkeypatch, as_array):
    place = place_of(as_array(np.zeros(1)))
    assert place.multiplies_exactly
    monkeypatch.setenv(name, value)
    assert not place.multiplies_exactly


def test_many_blocks_give_the_same_scores(model, as_array, new_rows, monkeypatch):
    at_once = host(model.score_samples(as_array(new_rows)))
    monkeypatch.setattr(array_scores, "_STORED_BYTES", 50_000)
    monkeypatch.setattr(array_scores, "_PRODUCT_BYTES", 50_000)
    monkeypatch.setattr(array_scores.ArrayExpansion, "chunk_rows", 300)
    assert_scores_agree(host(model.score_samples(as_array(new_rows))), at_once, model)


def test_rows_in_doubt_are_settled_some_at_a_time(model, as_array, monkeypatch):
    rows = border_rows(model, 150, np.float32)
    monkeypatch.setattr(array_scores.ArrayExpansion, "chunk_rows", 40)
    monkeypatch.setattr(answers, "_SETTLED_ROWS", 100)
    np.testing.assert_array_equal(host(model.predict(as_array(rows))), model.predict(rows))


def test_batches_are_tested_for_drift(small_model, as_array, new_rows):
    rows = as_array(new_rows[:300])
    assert small_model.check_drift(rows).n_outside == small_model.check_drift(new_rows[:300]).n_outside
    detected = small_model.detect(as_array(new_rows))
    np.testing.assert_array_equal(detected.flagged, small_model.detect(new_rows).flagged)
    monitor, twin = (small_model.drift_monitor(random_state=0) for _ in range(2))
    assert monitor.update(rows) == twin.update(new_rows[:300])


def test_detectors_of_others_are_asked_in_host_memory(as_array):
    X = paper_mixture(2).sample(200, random_state=0)
    model = CalibratedSet(IsolationForest(n_estimators=5, random_state=0), random_state=0).fit(X)
    np.testing.assert_array_equal(host(model.predict(as_array(X))), model.predict(X))


def test_a_pipeline_of_scikit_learn_passes_arrays_on(small_model, as_array, new_rows):
    pipeline, rows = Pipeline([("sets", small_model)]), as_array(new_rows)
    for method in ("score_samples", "decision_function", "predict"):
        np.testing.assert_array_equal(host(getattr(pipeline, method)(rows)), host(getattr(small_model, method)(rows)))


@pytest.fixture(scope="session")
def counts_model():
    """Of counts: most rows repeat, and new ones tie with them."""
    parameters = {"splits": 3, "max_train_samples": 100, "n_volume_points": 200, "calibration": "conformal"}
    X = counts(2000, seed=0)
    return MinimumVolumeSet(mass=0.8, scaling="standard", random_state=0, sigma=0.5, **parameters).fit(X)


def counts(n_rows, seed):
    return np.random.default_rng(seed).poisson(4.0, size=(n_rows, 2)) * [1.0, 1.5]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_repeat_tie_with_calibration_rows(dtype, counts_model, as_array):
    rows = counts(1000, seed=1).astype(dtype)
    calibration = counts_model.sets_.calibration
    assert len(calibration.repeated_scores) > 20
    for method in ("level", "p_value"):  # those of values that two calibration rows have may differ by two ranks
        found, expected = host(getattr(counts_model, method)(as_array(rows))), getattr(counts_model, method)(rows)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=2.1 / calibration.n_rows)
        assert np.mean(found == expected) > 0.95
    drift, expected = counts_model.check_drift(as_array(rows)), counts_model.check_drift(rows)
    assert (drift.n_outside, drift.drifted) == (expected.n_outside, False)
    assert drift.distribution_p_value == pytest.approx(expected.distribution_p_value, rel=0.1)


def test_rows_of_numbers_seldom_repeat(large_model):
    assert len(large_model.sets_.calibration.repeated_scores) == 0


def test_whole_numbers_are_rows(small_model, as_array):
    rows = np.array([[2, 3, 2], [7, 8, 7]])
    scores, expected = host(small_model.score_samples(as_array(rows))), small_model.score_samples(rows)
    assert_scores_agree(scores, expected, small_model, single=False)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (np.zeros(3), "Expected 2D array"),
        (np.zeros((4, 2)), "X has 2 features, but MinimumVolumeSet is expecting 3 features"),
        (np.zeros((0, 3)), "a minimum of 1 row"),
        (np.array([[0.0, np.nan, 0.0]]), r"NaN or infinity in column 1 \(1 of 1 rows\)"),
        (np.array([[0.0, 0.0, np.inf], [0.0, 0.0, -np.inf]]), r"in column 2 \(2 of 2 rows\)"),
        (np.zeros((1, 3), np.complex64), "X must hold real numbers"),
    ],
)
def test_rows_that_are_none_are_refused(rows, said, small_model, as_array):
    for method in METHODS:
        with pytest.raises(ValueError, match=said):
            getattr(small_model, method)(as_array(rows))


def test_models_with_categories_take_tables(as_array):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(80, 2)), rng.integers(2, size=80)])
    parameters = {"sigma": 1.0, "splits": 2, "n_volume_points": 200, "random_state": 0}
    model = MinimumVolumeSet(categorical_features=[2], **parameters).fit(X)
    for method in METHODS:
        with pytest.raises(ValueError, match="has categories: give the rows in host memory"):
            getattr(model, method)(as_array(X))
    with pytest.raises(ValueError, match=r"categorical_features names columns, but rows .* of a GPU array"):
        MinimumVolumeSet(categorical_features=[2], **parameters).fit(as_array(X))
    gaps = X[:, :2].copy()
    gaps[0, 0] = np.nan
    model = MinimumVolumeSet(missing="impute", **parameters).fit(gaps)
    with pytest.raises(ValueError, match="fills missing values"):
        model.predict(as_array(gaps))


def test_tensors_in_host_memory_are_judged_by_the_compiled_core(large_model, new_rows):
    torch = pytest.importorskip("torch")
    rows = torch.asarray(new_rows.astype(np.float32), requires_grad=False)
    assert place_of(rows).in_host_memory
    for method in METHODS:
        answer = getattr(large_model, method)(rows.requires_grad_())
        assert isinstance(answer, torch.Tensor)
        np.testing.assert_array_equal(answer.numpy(), getattr(large_model, method)(new_rows.astype(np.float32)))


def test_tensors_in_host_memory_may_have_gaps_and_categories():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    parameters = {"sigma": 1.0, "splits": 2, "n_volume_points": 200, "random_state": 0}
    gaps, codes = rng.normal(size=(80, 2)), np.column_stack([rng.normal(size=80), rng.integers(2, size=80)])
    gaps[:5, 0] = np.nan
    for rows, more in ((gaps, {"missing": "impute"}), (codes, {"categorical_features": [1]})):
        model = MinimumVolumeSet(**parameters, **more).fit(torch.asarray(rows))
        for method in METHODS:
            answer = getattr(model, method)(torch.asarray(rows))
            np.testing.assert_array_equal(answer.numpy(), getattr(model, method)(rows))


def test_products_under_autocast_are_not_used(wide_model, as_array, n_products):
    torch = pytest.importorskip("torch")
    rows = torch.asarray(np.random.default_rng(2).normal(size=(50, 30)).astype(np.float32))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = wide_model.score_samples(rows)
    assert_scores_agree(scores.numpy(), wide_model.score_samples(rows.numpy()), wide_model)
    assert n_products == []


def test_tensors_that_torch_only_stores_are_refused(small_model, as_array):
    torch = pytest.importorskip("torch")
    dense = torch.zeros((4, 3))
    for rows in (dense.to_sparse(), dense.to(torch.float8_e4m3fn), dense.to(torch.uint16), dense.to("meta")):
        with pytest.raises(ValueError, match="X must hold real numbers; got"):
            small_model.predict(rows)


def test_arrays_of_numpy_and_lists_are_not_elsewhere():
    for rows in (np.zeros((2, 2)), [[0.0]], np.float64(1.0), "text", None):
        assert place_of(rows) is None
    assert isinstance(place_of(pytest.importorskip("array_api_strict").asarray([1.0])), Place)


def test_tensors_of_half_precision_are_rows(small_model, as_array, new_rows):
    torch = pytest.importorskip("torch")
    rows = torch.asarray(new_rows[:100]).to(torch.bfloat16)
    expected = small_model.score_samples(rows.double().numpy())
    assert_scores_agree(small_model.score_samples(rows).numpy(), expected, small_model)


def test_devices_without_float64_are_judged_in_host_memory():
    torch = pytest.importorskip("torch")
    assert Place("torch", torch, torch.device("mps")).in_host_memory
    assert not Place("torch", torch, torch.device("cuda")).in_host_memory
