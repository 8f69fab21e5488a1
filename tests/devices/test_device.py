"""Rows in host memory and in files, scored on a device: here a tensor library on the CPU."""

import json
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from border_rows import border_rows
from devices.conftest import assert_scores_agree, correlated_rows
from mvset import MinimumVolumeSet, save
from mvset.devices import device
from mvset.devices import scores as array_scores
from mvset.devices.answers import settled
from mvset.devices.device import CopiedRowsScore, Device, calibrated_on, scored_on
from mvset.devices.places import Place, place_of, torch_place
from mvset.devices.scores import ArrayExpansion, blocks, doubtful_edges
from mvset.devices.stages import Stages, ahead
from mvset.paper.datasets import paper_mixture
from mvset.rows.encoding import RowEncoding
from mvset.svm.scaling import Scaling
from mvset.svm.score import Score, View

QUICK = {"sigma": 1.0, "splits": 5, "max_train_samples": 100, "n_volume_points": 200, "random_state": 0}


@pytest.fixture(params=["array_api_strict", "torch"])
def place(request):
    library = pytest.importorskip(request.param)
    return place_of(library.asarray(np.zeros(1)))


@pytest.fixture(params=["large_model", "two_views_model"])
def model(request):
    return request.getfixturevalue(request.param)


def test_batches_in_order_with_the_scores_of_the_cpu(place, model, new_rows):
    gpu = Device(place)
    score = CopiedRowsScore(model.sets_.function, place)
    batches = [*np.array_split(new_rows, 7), np.empty((0, 3))]
    found = list(scored_on(gpu, score, batches, lambda rows: rows, lambda rows, scores: (rows, scores)))
    for expected, (rows, scores) in zip(batches, found, strict=True):
        assert rows is expected
        assert_scores_agree(scores, model.score_samples(rows) if len(rows) else [], model)
    assert list(gpu.stages.seconds) == ["reading", "copying", "judging"]


def test_scores_in_doubt_are_taken_again_on_the_cpu(place, model):
    rows = border_rows(model, 200, np.float64)
    score = CopiedRowsScore(model.sets_.function, place)
    scores = score.scores(rows, score.copied(rows))
    assert np.count_nonzero((scores >= model.offset_) != (model.predict(rows) == 1)) > 5
    scores = settled(model.sets_, rows, scores, score.expansion.error, 0.95)
    np.testing.assert_array_equal(scores >= model.offset_, model.predict(rows) == 1)


def test_the_error_of_a_score_is_that_of_its_steepest_view(place, two_views_model, small_model):
    slopes = [view.slope for view in two_views_model._neighbourhood.views]
    assert ArrayExpansion(two_views_model._neighbourhood, place).error == 1e-5 * max(slopes)
    for view, slope in zip(two_views_model._neighbourhood.views, slopes, strict=True):
        alone = replace(two_views_model._neighbourhood, views=[view])
        assert ArrayExpansion(alone, place).error == 1e-5 * slope
    assert ArrayExpansion(small_model._neighbourhood, place).error == 1e-12
    assert ArrayExpansion(small_model._neighbourhood, place, single=True).error == 1e-5


def test_only_few_scores_are_in_doubt(place, large_model):
    rows = paper_mixture(3).sample(5000, random_state=3)
    score = CopiedRowsScore(large_model.sets_.function, place)
    found = score.scores(rows, score.copied(rows))
    changed = settled(large_model.sets_, rows, found.copy(), score.expansion.error, 0.9) != found
    assert changed.mean() < 0.002


def test_fit_on_an_array_is_the_fit_on_its_rows(place, monkeypatch):
    monkeypatch.setattr(Place, "in_host_memory", False)
    for n_rows in (300, 3000):  # all rows, and a sample of them with the others on the device
        rows = paper_mixture(2).sample(n_rows, random_state=0).astype(np.float32)
        expected = MinimumVolumeSet(**QUICK).fit(rows)
        model = MinimumVolumeSet(**QUICK).fit(place.array(rows))
        assert model.sets_.function == expected.sets_.function
        assert not hasattr(model, "feature_names_in_")
        calibration, twin = model.sets_.calibration, expected.sets_.calibration
        assert calibration.guarantee == twin.guarantee
        assert_scores_agree(calibration.scores, twin.scores, model)
        assert_scores_agree(model.offset_, expected.offset_, model)


