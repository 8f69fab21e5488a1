import io
import json
import os
import pickle
import sys
import time
import zipfile

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import skops.io
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.impute import SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import mvset
from mvset.exceptions import ModelFileError, ModelFileWarning
from mvset.files.archive import Archive, noted_digest
from mvset.files.model_file import _FORMAT, _TRUSTED
from mvset.paper import PluginKernelDensity
from mvset.paper.datasets import two_moons

X = two_moons(300, random_state=0)
NEW = two_moons(200, noise=0.4, random_state=1)


@pytest.fixture(scope="module")
def model():
    return mvset.MinimumVolumeSet(sigma=[0.2, 0.3], random_state=0).fit(X)


@pytest.fixture
def path(model, tmp_path):
    mvset.save(model, tmp_path / "model.mvset")
    return tmp_path / "model.mvset"


MODELS = {
    "cross": lambda: mvset.MinimumVolumeSet(random_state=0),
    "conformal": lambda: mvset.MinimumVolumeSet(calibration="conformal", sigma=0.3, random_state=0),
    "pac": lambda: mvset.MinimumVolumeSet(calibration="pac", sigma=0.3, random_state=np.random.RandomState(0)),
    "pipeline": lambda: make_pipeline(StandardScaler(), mvset.MinimumVolumeSet(sigma=0.3, random_state=0)),
    "standard": lambda: mvset.MinimumVolumeSet(scaling="standard", sigma=0.4, splits=5, random_state=0),
    "whiten": lambda: mvset.MinimumVolumeSet(scaling="whiten", sigma=0.4, splits=5, random_state=0),
    "both": lambda: mvset.MinimumVolumeSet(scaling="both", sigma=[0.3, 0.4], splits=5, random_state=0),
    "one-class SVM": lambda: mvset.OneClassSVM(sigma=0.3),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("way", ["skops", "pickle", "joblib"])
def test_what_is_read_is_what_was_written(name, way, tmp_path):
    model = MODELS[name]().fit(X)
    if way == "skops":
        mvset.save(model, tmp_path / "m")
        again = mvset.load(tmp_path / "m")
    elif way == "pickle":
        again = pickle.loads(pickle.dumps(model))
    else:
        joblib.dump(model, tmp_path / "m")
        again = joblib.load(tmp_path / "m")
    np.testing.assert_array_equal(again.score_samples(NEW), model.score_samples(NEW))
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    assert name == "pac" or str(again) == str(model)  # that of a RandomState has its address
    if name == "one-class SVM":
        return
    assert type(again) is type(model)
    sets, sets_again = (m[-1] if name == "pipeline" else m for m in (model, again))
    for method in ("level", "p_value", "explain"):
        np.testing.assert_array_equal(getattr(sets_again, method)(NEW), getattr(sets, method)(NEW))
    assert sets_again.volume(0.9) == sets.volume(0.9)
    assert sets_again.mass_interval_ == sets.mass_interval_
    assert sets_again.check_drift(NEW) == sets.check_drift(NEW)
    assert sets_again.selection_ == sets.selection_
    assert sets_again.curves_ == sets.curves_
    assert sets_again.views_ == sets.views_
    assert name != "both" or len(sets.views_) == 2
    assert sets_again.mass_band() == sets.mass_band()
    assert sets_again.sets_ == sets.sets_


def test_metrics_and_nu_are_read_again(tmp_path):
    model = mvset.MinimumVolumeSet(scaling="whiten", nu=0.6, sigma=[0.3, 0.4], splits=5, random_state=0).fit(X)
    mvset.save(model, tmp_path / "m")
    again = mvset.load(tmp_path / "m")
    assert (again.scaling_, again.nu_, again.scaling_comparison_) == ("whiten", 0.6, {})
    assert again.sets_.function.views[0].scalings == model.sets_.function.views[0].scalings
    np.testing.assert_array_equal(again.column_scales_, model.column_scales_)
    np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)


def test_a_damaged_metric_is_refused(tmp_path):
    mvset.save(mvset.MinimumVolumeSet(scaling="standard", sigma=0.4, splits=2, random_state=0).fit(X), tmp_path / "m")
    rewritten(tmp_path / "m", lambda n, c: c.replace(b'"scales"', b'"mixing"') if n == "schema.json" else c)
    with pytest.raises(ModelFileError, match="fit again"):
        mvset.load(tmp_path / "m")


