from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mvset

COMMAND = str(Path(sys.executable).parent / "mvset")


def test_version():
    done = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"mvset {mvset.__version__}\n"


def test_help_names_the_commands():
    done = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=True)
    assert "reproduce" in done.stdout


@pytest.mark.parametrize(
    ("missing", "arguments", "said"),
    [
        ("typer", ["--help"], "The command line needs two more packages: pip install 'mvset[cli]'\n"),
        ("matplotlib", ["reproduce", "nu"], "The experiments draw figures: pip install 'mvset[plot]'\n"),
    ],
)
def test_a_missing_extra_is_named(missing, arguments, said, tmp_path):
    code = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['mvset', *{arguments!r}];"
        "from mvset.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == said
