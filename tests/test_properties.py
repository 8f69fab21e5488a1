"""Properties that hold for every table: drawn at random by hypothesis, over the public interface."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group
from sklearn.base import clone

import mvset
from mvset import MinimumVolumeSet
from mvset.exceptions import MvsetWarning

KINDS = ("normal", "heavy tails", "whole numbers", "duplicates", "clusters")


def drawn(kind, n, d, seed):
    """A table of a kind; values are multiples of 2^-20, so that sums with whole numbers are exact."""
    rng = np.random.default_rng(seed)
    X = {
        "normal": lambda: rng.normal(size=(n, d)),
        "heavy tails": lambda: np.clip(rng.standard_t(2, size=(n, d)), -1000, 1000),
        "whole numbers": lambda: rng.integers(-3, 4, size=(n, d)).astype(float),
        "duplicates": lambda: np.repeat(rng.normal(size=(-(-n // 4), d)), 4, axis=0)[:n],
        "clusters": lambda: rng.normal(size=(n, d)) + 6.0 * rng.integers(2, size=(n, 1)),
    }[kind]()
    return np.round(X * 2**20) / 2**20


tables = st.builds(
    drawn, st.sampled_from(KINDS), st.integers(25, 60), st.integers(1, 4), st.integers(0, 2**32 - 1)
).filter(lambda X: np.ptp(X, axis=0).all())
sigmas = st.floats(0.3, 3.0)
masses = st.floats(0.02, 0.98)


def fitted(X, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MvsetWarning)
        return MinimumVolumeSet(**{"splits": 5, "random_state": 0, **parameters}).fit(X)


def probes(X, seed=0):
    """Rows of the table, rows near by and rows far away."""
    rng = np.random.default_rng(seed)
    near = X + rng.normal(size=X.shape) * X.std(axis=0)
    return np.vstack(
        [X, np.round(near * 2**20) / 2**20, X.mean(axis=0) + 50.0 * X.std(axis=0) * rng.normal(size=X.shape)]
    )


def clear(model, rows):
    """Rows whose decision does not depend on rounding."""
    return np.abs(model.decision_function(rows)) > 1e-7 * max(model.offset_, 1e-12)


@settings(max_examples=7, deadline=None)
@given(X=tables, power=st.integers(-20, 20), steps=st.integers(-1000, 1000))
def test_units_do_not_matter(X, power, steps):
    """Rescaling by powers of two is exact: the same scaling, bandwidth and labels. Moving the rows is nearly so."""
    model, scaled = fitted(X), fitted(X * 2.0**power)
    rows = probes(X)
    np.testing.assert_array_equal(scaled.predict(rows * 2.0**power), model.predict(rows))
    assert (scaled.scaling_, scaled.nu_) == (model.scaling_, model.nu_)
    given = {"sigma": model.sigma_, "scaling": model.scaling_, "nu": model.nu_}
    here, moved = fitted(X, **given), fitted(X + steps, **given)
    sure = clear(here, rows)
    np.testing.assert_array_equal(moved.predict(rows + steps)[sure], here.predict(rows)[sure])


@settings(max_examples=7, deadline=None)
@given(X=tables, sigma=sigmas, seed=st.integers(0, 1000))
def test_rotations_leave_labels(X, sigma, seed):
    """Without a scaling all directions are alike."""
    d = X.shape[1]
    rotation = ortho_group.rvs(d, random_state=seed) if d > 1 else -np.eye(1)
    rows, options = probes(X), {"sigma": sigma, "scaling": None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mvset.bandwidth.shape.TOLERANCE", 1e-5)
        model, rotated = fitted(X, **options), fitted(X @ rotation, **options)
    sure = np.abs(model.decision_function(rows)) > 1e-3 * max(model.offset_, 1e-12)
    np.testing.assert_array_equal(rotated.predict(rows @ rotation)[sure], model.predict(rows)[sure])


@settings(max_examples=7, deadline=None)
@given(X=tables, sigma=sigmas, seed=st.integers(0, 1000))
def test_the_order_of_columns_and_of_rows_to_judge_does_not_matter(X, sigma, seed):
    rng = np.random.default_rng(seed)
    model, rows = fitted(X, sigma=sigma, scaling="standard"), probes(X)
    order = rng.permutation(len(rows))
    np.testing.assert_array_equal(model.score_samples(rows[order]), model.score_samples(rows)[order])
    columns = rng.permutation(X.shape[1])
    permuted, sure = fitted(X[:, columns], sigma=sigma, scaling="standard"), clear(model, rows)
    sure &= np.abs(model.decision_function(rows)) > 1e-3 * max(model.offset_, 1e-12)
    np.testing.assert_array_equal(permuted.predict(rows[:, columns])[sure], model.predict(rows)[sure])


@settings(max_examples=12, deadline=None)
@given(X=tables, sigma=sigmas, first=masses, second=masses, mode=st.sampled_from(["cross", "conformal"]))
def test_sets_are_nested_and_levels_decide(X, sigma, first, second, mode):
    model, rows = fitted(X, sigma=sigma, calibration=mode, mass=0.5), probes(X)
    smaller, larger = sorted([first, second])
    levels = model.level(rows)
    answers = {}
    for mass in (smaller, larger):
        if not model.sets_.calibration.can_guarantee(mass):
            continue
        answers[mass] = model.predict(rows, mass=mass) == 1
        np.testing.assert_array_equal(answers[mass], levels <= mass)
    if len(answers) == 2:
        assert not (answers[smaller] & ~answers[larger]).any()
    order = np.argsort(model.score_samples(rows))
    assert (np.diff(levels[order]) <= 0).all()


@settings(max_examples=5, deadline=None)
@given(X=tables, mode=st.sampled_from(["cross", "conformal"]))
def test_copies_agree(X, mode, tmp_path_factory):
    model, rows = fitted(X, calibration=mode, mass=0.8), probes(X)
    scores, levels = model.score_samples(rows), model.level(rows)
    path = tmp_path_factory.mktemp("copies") / "model.mvset"
    mvset.save(model, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MvsetWarning)
        again = clone(model).fit(X)
    for copy in (pickle.loads(pickle.dumps(model)), mvset.load(path), again):
        np.testing.assert_array_equal(copy.score_samples(rows), scores)
        np.testing.assert_array_equal(copy.level(rows), levels)
        np.testing.assert_array_equal(copy.p_value(rows), model.p_value(rows))


@settings(max_examples=4, deadline=None)
@given(X=tables)
def test_onnx_agrees(X):
    runtime = pytest.importorskip("onnxruntime")
    model, rows = fitted(X), probes(X)
    session = runtime.InferenceSession(mvset.to_onnx(model).SerializeToString())
    label, score, level = session.run(["label", "score", "level"], {"X": rows})
    sure = clear(model, rows)
    np.testing.assert_array_equal(label[sure], model.predict(rows)[sure])
    np.testing.assert_allclose(score, model.score_samples(rows), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(level[sure], model.level(rows)[sure], atol=1.1 / model.sets_.calibration.n_rows)


@settings(max_examples=5, deadline=None)
@given(X=tables, cut=st.integers(1, 20), jobs=st.sampled_from([1, 2, -1]))
def test_batches_threads_and_layout_do_not_matter(X, cut, jobs):
    model, rows = fitted(X), probes(X)
    scores = model.score_samples(rows)
    pieces = np.concatenate([model.score_samples(rows[i : i + cut]) for i in range(0, len(rows), cut)])
    np.testing.assert_array_equal(pieces, scores)
    np.testing.assert_array_equal(model.score_samples(np.asfortranarray(rows)), scores)
    np.testing.assert_array_equal(model.score_samples(rows.tolist()), scores)
    np.testing.assert_array_equal(fitted(X, n_jobs=jobs).score_samples(rows), scores)
    exact = rows.astype(np.float32).astype(np.float64)  # the values that float32 holds
    np.testing.assert_array_equal(model.score_samples(rows.astype(np.float32)), model.score_samples(exact))
