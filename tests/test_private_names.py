"""All private names of other packages that the package uses, each with a test of what it relies on.

`PRIVATE` is the list: a private name that is not in it fails the last test. If another version of a package breaks one
of these tests, the message names the file to change.
"""

import ast
import inspect
from numbers import Real
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pytest
from numba import njit

import mvset

SOURCE = Path(mvset.__file__).parents[1]


def parameters(function):
    return list(inspect.signature(function).parameters)


def cache_of_numba():
    """svm/compiled.py: wraps the steps of the cache, each a function of what numba passes; goes without if renamed."""
    cached = njit(cache=True)(lambda_with_file)._cache
    for step in ("load_overload", "save_overload"):
        before = getattr(cached, step)
        setattr(cached, step, before)
        assert getattr(cached, step) is before


def lambda_with_file(x):
    return x


def scan_options_of_pyarrow():
    """rows/stream.py: a dataset that is filtered has scan options; it must not be read by files, without the filter."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        pa.dataset.write_dataset(pa.table({"a": [1.0, 2.0]}), folder, format="parquet")
        dataset = pa.dataset.dataset(folder)
        assert not dataset._scan_options
        assert dataset.filter(pa.compute.field("a") > 1)._scan_options


def fit_context_of_sklearn():
    """estimators, paper: checks parameters by `_parameter_constraints` before `fit`."""
    from sklearn.base import BaseEstimator, _fit_context

    class Checked(BaseEstimator):
        _parameter_constraints = {"a": [constraints()["Interval"](Real, 0, 1, closed="neither")]}

        def __init__(self, a=0.5):
            self.a = a

        @_fit_context(prefer_skip_nested_validation=True)
        def fit(self, X, y=None):
            return self

    assert Checked().fit(None).a == 0.5
    with pytest.raises(ValueError, match="'a' parameter of Checked must be a float in the range"):
        Checked(2.0).fit(None)


def constraints():
    from sklearn.utils import _param_validation

    return vars(_param_validation)


def constraints_of_sklearn():
    """estimators, paper: the entries of `_parameter_constraints`."""
    interval = constraints()["Interval"](Real, 0, 1, closed="neither")
    assert interval.is_satisfied_by(0.5)
    assert not interval.is_satisfied_by(1.0)
    assert constraints()["StrOptions"]({"a"}).is_satisfied_by("a")
    assert constraints()["HasMethods"]("fit").is_satisfied_by(mvset.MinimumVolumeSet())


def backend_of_joblib():
    """app/cli/engine.py: a backend whose failed tasks fail, and whose `submit` returns a future."""
    dask = pytest.importorskip("joblib._dask")
    pytest.importorskip("distributed")
    backend = dask.DaskDistributedBackend
    assert parameters(backend.submit)[:3] == ["self", "func", "callback"]
    assert parameters(backend.retrieve_result_callback) == ["self", "out"]
    assert parameters(backend.effective_n_jobs) == ["self", "n_jobs"]
    assert {"client", "wait_for_workers_timeout"} <= set(parameters(backend.__init__))


def frames_of_python():
    """exceptions.py: the frame that called, to warn at the line of the user."""
    import sys

    assert sys._getframe(0).f_code.co_name == "frames_of_python"


def signals_of_python():
    """mvset_command.py: handlers without an import that takes time."""
    import _signal
    import signal

    assert _signal.signal(_signal.SIGTERM, _signal.getsignal(_signal.SIGTERM)) is not None
    assert _signal.SIG_IGN == signal.SIG_IGN


PRIVATE = {
    "_cache": cache_of_numba,
    "_scan_options": scan_options_of_pyarrow,
    "_fit_context": fit_context_of_sklearn,
    "_param_validation": constraints_of_sklearn,
    "_dask": backend_of_joblib,
    "_getframe": frames_of_python,
    "_signal": signals_of_python,
}


@pytest.mark.parametrize("name", PRIVATE)
def test_a_private_name_is_what_we_rely_on(name):
    PRIVATE[name]()


def private_names(tree, ours):
    """Names with one underscore that are imported, read as attributes or named in `getattr`, and not defined by us."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith(("mvset", "__future__")):
            yield from (node.module or "").split(".")
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (part for each in node.names for part in each.name.split("."))
        elif isinstance(node, ast.Attribute) and node.attr not in ours:
            yield node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr", "setattr"):
            name = getattr(node.args[1], "value", "")
            yield from [name] if name not in ours else []


def defined_names(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.attr if isinstance(node, ast.Attribute) else node.id


def test_no_other_private_name_is_used():
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
    ours = {name for tree in trees.values() for name in defined_names(tree)}
    public = {"_exit"}  # of os, documented
    used = {
        name
        for tree in trees.values()
        for name in private_names(tree, ours)
        if isinstance(name, str) and name.startswith("_") and not name.endswith("__") and name not in public
    }
    assert len(trees) > 100
    assert used == set(PRIVATE)
