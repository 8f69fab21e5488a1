"""Compiled kernels where nothing can be kept on disk: everything works, with one sentence."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import mvset
from mvset.exceptions import MvsetWarning
from mvset.svm import compiled

SENTENCE = "numba cannot keep compiled kernels on disk, so every process compiles them again: set NUMBA_CACHE_DIR"
CODE = """
import warnings; warnings.simplefilter("always")
import numpy as np
from mvset.svm.compiled import fill_gram, scaled_columns
gram = np.empty((2, 2), np.float32)
fill_gram(np.zeros((1, 2), np.float32), 0, 2, gram)
print(gram.sum())
"""


@pytest.fixture
def nowhere(tmp_path):
    """An environment without a folder for a cache: a file is in the place of each, which binds every user."""
    package = shutil.copytree(
        Path(mvset.__file__).parent, tmp_path / "mvset", ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "svm" / "__pycache__").write_text("")
    (tmp_path / "file").write_text("")
    names = ("HOME", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA")
    folders = {name: str(tmp_path / "file" / "folder") for name in names}
    return {**os.environ, **folders, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}


def test_kernels_run_without_a_folder_for_their_cache(nowhere):
    done = subprocess.run([sys.executable, "-c", CODE], env=nowhere, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "4.0\n"), done.stderr
    assert done.stderr.count(SENTENCE) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_command_says_so_in_one_line(nowhere, tmp_path):
    command = [str(Path(sys.executable).parent / "mvset"), "reproduce"]
    done = subprocess.run(command, env=nowhere, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [f"Note: {SENTENCE} to a folder that can be written."]


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), EOFError(), pickle.UnpicklingError()])
@pytest.mark.parametrize("step", ["load_overload", "save_overload"])
def test_a_cache_that_fails_later_costs_a_compilation(failure, step, monkeypatch):
    def fail(*_):
        raise failure

    for other in ("load_overload", "save_overload"):
        monkeypatch.setattr(f"numba.core.caching.FunctionCache.{other}", fail if other == step else lambda *_: None)
    monkeypatch.setattr(compiled, "_advise_on_cache", compiled._advise_on_cache.__wrapped__)

    @compiled.kernel
    def total(values):
        return values.sum()

    with pytest.warns(MvsetWarning, match="numba cannot keep"):
        assert total(np.ones(3)) == 3.0


class _Uncached:
    """A compiled function that calls its cache by another name."""

    def __init__(self, compiled_function):
        self.function = compiled_function

    def __call__(self, *arguments):
        return self.function(*arguments)


class _OtherCache(numba.core.caching.NullCache):
    """A cache whose steps have other names for all but the dispatcher."""

    def __init__(self, _):
        pass

    def __getattribute__(self, name):
        if name in ("load_overload", "save_overload") and sys._getframe(1).f_globals["__name__"] == compiled.__name__:
            raise AttributeError(name)
        return super().__getattribute__(name)


@pytest.mark.parametrize("renamed", ["_cache", "load_overload"])
def test_another_numba_costs_only_the_sentence(renamed, monkeypatch):
    """Import must survive a numba that has renamed what `kernel` wraps."""
    if renamed == "_cache":
        njit = compiled.njit
        monkeypatch.setattr(compiled, "njit", lambda **_: lambda function: _Uncached(njit()(function)))
    else:
        monkeypatch.setattr("numba.core.dispatcher.FunctionCache", _OtherCache)

    @compiled.kernel
    def total(values):
        return values.sum()

    assert total(np.ones(3)) == 3.0
