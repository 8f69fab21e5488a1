import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import mvset
from mvset.app.cli.app import app
from mvset.app.cli.failures import EXIT_CODES

COMMAND = str(Path(sys.executable).parent / "mvset")


def test_version():
    done = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"mvset {mvset.__version__}\n"


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["fit", "--help"], ["score", "--help"]])
def test_the_command_line_answers_without_loading_the_library(arguments):
    code = (
        "import sys, mvset_command\n"
        f"sys.argv = ['mvset', *{arguments!r}]\n"
        "try:\n    mvset_command.main()\n"
        "except SystemExit as left:\n    assert not left.code\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'pyarrow', 'joblib', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert "mvset" in done.stdout


def _completed(*words):
    """What the shell is told when the last word is to be completed."""
    environment = {"_MVSET_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": f"{len(words) - 1}"}
    done = subprocess.run([COMMAND], capture_output=True, text=True, env={**os.environ, **environment})
    assert done.stderr == ""
    return done.stdout.split()


def test_shells_complete_commands_and_options():
    assert _completed("mvset", "re") == ["report", "reproduce"]
    assert _completed("mvset", "score", "--only") == ["--only-outside"]


def test_completion_is_installed(tmp_path):
    environment = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    install = [COMMAND, "--install-completion", "bash"]
    subprocess.run(install, capture_output=True, check=True, env={**os.environ, **environment})
    (script,) = (tmp_path / ".bash_completions").iterdir()
    assert str(script) in (tmp_path / ".bashrc").read_text()
    assert "_MVSET_COMPLETE=complete_bash" in script.read_text()


def test_help_names_the_commands():
    done = CliRunner().invoke(app, ["--help"])
    assert done.exit_code == 0
    for command in ("fit", "score", "report", "info", "export", "demo", "reproduce"):
        assert command in done.stdout


@pytest.mark.parametrize("command", ["fit", "score", "report", "info", "export", "demo", "reproduce"])
def test_every_command_has_examples_and_exit_codes(command):
    said = " ".join(CliRunner().invoke(app, [command, "--help"]).stdout.split())
    assert f"mvset {command}" in said.partition("For example:")[2]
    assert EXIT_CODES.replace("`", "") in said


def test_without_typer_the_extra_is_named():
    code = "import sys; sys.modules['typer'] = None; from mvset_command import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "The command line needs more packages: pip install 'mvset[cli]'\n"


MISSING = {
    "matplotlib": (["reproduce", "nu"], "The experiments draw figures: pip install 'mvset[plot]'\n"),
    "pyarrow": (["fit", "t.csv"], "Reading tables needs one more package: pip install 'mvset[cli]'\n"),
    "plotly": (["report", "m", "t.csv"], "The report needs more packages: pip install 'mvset[report]'\n"),
    "onnx": (["export", "m", "--onnx", "o"], "ONNX export needs more packages: pip install 'mvset[onnx]'\n"),
}


@pytest.mark.slow
def test_a_missing_extra_is_named(tmp_path):
    """The command line loads without any of them; each is then asked for by the command that needs it, and alone."""
    code = (
        "import sys\n"
        f"missing = {MISSING!r}\n"
        "sys.modules.update(dict.fromkeys(missing))\n"
        "from mvset.app.cli import load_app\n"
        "load_app()\n"
        "from mvset_command import main\n"
        "for package, (arguments, said) in missing.items():\n"
        "    for name in missing:\n"
        "        sys.modules.pop(name, None)\n"
        "    sys.modules[package] = None\n"
        "    sys.argv = ['mvset', *arguments]\n"
        "    try:\n        main()\n"
        "    except SystemExit as left:\n        print(left.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stderr == "".join(said for _, said in MISSING.values())
    assert done.stdout == "1\n" * len(MISSING)
