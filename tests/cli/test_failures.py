from __future__ import annotations

import warnings

import pytest
import typer

from mvset.cli.failures import explained, need


@pytest.mark.parametrize(
    ("error", "said", "code"),
    [
        (KeyboardInterrupt(), "Stopped. All is well.", 130),
        (FileNotFoundError(2, "No such file or directory", "t.csv"), "t.csv: No such file or directory.", 1),
        (OSError(28, "No space left on device"), "No space left on device.", 1),
        (MemoryError(), "There is not enough memory for this.", 1),
        (ValueError("Mend it."), "Mend it.", 1),
    ],
)
def test_what_users_can_mend_is_a_sentence(capsys, error, said, code):
    with pytest.raises(typer.Exit) as left, explained(ValueError, when_stopped="All is well."):
        raise error
    assert left.value.exit_code == code
    assert capsys.readouterr() == ("", said + "\n")


@pytest.mark.filterwarnings("default")
def test_warnings_are_notes(capsys):
    with explained(when_stopped=""):
        warnings.warn("'a' never changes.", stacklevel=1)
    assert capsys.readouterr() == ("", "Note: 'a' never changes.\n")


def test_a_missing_package_is_named_with_its_extra(capsys):
    need("pyarrow", "cli", "Reading tables needs one more package")
    with pytest.raises(typer.Exit):
        need("no_such_package", "cli", "Reading tables needs one more package")
    assert capsys.readouterr().err == "Reading tables needs one more package: pip install 'mvset[cli]'\n"


def test_a_bug_is_a_sentence_unless_asked_for(capsys, monkeypatch):
    def stumble():
        with explained(ValueError, when_stopped=""):
            raise KeyError("sigma")

    with pytest.raises(typer.Exit) as left:
        stumble()
    assert left.value.exit_code == 1
    assert capsys.readouterr().err == "This is a bug in mvset: KeyError('sigma'). MVSET_TRACEBACK=1 shows where.\n"
    monkeypatch.setenv("MVSET_TRACEBACK", "1")
    with pytest.raises(KeyError):
        stumble()
