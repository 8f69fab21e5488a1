"""The check of our style finds what it is made for, and nothing in sentences that follow it."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
_spec = importlib.util.spec_from_file_location("prose", ROOT / "tools" / "prose.py")
prose = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(prose)


@pytest.mark.parametrize(
    "sentence",
    [
        "The mass is that of the estimator.",
        "Parameters are those\n    of scikit-learn.",
        "the one of the least area",
        "False alarms occur in 1 % at most.",
        "It takes 20 rows at most.",
        "Calibrated from 20 000 rows on.",
        "It holds about as often.",
        "Groups that shall have their own share.",
        "Neighbours are alike.",
        "It cannot tell the two apart.",
        "uniform in the mean",
        "a row near by",
        "It works for arrays, too.",
        "They are read as well.",
        "The order must be said.",
    ],
)
def test_found(sentence):
    assert len(list(prose.hits(sentence))) == 1


@pytest.mark.parametrize(
    "sentence",
    [
        "At most 1 % of alarms are false.",
        "With 200 rows or more, in the meantime, as well as before.",
        "A set that of course contains `that of` and ``those of``: too many.",
        "In the mean of ten splits, from 3 machines on the network to 5.",
    ],
)
def test_not_found(sentence):
    assert list(prose.hits(sentence)) == []


def test_texts_of_python_are_read_with_their_lines(tmp_path):
    path = tmp_path / "a.py"
    path.write_text('"""A module.\n\nLike that of others.\n"""\nx = f"{1} shall be"  # those\n# of us\n\'that of\'\n')
    found = [(first + line, phrase) for first, text in prose.sentences(path) for line, _, phrase in prose.hits(text)]
    assert sorted(found) == [(3, "that of"), (5, "shall"), (5, "those of"), (7, "that of")]


def test_the_number_of_hits_may_only_fall():
    found = {"a.md": ["one", "two"], "b.md": ["three"]}
    assert prose.too_many(found, "2 a.md\n1 b.md\n") == []
    assert prose.too_many(found, "3 a.md\n") == ["three"]
    assert prose.too_many(found, "1 a.md\n1 b.md\n") == ["one", "two"]


def test_code_on_pages_is_not_prose(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("Like that of us.\n\n```python\n# that of\n```\n\n<!--- that of -->\nAgain, those of us.\n")
    found = [first + line for first, text in prose.sentences(path) for line, *_ in prose.hits(text)]
    assert found == [1, 8]
