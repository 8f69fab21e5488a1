"""What the command line says can be done on the command line."""

import ast
import inspect
import pickle
import re
import string
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import mvset as library
from mvset.app.cli.failures import OPTIONS, in_options
from mvset.exceptions import MvsetWarning, warn
from mvset.wording import Message

SOURCES = Path(library.__file__).parent
# What no command runs, or what only a program can ask for.
NOT_SHOWN = ("estimators/one_class_svm.py", "estimators/calibrated_set.py", "paper/", "plotting/", "wording.py")
NOT_REACHED = (
    "splits=",  # a splitter of scikit-learn
    "splits must be",
    "make_pipeline(",  # the command has a scaling
    'calibration="cross"',  # of calibration="paper"
    "Before the set it takes StandardScaler",  # of a model made in Python
    "Input X contains NaN",  # tables are checked when they are read
    "masked array",
    "are not numeric",
    "is not numeric",
    "sklearn.",
    "categorical_features: there",  # tables check the names of columns themselves
    "nothing to impute from",
    "dtype must be",
    "loosen tol",  # of OneClassSVM
    "rows of a stream or of a GPU array",  # tables have their categories
)
CALLED = (library.MinimumVolumeSet, library.MinimumVolumeSet.fit, library.OneClassSVM, library.load)
PARAMETERS = {name for each in CALLED for name in inspect.signature(each).parameters} - {"self", "X", "y", "path"}
OF_PYTHON = re.compile(
    rf"\b({'|'.join(PARAMETERS)})=|\b({'|'.join(name for name in PARAMETERS if '_' in name)})\b"
    r"|\bfit\(|\bmake_pipeline\b|StandardScaler|\bn_samples\b|mvset\.load\b|, or a wider sigma"
)


def literals():
    """All pieces of text of the library that a command may show, with a number for everything that is put in."""
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if name.startswith(NOT_SHOWN):
            continue
        tree = ast.parse(path.read_text())
        documented = {id(node.body[0].value) for node in ast.walk(tree) if _has_docstring(node)}
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            text = _text(node)
            if " " in text and id(node) not in documented | inner and not any(part in text for part in NOT_REACHED):
                yield text


def _text(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else _value(part) for part in node.values)
    return ""


def _value(part):
    return "'pac'" if part.conversion == ord("r") else "0.5"


def _has_docstring(node):
    body = getattr(node, "body", None)
    return isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


def fields(text):
    """Names in a template; nothing for other text."""
    try:
        parts = [(name, spec) for _, name, spec, _ in string.Formatter().parse(text) if name]
    except ValueError:
        return set()
    names = {name for name, _ in parts}.union(*(fields(spec) for _, spec in parts))
    return names if all(map(str.isidentifier, names)) else set()


def shown(text):
    """A piece of text as the command shows it."""
    names = fields(text)
    return in_options(Message(text, **dict.fromkeys(names - PARAMETERS, 0.5))) if names else text


def test_no_message_of_a_command_names_a_parameter_of_python():
    found = list(literals())
    assert len(found) > 200
    assert sum(bool(fields(text) & PARAMETERS) for text in found) > 10
    assert [text for text in map(shown, found) if OF_PYTHON.search(text)] == []


@pytest.mark.parametrize(
    "said",
    ["Use time_order=True.", "Raise n_volume_points.", "Try nu=0.5.", "Use fit(X, groups=...).", "n_samples=3 rows"],
)
def test_a_message_that_names_a_parameter_of_python_is_found(said):
    assert OF_PYTHON.search(shown(said))


def test_no_fact_of_a_message_has_the_name_of_a_parameter():
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Message":
                assert not {keyword.arg for keyword in node.keywords} & PARAMETERS, (path, node.lineno)


def test_the_options_of_messages_exist(mvset):
    shown_options = " ".join(mvset("fit", "--help").stdout.split())
    assert all(f"{option} " in shown_options for option in OPTIONS.values())
    assert set(OPTIONS) <= PARAMETERS


def test_each_interface_words_a_message_in_its_own_terms():
    message = Message(
        "{n} rows cannot guarantee {mass:{asked:g}}.",
        "If rows are in time order, use {time_order:True}; if several belong together, {groups:...}.",
        "Lower {mass}, or raise {n_volume_points} to {value:g}.",
        "Try {mass:{value:g}}.",
        "A wider {sigma} also helps.",
        n=3,
        asked=0.999,
        value=0.25,
    )
    assert message == (
        "3 rows cannot guarantee mass=0.999. If rows are in time order, use time_order=True; if several belong "
        "together, fit(X, groups=...). Lower mass, or raise n_volume_points to 0.25. Try mass=0.25. A "
        "wider sigma also helps."
    )
    in_command = (
        "3 rows cannot guarantee --mass 0.999. If rows are in time order, use --time COLUMN; if several belong "
        "together, --group COLUMN. Try --mass 0.25."
    )
    assert in_options(message) == in_options(ValueError(message)) == in_command
    assert str(ValueError(message)) == message
    assert in_options(pickle.loads(pickle.dumps(ValueError(message)))) == in_command
    with warnings.catch_warnings(record=True, action="always") as caught:
        warn(message, MvsetWarning)
    assert in_options(caught[0].message) == in_command
    assert in_options("plain text") == in_options(ValueError("plain text")) == "plain text"


def test_values_that_look_like_fields_stay_as_they_are():
    assert Message("Column {name} is odd.", name="{nu}") == "Column {nu} is odd."


@pytest.mark.filterwarnings("default")
def test_advice_about_rows_in_time_order_can_be_followed(mvset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    steps = np.random.default_rng(0).normal(size=(400, 2))
    rows = np.zeros((400, 2))
    for i in range(1, 400):
        rows[i] = 0.95 * rows[i - 1] + steps[i]
    pa.csv.write_csv(pa.table({"hour": np.arange(400), "flow": rows[:, 0], "pressure": rows[:, 1]}), "t.csv")
    said = mvset("fit", "t.csv", "--exclude", "hour", "--out", "m").stderr
    assert "If rows are in time order, use --time COLUMN; if several belong together, --group COLUMN." in said
    said = mvset("fit", "t.csv", "--time", "hour", "--out", "m").stderr
    assert said.startswith("Note: Rows are still similar after 20 rows, ")  # of 400 in all
    assert "--" not in said


@pytest.mark.filterwarnings("default")
def test_volumes_of_few_points_are_a_note_without_advice(mvset, folder, monkeypatch):
    """The command has no option for the number of points."""
    monkeypatch.setattr("mvset.bandwidth.diagnostics._ENOUGH", 50_000)
    said = mvset("fit", "normal.csv", "--exclude", "id", "--out", "m").stderr
    assert re.fullmatch(r"Note: The volumes are unreliable: of .* are needed\.\n", said)


def test_too_few_groups_are_said_of_the_option(mvset, folder):
    pa.csv.write_csv(pa.csv.read_csv("normal.csv").append_column("m", pa.array(["x"] * 400)), "one.csv")
    done = mvset("fit", "one.csv", "--exclude", "id", "--group", "m", "--out", "m.mvset")
    assert done.stderr == (
        "--group has 1 distinct value in 400 rows; at least 2 are needed, one to train on and one to hold out. Leave "
        "out --group if the rows do not belong together.\n"
    )