@pytest.mark.parametrize("n_rows", [3000, 300])  # streamed, and reserved
def test_rows_that_repeat_are_calibrated_by_the_cpu(n_rows, place, monkeypatch):
    """New rows must tie with them, to the last digit."""
    monkeypatch.setattr(Place, "in_host_memory", False)
    rows = np.random.default_rng(0).poisson(4.0, size=(n_rows, 2)) * [1.0, 1.37]
    parameters = {**QUICK, "mass": 0.8, "nu": 0.6, "calibration": "conformal"}
    expected = MinimumVolumeSet(**parameters).fit(rows).sets_.calibration
    np.testing.assert_array_equal(
        MinimumVolumeSet(**parameters).fit(place.array(rows)).sets_.calibration.scores, expected.scores
    )
    with calibrated_on(Device(place)):
        found = MinimumVolumeSet(**parameters).fit(rows).sets_.calibration
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_rows_of_an_array_stay_on_their_device(place, monkeypatch):
    """Only the rows that train come to host memory."""
    monkeypatch.setattr(Place, "in_host_memory", False)
    rows, n_copied = paper_mixture(2).sample(3000, random_state=0), []
    host = Place.host
    monkeypatch.setattr(Place, "host", lambda self, X: n_copied.append(X.shape) or host(self, X))
    MinimumVolumeSet(**QUICK).fit(place.array(rows))
    assert sum(shape[0] for shape in n_copied if len(shape) == 2) <= 2 * 1000


def test_missing_values_in_an_array_are_refused(place, monkeypatch):
    monkeypatch.setattr(Place, "in_host_memory", False)
    rows = np.ones((30, 2))
    rows[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN or infinity in column 1 \(1 of 30 rows\)"):
        MinimumVolumeSet(**QUICK).fit(place.array(rows))


@pytest.mark.parametrize("n_rows", [300, 3000])
def test_fit_of_a_table_calibrated_on_a_device(place, n_rows):
    rows = paper_mixture(2).sample(n_rows, random_state=0)
    expected = MinimumVolumeSet(**QUICK).fit(rows)
    with calibrated_on(Device(place)):
        model = MinimumVolumeSet(**QUICK).fit(rows)
    assert_scores_agree(model.offset_, expected.offset_, model)
    assert_scores_agree(model.sets_.calibration.scores, expected.sets_.calibration.scores, model)


def test_fit_in_two_scalings_is_calibrated_on_a_device(place):
    rows, parameters = correlated_rows(3000, seed=0), {**QUICK, "scaling": "both"}
    expected = MinimumVolumeSet(**parameters).fit(rows)
    with calibrated_on(Device(place)):
        model = MinimumVolumeSet(**parameters).fit(rows)
    assert len(model._neighbourhood.views) == 2
    assert model._neighbourhood == expected._neighbourhood
    assert_scores_agree(model.sets_.calibration.scores, expected.sets_.calibration.scores, model)


@pytest.mark.parametrize("n_columns", [1, 3, 10])
@pytest.mark.parametrize("extent", [5.0, 15.9, 16.1, 32.1])
@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_scores_in_float32_are_right_however_wide_the_data(n_columns, extent, precision):
    """Rows near centres in the corners, where float32 has the fewest digits."""
    strict = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(0)
    centres = rng.choice([-1.0, 1.0], (100, n_columns)) * rng.uniform(0.9 * extent, extent, (100, n_columns))
    centres[0] = extent
    weights = rng.random((1, 100))
    origin = np.zeros(n_columns)
    function = Score(RowEncoding(n_columns), centres, origin, [View(weights / weights.sum(), 1.0, [], precision)])
    directions = rng.normal(size=(2000, n_columns)) * rng.uniform(0.0, 7.0, (2000, 1)) / np.sqrt(n_columns)
    rows = (centres[rng.integers(100, size=2000)] + directions).astype(np.float32)
    found = ArrayExpansion(function, place_of(strict.asarray([1.0])), single=True)
    assert (found.error == 1e-5) == (extent < (16.0 if precision == "double" else 32.0))
    scores, expected = np.asarray(found(strict.asarray(rows))), function(rows.astype(float))
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=found.error)


