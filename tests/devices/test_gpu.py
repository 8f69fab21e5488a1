"""On a GPU: `make test-gpu`. The tests need torch with CUDA, and no fixture of other folders."""

import importlib.util
import logging
import os
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from devices.conftest import assert_scores_agree, is_mixed
from mvset import MinimumVolumeSet
from mvset.paper.datasets import paper_mixture

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("default")]  # torch warns of its own
torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

METHODS = ("score_samples", "decision_function", "predict", "level", "p_value", "explain")


@pytest.fixture(scope="module", params=[2, 10, 70])
def large_model(request):
    """Of many rows, about 4000 centres, in float32."""
    model = MinimumVolumeSet(sigma=0.6 * request.param**0.5, scaling="whiten", n_jobs=-1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(paper_mixture(request.param).sample(30_000, random_state=0))
    assert is_mixed(model)
    return model


@pytest.fixture(scope="module", params=[2, 10])
def large_model_of_two_views(request):
    """In two views."""
    model = MinimumVolumeSet(sigma=0.6 * request.param**0.5, scaling="both", n_jobs=-1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(paper_mixture(request.param).sample(30_000, random_state=0))
    assert is_mixed(model)
    assert len(model._neighbourhood.views) == 2
    return model


@pytest.fixture(scope="module")
def small_model():
    """Of few rows, in float64."""
    return MinimumVolumeSet(sigma=1.0, random_state=0).fit(paper_mixture(3).sample(500, random_state=0))


@pytest.fixture(params=[False, True], ids=["plain", "compiled"])
def compiled(request, monkeypatch, caplog):
    """Step by step, and compiled; a failure to compile is one."""
    from mvset.devices import scores as array_scores

    monkeypatch.setattr(array_scores.ArrayExpansion, "_is_compiled", request.param)
    monkeypatch.setattr(array_scores._Compiler, "works", True)
    caplog.set_level(logging.DEBUG, logger="mvset")
    yield request.param
    assert array_scores._Compiler.works, caplog.text


def rows_like(model, n_rows, dtype=np.float32):
    rng = np.random.default_rng(1)
    d = model.n_features_in_
    near = paper_mixture(d).sample(n_rows - n_rows // 20, random_state=1)
    return np.vstack([near, rng.normal(5.0, 20.0, size=(n_rows // 20, d))]).astype(dtype)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_many_columns_have_the_digits(dtype, wide_model):
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(20_000, 30)) * scale for scale in (1.0, 3.0, 10.0)]).astype(dtype)
    rows = torch.asarray(X, device="cuda")
    assert_scores_agree(wide_model.score_samples(rows).cpu().numpy(), wide_model.score_samples(X), wide_model)
    np.testing.assert_array_equal(wide_model.predict(rows).cpu().numpy(), wide_model.predict(X))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_answers_are_of_the_kind_and_on_the_device_of_the_rows(method, library, small_model):
    X = rows_like(small_model, 500)
    if library == "torch":
        rows = torch.asarray(X, device="cuda")
        answer = getattr(small_model, method)(rows)
        assert answer.device == rows.device
        found = answer.cpu().numpy()
    else:
        cupy = pytest.importorskip("cupy")
        answer = getattr(small_model, method)(cupy.asarray(X))
        assert isinstance(answer, cupy.ndarray)
        found = answer.get()
    expected = getattr(small_model, method)(X)
    assert found.dtype == expected.dtype
    if method in ("score_samples", "decision_function"):
        assert_scores_agree(found, expected, small_model)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-6)


def test_scores_in_float32(large_model, compiled):
    X = rows_like(large_model, 200_000)
    scores = large_model.score_samples(torch.asarray(X, device="cuda")).cpu().numpy()
    expected = large_model.score_samples(X)
    assert_scores_agree(scores, expected, large_model)
    function = large_model._neighbourhood
    exact = replace(function, views=[replace(view, precision="double") for view in function.views])
    assert_scores_agree(scores[:20_000], exact(X[:20_000].astype(float)), large_model)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_views(large_model_of_two_views, compiled, dtype):
    model = large_model_of_two_views
    X = rows_like(model, 200_000, dtype)
    rows = torch.asarray(X, device="cuda")
    assert set(model._neighbourhood.deciding(X[:20_000].astype(float))) == {0, 1}
    assert_scores_agree(model.score_samples(rows).cpu().numpy(), model.score_samples(X), model)
    assert np.count_nonzero(model.predict(rows).cpu().numpy() != model.predict(X)) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_far_away_keep_their_order(large_model, compiled, dtype):
    distances = np.geomspace(30.0, 1e30 if dtype == np.float32 else 1e300, 1000)
    X = (5.0 + distances[:, np.newaxis] * np.eye(large_model.n_features_in_)[:1]).astype(dtype)
    scores = large_model.score_samples(torch.asarray(X, device="cuda")).cpu().numpy()
    assert_scores_agree(scores, large_model.score_samples(X), large_model)
    assert (np.diff(scores)[distances[1:] < 1e90] < 0).all()


def test_scores_in_float64(small_model, compiled):
    X = rows_like(small_model, 50_000, np.float64)
    scores = small_model.score_samples(torch.asarray(X, device="cuda")).cpu().numpy()
    assert_scores_agree(scores, small_model.score_samples(X), small_model, single=False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_labels_are_those_of_the_cpu(large_model, compiled, dtype):
    X = rows_like(large_model, 1_000_000 if compiled else 200_000, dtype)
    rows = torch.asarray(X, device="cuda")
    for mass in (None, 0.5):
        assert np.count_nonzero(large_model.predict(rows, mass).cpu().numpy() != large_model.predict(X, mass)) == 0
    assert bool(((large_model.level(rows) <= 0.95) == (large_model.predict(rows) == 1)).all())


def test_memory_is_bounded(large_model, compiled):
    X = torch.asarray(rows_like(large_model, 1_000_000), device="cuda")
    large_model.predict(X[:10_000])
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    large_model.predict(X)
    assert torch.cuda.max_memory_allocated() - before < 2**30 + 32 * len(X)


def test_fit_on_a_tensor():
    X = paper_mixture(3).sample(100_000, random_state=0).astype(np.float32)
    parameters = {"sigma": 1.0, "n_jobs": -1, "random_state": 0}
    model = MinimumVolumeSet(**parameters).fit(torch.asarray(X, device="cuda"))
    expected = MinimumVolumeSet(**parameters).fit(X)
    assert model.sets_.function == expected.sets_.function
    np.testing.assert_allclose(model.offset_, expected.offset_, rtol=0.0, atol=2e-5)


def test_groups_on_the_device():
    X, strata = paper_mixture(2).sample(400, random_state=0), np.arange(400) % 2
    rows, groups = (torch.asarray(each, device="cuda") for each in (X, strata))
    model = MinimumVolumeSet(sigma=1.0, random_state=0).fit(rows, strata=groups)
    np.testing.assert_array_equal(model.predict(rows, strata=groups).cpu().numpy(), model.predict(X, strata=strata))


def test_batches_are_copied_and_judged_in_overlap(large_model):
    from mvset.devices.device import CopiedRowsScore, gpu, scored_on

    X = rows_like(large_model, 300_000, np.float64)
    batches = np.array_split(X, 9)  # of two lengths, with pinned memory that is used again
    device = gpu()
    score = CopiedRowsScore(large_model.sets_.function, device.place)
    found = list(scored_on(device, score, batches, lambda rows: rows, lambda _, scores: scores))
    assert_scores_agree(np.concatenate(found), large_model.score_samples(X), large_model)


@pytest.mark.skipif(importlib.util.find_spec("skops") is None, reason="model files need skops")
def test_the_command_on_a_gpu(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = paper_mixture(4).sample(200_000, random_state=0)
    pq.write_table(pa.table({f"x{j}": rows[:, j] for j in range(4)}), tmp_path / "t.parquet")
    source = Path(__file__).parents[2] / "src"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])}

    def mvset(*arguments):
        code = "import sys; from mvset_command import main; sys.exit(main())"
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert "scored on the device cuda" in mvset("fit", "t.parquet", "--out", "m", "--engine", "cuda")
    for device in ("cpu", "cuda"):
        mvset("score", "m", "t.parquet", "--out", f"{device}.parquet", "--engine", device)
    cpu, cuda = (pq.read_table(tmp_path / f"{device}.parquet") for device in ("cpu", "cuda"))
    assert cpu["inside"].equals(cuda["inside"])
    np.testing.assert_allclose(cuda["score"], cpu["score"], rtol=1e-12, atol=1e-4)  # float32, times a slope
