import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import typer

from mvset.app.cli.failures import exit_on_error, require_package


@pytest.mark.parametrize(
    ("error", "said", "code"),
    [
        (KeyboardInterrupt(), "Stopped. All is well.", 130),
        (FileNotFoundError(2, "No such file or directory", "t.csv"), "t.csv: No such file or directory.", 1),
        (OSError(28, "No space left on device"), "No space left on device.", 1),
        (MemoryError(), "There is not enough memory for this.", 1),
        (ValueError("Correct it."), "Correct it.", 1),
    ],
)
def test_errors_that_users_can_fix_are_one_sentence(capsys, error, said, code):
    with pytest.raises(typer.Exit) as left, exit_on_error(ValueError, on_interrupt="All is well."):
        raise error
    assert left.value.exit_code == code
    assert capsys.readouterr() == ("", said + "\n")


@pytest.mark.filterwarnings("default")
def test_warnings_are_notes(capsys):
    with exit_on_error(on_interrupt=""):
        warnings.warn("Column 'a' is constant.", stacklevel=1)
    assert capsys.readouterr() == ("", "Note: Column 'a' is constant.\n")


def test_a_missing_package_is_named_with_its_extra(capsys):
    require_package("pyarrow", "cli", "Reading tables needs one more package")
    with pytest.raises(typer.Exit):
        require_package("no_such_package", "cli", "Reading tables needs one more package")
    assert capsys.readouterr().err == "Reading tables needs one more package: pip install 'mvset[cli]'\n"


def test_a_bug_is_a_sentence_unless_asked_for(capsys, monkeypatch):
    def stumble():
        with exit_on_error(ValueError, on_interrupt=""):
            raise KeyError("sigma")

    with pytest.raises(typer.Exit) as left:
        stumble()
    assert left.value.exit_code == 1
    said = "This is a bug in mvset: KeyError('sigma'). Set MVSET_TRACEBACK=1 to see the traceback.\n"
    assert capsys.readouterr().err == said
    monkeypatch.setenv("MVSET_TRACEBACK", "1")
    with pytest.raises(KeyError):
        stumble()


def test_a_small_address_space_is_said(tmp_path):
    """Libraries would abort, without a word that helps."""
    command = str(Path(sys.executable).parent / "mvset")
    limited = ["bash", "-c", f"ulimit -v 2000000; {command} fit {tmp_path}/t.csv"]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert (
        done.stderr == "The address space is limited to 1.9 GiB (ulimit -v): mvset needs 2.8 GiB for its libraries.\n"
    )