def test_trees_elsewhere_than_in_isolation_forests_need_to_be_trusted(tmp_path):
    trees = make_pipeline(
        RandomTreesEmbedding(2, sparse_output=False, random_state=0), mvset.OneClassSVM(sigma=1.0)
    ).fit(X)
    mvset.save(trees, tmp_path / "m")
    with pytest.raises(ModelFileError, match=r"not known to be safe: sklearn\.tree\._tree\.Tree\. If you trust"):
        mvset.load(tmp_path / "m")
    again = mvset.load(tmp_path / "m", trusted=["sklearn.tree._tree.Tree"])
    np.testing.assert_array_equal(again.predict(NEW), trees.predict(NEW))


def test_an_unknown_type_is_refused_by_name_and_not_run(tmp_path, model):
    evil = make_pipeline(FunctionTransformer(os.system), model)
    mvset.save(evil, tmp_path / "m")
    with pytest.raises(ModelFileError, match=rf"not known to be safe: {os.system.__module__}\.system\.") as error:
        mvset.load(tmp_path / "m")
    assert "system" not in str(error.value).partition("trusted=")[2]  # no line to copy that would run it


def test_every_trusted_type_exists():
    for name in _TRUSTED:
        module, _, kind = name.rpartition(".")
        assert isinstance(getattr(__import__(module, fromlist=[kind]), kind), type)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_truncated_file_says_so(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFileError, match=r"l\.mvset is truncated or damaged: .*\. Copy it once more, or fit again"):
        mvset.load(path)


def test_a_damaged_file_says_so(path):
    content = bytearray(path.read_bytes())
    content[200:210] = b"0123456789"
    path.write_bytes(bytes(content))
    with pytest.raises(ModelFileError, match="truncated or damaged"):
        mvset.load(path)


def test_other_files_are_told_apart(tmp_path, model):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ModelFileError, match=r"table\.csv is not a model file"):
        mvset.load(tmp_path / "table.csv")
    skops.io.dump(model, tmp_path / "plain.skops")
    with pytest.raises(ModelFileError, match=r"plain\.skops was not written by mvset\.save"):
        mvset.load(tmp_path / "plain.skops")
    with pytest.raises(FileNotFoundError):
        mvset.load(tmp_path / "nothing")


def rewritten(path, change, sealed=True):
    """The file with its members changed; `sealed` with the checksum of the new content, as if it was written so."""
    with zipfile.ZipFile(path) as old:
        members = {name: change(name, old.read(name)) for name in old.namelist()}
    if sealed:
        note = json.loads(members["mvset.json"])
        note["sha256"] = noted_digest(Archive(zipped(members)), note)
        members["mvset.json"] = json.dumps(note).encode()
    path.write_bytes(zipped(members))


def zipped(members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return content.getvalue()


def test_a_file_of_a_later_version_says_what_to_do(path):
    rewritten(path, lambda n, c: json.dumps({"format": 99, "mvset": "9.9"}).encode() if n == "mvset.json" else c)
    with pytest.raises(ModelFileError, match=r"written by mvset 9\.9, whose files .* pip install --upgrade mvset"):
        mvset.load(path)


@pytest.mark.parametrize("earlier", [2, 5])
def test_a_file_of_an_earlier_format_says_what_to_do(path, earlier):
    rewritten(path, lambda n, c: json.dumps({"format": earlier, "mvset": "0.0.1"}).encode() if n == "mvset.json" else c)
    with pytest.raises(ModelFileError, match=r"written by mvset 0\.0\.1, whose files .* cannot read: fit again"):
        mvset.load(path)


def test_a_file_of_an_earlier_version_loads(path, model):
    note = json.dumps({"format": _FORMAT, "mvset": "0.0.1", "scikit-learn": "1.6"}).encode()
    rewritten(path, lambda n, c: note if n == "mvset.json" else c)
    with pytest.warns(ModelFileWarning, match=r"written by mvset 0\.0\.1, and this is .* If it misbehaves, fit again"):
        again = mvset.load(path)
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))


def test_a_file_of_another_scikit_learn_loads_with_its_warning(tmp_path, model):
    pipeline = make_pipeline(StandardScaler(), model).fit(X)
    mvset.save(pipeline, tmp_path / "m")
    version = json.dumps(json.dumps(sklearn.__version__)).encode()
    rewritten(tmp_path / "m", lambda n, c: c.replace(version, rb'"\"1.5.2\""') if n == "schema.json" else c)
    with pytest.warns(InconsistentVersionWarning, match=r"1\.5\.2"):
        again = mvset.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(NEW), pipeline.predict(NEW))