@pytest.mark.parametrize("extents", [(5.0, 5.0), (5.0, 40.0), (40.0, 40.0)])
@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_each_view_is_taken_in_float32_if_it_is_right(extents, precision):
    """Columns of two scales: one view fits float32 where the other does not."""
    strict = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(0)
    centres, rows = rng.uniform(-1.0, 1.0, size=(50, 2)), rng.uniform(-1.2, 1.2, size=(1000, 2)).astype(np.float32)
    scales = [(0.0, 1.0), (0.5, 2.0)]
    views = [
        View(np.full((1, 50), 0.02), 1.0 / extent, [], precision, *scale)
        for extent, scale in zip(extents, scales, strict=True)
    ]
    function = Score(RowEncoding(2), centres, np.zeros(2), views)
    found = ArrayExpansion(function, place_of(strict.asarray([1.0])), single=True)
    assert found.error == max(
        slope * (1e-5 if extent < 16.0 else 1e-12) for extent, (_, slope) in zip(extents, scales, strict=True)
    )
    scores, expected = np.asarray(found(strict.asarray(rows))), function(rows.astype(float))
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=found.error)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("n_scalings", [0, 1, 3])
def test_logs_far_out_are_those_of_the_cpu(place, n_scalings, precision, dtype, monkeypatch):
    """Rows on both sides of where values underflow, and as far out as numbers reach; in many blocks."""
    rng = np.random.default_rng(0)
    X, weights = (
        rng.normal(size=(80, 3)) @ rng.normal(size=(3, 3)),
        rng.uniform(0.1, 1.0, size=(max(1, n_scalings), 80)),
    )
    scalings = [Scaling.fitted("whiten", X[i::4], X.std(axis=0)) for i in range(n_scalings)]
    views = [View(weights / weights.sum(), 0.7, scalings, precision, 0.3, 1.7)]
    function = Score(RowEncoding(3), X, X.mean(axis=0), views)
    directions = rng.normal(size=(20, 3))
    distances = [*np.linspace(0.0, 60.0, 61), 1e3, 1e5, 1e20, *([1e100, 1e300] if dtype == np.float64 else [1e37])]
    rows = np.vstack([distance * directions for distance in distances]).astype(dtype)
    monkeypatch.setattr(array_scores, "_STORED_BYTES", 4 * 8 * 80 * 100)
    expansion = ArrayExpansion(function, place, single=dtype == np.float32)
    scores, expected = place.host(expansion(place.array(rows))), function(rows.astype(float))
    assert (expected < -700.0).mean() > 0.3
    assert (expected > -650.0).mean() > 0.1
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=expansion.error)


# The compiled formula, on a machine without a GPU


def test_what_cannot_be_compiled_is_evaluated_step_by_step(large_model, new_rows, monkeypatch, caplog):
    torch = pytest.importorskip("torch")

    def fails(function, **options):
        raise RuntimeError("no compiler")

    monkeypatch.setattr(torch, "compile", fails)
    monkeypatch.setattr(array_scores._Compiler, "works", True)
    array_scores._Compiler.compiled.cache_clear()
    expansion = ArrayExpansion(large_model.sets_.function, torch_place("cpu"))
    monkeypatch.setattr(ArrayExpansion, "_is_compiled", True)
    with caplog.at_level("DEBUG", logger="mvset"):
        scores = expansion(expansion.place.array(new_rows)).numpy()
    assert "it is evaluated step by step" in caplog.text
    assert_scores_agree(scores, large_model.score_samples(new_rows), large_model)


