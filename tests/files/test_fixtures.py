"""Model files of the first format that a release reads: every version must read them and answer the same."""

import json
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import InconsistentVersionWarning

import mvset
from model_answers import answers, table_of
from mvset.exceptions import ModelFileWarning
from mvset.files.model_file import _TRUSTED

FOLDER = Path(__file__).parent / "fixtures"
CASES = json.loads((FOLDER / "answers.json").read_text())
# Read off tables in the file: not one digit may differ. All else is computed, on machines that round differently.
EXACT = {"label", "level", "offset", "p-value", "label by group", "level by group"}


def loaded(path):
    with warnings.catch_warnings():  # of versions other than those that wrote the files
        warnings.simplefilter("ignore", ModelFileWarning)
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        return mvset.load(path)


@pytest.mark.parametrize("name", CASES)
def test_a_file_of_the_first_release_answers_as_then(name):
    case = CASES[name]
    found = answers(loaded(FOLDER / f"{name}.mvset"), table_of(case), case["strata"])
    assert set(found) >= set(case["answers"])
    for what, expected in case["answers"].items():
        if what in EXACT:
            assert found[what] == expected, what
        else:
            single = name == "large_table"  # scores in float32
            np.testing.assert_allclose(found[what], expected, rtol=1e-4 if single else 1e-10, atol=1e-12, err_msg=what)


@pytest.mark.parametrize("name", CASES)
def test_what_was_read_is_written_and_read_again(name, tmp_path):
    case = CASES[name]
    mvset.save(loaded(FOLDER / f"{name}.mvset"), tmp_path / "m")
    first, again = (
        answers(loaded(path), table_of(case), case["strata"]) for path in (FOLDER / f"{name}.mvset", tmp_path / "m")
    )
    np.testing.assert_equal(first, again)  # where volumes were not measured, they are NaN


def test_the_files_hold_every_type_of_the_library():
    schemas = "".join(zipfile.ZipFile(FOLDER / f"{name}.mvset").read("schema.json").decode() for name in CASES)
    for trusted in _TRUSTED:
        module, _, kind = trusted.rpartition(".")
        # The first is in scikit-learn's imputers; files of the second are tied to a version of scikit-learn.
        if module not in ("numpy", "sklearn.tree._tree"):
            assert f'"__class__": "{kind}",' in schemas, trusted


def test_the_files_are_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 400_000