def test_parts_that_do_not_fit(path):
    rewritten(path, lambda n, c: c.replace(b"FittedSets", b"FittedSots") if n == "schema.json" else c)
    with pytest.raises(ModelFileError, match=r"FittedSots"):
        mvset.load(path)
    rewritten(path, lambda n, c: c.replace(b"FittedSots", b"FittedSets") if n == "schema.json" else c)
    rewritten(path, lambda n, c: c.replace(b'"masses"', b'"mosses"') if n == "schema.json" else c)
    with pytest.raises(ModelFileError, match=r"holds parts that do not fit together \(.*mosses.*\): fit again"):
        mvset.load(path)
    note = json.dumps({"format": _FORMAT, "mvset": mvset.__version__, "scikit-learn": "1.6"}).encode()
    rewritten(path, lambda n, c: note if n == "mvset.json" else c)
    with pytest.raises(
        ModelFileError, match=r"was written with mvset .*1\.6 and cannot be read with mvset .* fit again"
    ):
        mvset.load(path)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, np.asarray])
def test_every_estimator_of_this_library_is_read_again(tmp_path, frame):
    for model in (
        PluginKernelDensity(sigma=0.3, random_state=0),
        mvset.CalibratedSet(GaussianMixture(2), splits=2, random_state=0),
    ):
        rows = frame(X) if frame is np.asarray else frame({"a": X[:, 0], "b": X[:, 1]})
        model.fit(rows)
        mvset.save(model, tmp_path / "m")
        np.testing.assert_array_equal(mvset.load(tmp_path / "m").score_samples(rows), model.score_samples(rows))


def test_only_estimators_are_saved(tmp_path):
    with pytest.raises(TypeError, match="got dict"):
        mvset.save({}, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(path, model, monkeypatch):
    before = path.read_bytes()

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", broken)
    with pytest.raises(OSError, match="disk full"):
        mvset.save(model, path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["model.mvset"]


@pytest.mark.parametrize("note", [b"[]", b"{}", b"{", b'{"format": "1", "mvset": "0.1"}', b"\xff"])
def test_a_note_that_is_none(path, note):
    rewritten(path, lambda n, c: note if n == "mvset.json" else c, sealed=False)
    with pytest.raises(ModelFileError, match="truncated or damaged"):
        mvset.load(path)


@pytest.mark.parametrize("value", [np.nan, pytest.param(np.inf, marks=pytest.mark.slow)])
def test_a_file_with_damaged_numbers_cannot_answer(path, value):
    def damaged(name, content):
        if not name.endswith(".npy"):
            return content
        array = np.load(io.BytesIO(content))
        if array.dtype != np.float64 or array.ndim == 0 or array.size == 0:
            return content
        array.ravel()[0] = value
        out = io.BytesIO()
        np.save(out, array)
        return out.getvalue()

    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
    whole = path.read_bytes()
    refused = 0
    for name in names:
        path.write_bytes(whole)
        rewritten(path, lambda n, c, name=name: damaged(n, c) if n == name else c)
        try:
            again = mvset.load(path)
        except ModelFileError:
            refused += 1
        else:  # a curve or what decided between bandwidths: nothing that answers
            np.testing.assert_array_equal(again.p_value(NEW), mvset_model_p_values(whole, path))
    assert refused >= 9  # centres, weights, origin, masses, offsets, scores of both kinds and effects of both kinds


def mvset_model_p_values(whole, path):
    path.write_bytes(whole)
    return mvset.load(path).p_value(NEW)


def test_a_drift_monitor_goes_on_after_a_restart(tmp_path):
    model = mvset.MinimumVolumeSet(sigma=0.3, calibration="conformal", random_state=0).fit(X)
    whole, stopped = (model.drift_monitor(random_state=0) for _ in range(2))
    for batch in np.array_split(two_moons(400, random_state=1) + 0.5, 4):
        whole.update(batch)
        stopped.update(batch)
        mvset.save(stopped, tmp_path / "monitor")
        stopped = mvset.load(tmp_path / "monitor")
        assert stopped.log_martingale_ == whole.log_martingale_
    assert stopped.drifted_


def test_a_pipeline_with_an_imputer_is_known(tmp_path):
    pipeline = make_pipeline(SimpleImputer(), mvset.MinimumVolumeSet(sigma=0.3, random_state=0)).fit(X)
    mvset.save(pipeline, tmp_path / "m")
    np.testing.assert_array_equal(mvset.load(tmp_path / "m").predict(NEW), pipeline.predict(NEW))


def test_skops_is_optional(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"Model files need one more package: pip install 'mvset\[files\]'"):
        mvset.save(model, tmp_path / "m")
    with pytest.raises(ImportError, match="one more package"):
        mvset.load(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_clock_that_is_wrong(path, model, tmp_path, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 0.0)  # of a device without a battery
    monkeypatch.setattr(time, "localtime", lambda *_: time.gmtime(0.0))
    assert mvset.load(path).get_params() == model.get_params()
    with pytest.raises(ValueError, match="The clock of this computer says 1970, a year that no model file can hold"):
        mvset.save(model, tmp_path / "new.mvset")