@pytest.mark.parametrize("n_columns", [3, 70])
def test_the_compiled_formula_in_one_or_more_groups_of_columns(n_columns, monkeypatch):
    """Compiled by no one here: the functions are as they are."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "compile", lambda function, dynamic: function)
    rng = np.random.default_rng(0)
    points, centres, weights = rng.normal(size=(20, n_columns)), rng.normal(size=(9, n_columns)), rng.random(9)
    expected = np.exp(-((points[:, np.newaxis] - centres) ** 2).sum(axis=2)) @ weights
    array_scores._Compiler.compiled.cache_clear()
    arrays = (torch.asarray(each) for each in (points, np.ascontiguousarray(centres.T), weights))
    np.testing.assert_allclose(array_scores._compiled_formula(torch, *arrays).numpy(), expected, rtol=1e-12)
    array_scores._Compiler.compiled.cache_clear()


@pytest.mark.parametrize("n_rows", [0, 1, 7, 100])
@pytest.mark.parametrize("size", [1, 3, 100, 1000])
def test_blocks_cover_all_rows(n_rows, size):
    found = list(blocks(n_rows, size))
    assert [i for block in found for i in range(block.start, block.stop)] == list(range(n_rows))
    assert all(block.stop - block.start <= size for block in found)


def test_intervals_of_doubt_do_not_overlap():
    """Four errors to each side: the absolute one, and one of twelve digits."""
    edges = doubtful_edges(np.array([-0.5, -0.5, -0.50001, -3.0, -1e9, 0.0]), 1e-5)
    assert (np.diff(edges) > 0).all()
    assert len(edges) == 8
    inside = (-0.5, -0.50004, -3.00003, 0.00003, -1e9 + 0.003, -1e9 - 0.003)
    outside = (-0.4999, -0.50006, -3.00005, 0.00005, -1e9 + 0.005, -1e9 - 0.005, -1e300)
    for score, doubtful in [(score, True) for score in inside] + [(score, False) for score in outside]:
        assert (np.searchsorted(edges, score) % 2 == 1) == doubtful


# Stages


def test_items_are_made_ahead_in_their_order():
    threads = set()

    def items():
        for i in range(20):
            threads.add(threading.current_thread())
            yield i

    assert list(ahead(items())) == list(range(20))
    assert threading.main_thread() not in threads
    assert list(ahead([])) == []


def test_errors_arrive_where_the_items_do():
    def items():
        yield 1
        raise ValueError("broken file")

    found = ahead(items())
    assert next(found) == 1
    with pytest.raises(ValueError, match="broken file"):
        next(found)


def test_threads_end_with_the_one_who_asks():
    before = threading.active_count()
    found = ahead(item for item in ahead(iter(range(1000))))
    assert next(found) == 0
    found.close()
    assert threading.active_count() == before


def test_shares_of_the_time():
    stages = Stages()
    for _ in stages.each("reading", range(3)):
        with stages.measured("writing"):
            time.sleep(0.002)
    assert stages.seconds["writing"] >= 0.006 > stages.seconds["reading"]
    assert str(stages).startswith("reading ")
    assert ", writing " in str(stages)


# The command


@pytest.fixture
def pretended_gpu(monkeypatch):
    """Another library of arrays, in place of a GPU."""
    place = place_of(pytest.importorskip("array_api_strict").asarray(np.zeros(1)))
    monkeypatch.setattr(device, "missing_device", lambda: None)
    monkeypatch.setattr(device, "gpu", lambda: Device(place))


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("normal", 0), ("today", 1)):
        rows = paper_mixture(2).sample(2000, random_state=seed)
        table = pa.table({"x": rows[:, 0], "y": rows[:, 1], "site": np.where(rows[:, 0] > 5, "a", "b")})
        pq.write_table(table, f"{name}.parquet", row_group_size=500)
    return tmp_path


@pytest.mark.parametrize("options", [("--exclude", "site"), ("--exclude", "x"), ("--strata", "site")])
def test_a_table_is_judged_alike(options, mvset, tables, pretended_gpu, quick_fits):
    fitted = mvset("fit", "normal.parquet", *options, "--engine", "cuda", "--out", "m.mvset")
    assert fitted.exit_code == 0, fitted.stderr
    found = {}
    where_else = ("cuda", "auto") if "--strata" in options else ("cuda",)
    for where in ("cpu", *where_else):
        done = mvset("score", "m.mvset", "today.parquet", "--engine", where, "--out", f"{where}.parquet", "--json")
        assert done.exit_code == 0, done.stderr
        found[where] = json.loads(done.stdout), pq.read_table(f"{where}.parquet")
    for where in where_else:
        summary, results = found[where]
        assert results["inside"].equals(found["cpu"][1]["inside"])
        assert results["top_feature"].equals(found["cpu"][1]["top_feature"])
        assert summary["n_outside"] == found["cpu"][0]["n_outside"]
        for name in ("score", "level", "p_value"):
            np.testing.assert_allclose(results[name], found["cpu"][1][name], rtol=1e-3, atol=1e-5)


def test_shares_of_the_time_are_said(mvset, tables, pretended_gpu, quick_fits):
    said = mvset("fit", "normal.parquet", "--exclude", "site", "--engine", "cpu", "--out", "m.mvset").stderr
    assert "scored on the CPU" in said
    said = mvset("score", "m.mvset", "today.parquet", "--engine", "cuda").stderr
    assert said.startswith("Note: scored on the device array_api_strict.Device('CPU_DEVICE'): reading ")
    for stage in ("copying", "judging", "writing"):
        assert f", {stage} " in said
    said = mvset("score", "m.mvset", "today.parquet", "--engine", "cpu").stderr
    assert said.startswith("Note: scored on the CPU: reading ")
    assert "copying" not in said
    assert mvset("score", "m.mvset", "today.parquet").stderr == ""


def test_a_batch_without_a_complete_row(mvset, tmp_path, monkeypatch, pretended_gpu):
    monkeypatch.chdir(tmp_path)
    rows = paper_mixture(2).sample(1000, random_state=0)
    save(MinimumVolumeSet(**QUICK).fit(pd.DataFrame(rows, columns=["x", "y"])), "m.mvset")
    rows[200:400] = np.nan
    pq.write_table(pa.table({"x": rows[:, 0], "y": rows[:, 1]}), "gaps.parquet", row_group_size=100)
    monkeypatch.setattr("mvset.app.tables.formats._BATCH", 100)
    done = mvset("score", "m.mvset", "gaps.parquet", "--engine", "cuda")
    assert done.exit_code == 0, done.stderr
    assert "of 800 rows lie outside" in done.stdout


class OutOfMemoryError(RuntimeError):
    __module__ = "torch"


def test_a_gpu_that_fails_is_told_in_a_sentence(mvset, tables, pretended_gpu, quick_fits, monkeypatch):
    def fails(*_):
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nMore about it.")

    assert mvset("fit", "normal.parquet", "--exclude", "site", "--out", "m.mvset").exit_code == 0
    for method in ("copied", "scores"):
        with monkeypatch.context() as patch:
            patch.setattr(CopiedRowsScore, method, fails)
            done = mvset("score", "m.mvset", "today.parquet", "--engine", "cuda")
        said = "The GPU failed: CUDA out of memory. Use the CPU for these rows.\n"
        assert (done.exit_code, done.stdout, done.stderr) == (1, "", said)


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="something else"), device.readable_gpu_errors():
        raise RuntimeError("something else")


def test_a_torch_that_is_broken_is_told_in_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("raise ImportError('libcudart.so.12: cannot open shared object file')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert device.missing_device() == "torch cannot be imported: libcudart.so.12: cannot open shared object file"


def test_without_a_gpu_there_is_one_sentence(mvset, tables, monkeypatch, quick_fits):
    monkeypatch.setattr(device, "missing_device", lambda: "torch finds no GPU on this machine.")
    done = mvset("fit", "normal.parquet", "--exclude", "site", "--engine", "cuda")
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", "torch finds no GPU on this machine.\n")
    assert mvset("fit", "normal.parquet", "--exclude", "site", "--engine", "auto", "--out", "m.mvset").exit_code == 0
    done = mvset("score", "m.mvset", "today.parquet", "--engine", "auto")
    assert done.exit_code == 0
    assert "scored on the CPU" in done.stderr


def test_without_torch_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert device.missing_device() == "A GPU needs one more package, torch: pip install 'mvset[gpu]'"
    with pytest.raises(device.DeviceError, match="one more package"):
        device.gpu()
