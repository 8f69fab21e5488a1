"""What the command line says can be done on the command line."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import mvset as library
from mvset.cli.advice import in_options

SOURCES = Path(library.__file__).parent
# What no command runs, or what only a program can ask for.
NOT_SHOWN = (
    "estimators/one_class_svm.py",
    "estimators/plugin_kernel_density.py",
    "estimators/calibrated_set.py",
    "metrics/",
    "plotting/",
    "experiments/",
    "datasets.py",
    "judge.py",
    "summaries/slices.py",
    "cli/advice.py",
)
NOT_REACHED = (
    "splits=",  # a splitter of scikit-learn
    "splits must be",
    "make_pipeline(",  # the command has a metric
    'calibration="split"',  # of calibration="paper"
    "Give sigma as a list",  # silenced by the command
    "Before the set it takes StandardScaler",  # of a model made in Python
    "Input X contains NaN",  # tables are checked when they are read
    "masked array",
    "are not numeric",
    "is not numeric",
    "sklearn.",
    "categorical_features: there",  # tables check the names of columns themselves
    "nothing to impute from",
    "dtype must be",
)


def _text(node):
    """The text of a message, with a number for everything that is put in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else _value(part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    return ""


def _value(part):
    return "'pac'" if part.conversion == ord("r") else "0.5"


def messages():
    """All sentences of the library that a command may show."""
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if name.startswith(NOT_SHOWN):
            continue
        tree = ast.parse(path.read_text())
        documented = {id(node.body[0].value) for node in ast.walk(tree) if _has_docstring(node)}
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            text = _text(node) if isinstance(node, ast.JoinedStr | ast.Constant) else ""
            if " " in text and id(node) not in documented | inner and not any(part in text for part in NOT_REACHED):
                yield pytest.param(text, id=f"{name}:{node.lineno}")


def _has_docstring(node):
    body = getattr(node, "body", None)
    return isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


PARAMETERS = [name for name in inspect.signature(library.MinimumVolumeSet).parameters]
OF_PYTHON = re.compile(
    rf"\b({'|'.join(PARAMETERS)})=|\b({'|'.join(name for name in PARAMETERS if '_' in name)})\b"
    r"|\bfit\(|\bmake_pipeline\b|StandardScaler|\bn_samples\b|mvset\.load\b|, or a wider sigma"
)


def test_no_message_of_a_command_names_a_parameter_of_python():
    shown = [message.values[0] for message in messages()]
    assert len(shown) > 200
    assert sum(OF_PYTHON.search(text) is not None for text in shown) > 10  # which are then translated
    wrong = [text for text in map(in_options, shown) if OF_PYTHON.search(text)]
    assert wrong == []


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Raise n_volume_points.", "Raise --volume-points."),
        ("Raise n_volume_points or try 'auto'.", "Raise --volume-points."),
        ("nu=0.4 is too small. Try nu=0.5 or more, or a wider sigma.", "--nu 0.4 is too small. Try --nu 0.5 or more."),
        ("at sigma=0.123 is", "at sigma 0.123 is"),
        (
            "n_samples=400 rows are too few to guarantee mass=0.999 with calibration='pac' with confidence=0.95: that "
            "takes 2995 rows reserved for calibration and some to fit, 5990 in all with calibration_size=0.5.",
            "400 rows are too few to guarantee --mass 0.999 with --calibration pac: that takes 2995 rows reserved for "
            "calibration and some to fit, 5990 in all.",
        ),
        (
            "2 solves did not converge: KKT gap up to 2 with tol=0.001. max_iter reached: raise it, or loosen tol.",
            "2 solves did not converge: KKT gap up to 2. The set may be larger than need be; its mass is still right.",
        ),
    ],
)
def test_messages_in_options(said, shown):
    assert in_options(said) == shown


@pytest.mark.filterwarnings("default")
def test_advice_about_nu_can_be_followed(mvset, folder):
    fit = ("fit", "normal.csv", "--exclude", "id", "--out", "m", "--mass", "50%")
    said = mvset(*fit).stderr
    assert said.startswith("Note: --nu 0.4 is too small here: ")
    advice = shlex.split(re.search(r"Try (--nu [\d.]+)( or more)?\.\n", said)[1])
    assert mvset(*fit, *advice).stderr == ""


@pytest.mark.filterwarnings("default")
def test_advice_about_rows_in_time_order_can_be_followed(mvset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    steps = np.random.default_rng(0).normal(size=(400, 2))
    rows = np.zeros((400, 2))
    for i in range(1, 400):
        rows[i] = 0.95 * rows[i - 1] + steps[i]
    pa.csv.write_csv(pa.table({"hour": np.arange(400), "flow": rows[:, 0], "pressure": rows[:, 1]}), "t.csv")
    said = mvset("fit", "t.csv", "--exclude", "hour", "--out", "m").stderr
    assert "If rows are in time order, use --time COLUMN; if several belong together, --group COLUMN;" in said
    assert mvset("fit", "t.csv", "--time", "hour", "--out", "m").stderr == ""


@pytest.mark.filterwarnings("default")
def test_advice_about_volume_points_can_be_followed(mvset, folder, monkeypatch):
    monkeypatch.setattr("mvset.bandwidth.diagnostics.SUFFICIENT", 5_000)
    fit = ("fit", "normal.csv", "--exclude", "id", "--out", "m", "--volume-points")
    said = mvset(*fit, "3000").stderr
    assert said.startswith("Note: The volumes are unreliable: of ")
    assert said.endswith("Raise --volume-points.\n")
    assert mvset(*fit, "20000").stderr == ""
    assert library.load("m")[-1].n_volume_points == 20_000


def test_too_few_groups_are_said_of_the_option(mvset, folder):
    pa.csv.write_csv(pa.csv.read_csv("normal.csv").append_column("m", pa.array(["x"] * 400)), "one.csv")
    done = mvset("fit", "one.csv", "--exclude", "id", "--group", "m", "--out", "m.mvset")
    assert done.stderr == (
        "--group has 1 distinct value in 400 rows; at least 2 are needed, one to train on and one to hold out. Leave "
        "--group out if the rows do not belong together.\n"
    )
