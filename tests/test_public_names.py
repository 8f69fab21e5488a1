"""The public names of the package, which are imported when they are first used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mvset
from mvset.inference.results import DriftResult


def test_every_public_name_can_be_used():
    for name in mvset.__all__:
        assert getattr(mvset, name) is not None
        assert name in dir(mvset)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'mvset' has no attribute 'MinimalVolumeSet'"):
        _ = mvset.MinimalVolumeSet
    with pytest.raises(ImportError):
        exec("from mvset import MinimalVolumeSet")


def test_type_checkers_see_each_name_where_it_is_found():
    tree = ast.parse(Path(mvset.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    checked = {name.name: line.module for line in block.body for name in line.names}
    assert checked == {name: home for home, names in mvset._HOMES.items() for name in names} | {"results": "mvset"}
    assert {*checked, "exceptions", "__version__"} == set(mvset.__all__)


def test_what_methods_return_is_in_one_place():
    assert len(mvset.__all__) <= 22
    for name in mvset.results.__all__:
        assert isinstance(getattr(mvset.results, name), type)
    assert mvset.results.DriftResult is DriftResult


def test_importing_the_package_imports_nothing_heavy():
    code = "import mvset, sys; print(sorted({'numpy', 'scipy', 'sklearn', 'numba'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
