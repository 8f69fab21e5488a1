"""Tables as people have them, through the command: an answer or a sentence."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import mvset
import ugly_tables
from mvset.app.cli.app import app

COMMAND = str(Path(sys.executable).parent / "mvset")
N_CHUNKS = 12


@pytest.fixture(scope="session")
def ugly_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ugly")
    return folder, ugly_tables.write_ugly_files(folder)


def arguments_of(case, folder):
    names = [each.replace("{folder}", str(folder)) if "://" in each else str(folder / each) for each in case.files]
    options = [each.replace("{folder}", str(folder)) for each in case.options]
    if "--keep" in options:  # an option of other commands: such a column is not fitted to
        options[options.index("--keep")] = "--exclude"
    return names, options


def wrong_about(case, code, stdout, stderr, folder, model):
    """What is not as it must be; None if nothing is."""
    if case.error is not None:
        sentences = [line for line in stderr.splitlines() if not line.startswith("Note: ")]
        as_expected = code == 1 and not stdout and case.error.replace("{folder}", str(folder)) in stderr
        return None if as_expected and len(sentences) == 1 else f"exit code {code}, said {stderr!r}"
    if code:
        return stderr
    found = json.loads(stdout)["rows_used"], sorted(mvset.load(model).feature_names_in_)
    if found != (case.rows, sorted([*case.columns, *case.categories])):
        return f"{found[0]} rows, columns {found[1][:5]}; {stderr}"
    unsaid = [name for name in case.left_out if f"left out of the fit: {name}" not in stderr]
    return f"nothing is said about {unsaid}" if unsaid else None


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("quick_fits")
@pytest.mark.parametrize(
    "chunk", [pytest.param(chunk, marks=[pytest.mark.slow] * (chunk % 6 > 0)) for chunk in range(N_CHUNKS)]
)
def test_ugly_files_give_an_answer_or_a_sentence(chunk, ugly_files, tmp_path):
    folder, cases = ugly_files
    wrong, model = {}, tmp_path / "model.mvset"
    for case in [each for each in cases if not each.stdin][chunk::N_CHUNKS]:
        names, options = arguments_of(case, folder)
        done = CliRunner().invoke(app, ["fit", *names, *options, "--out", str(model), "--json"])
        assert done.exception is None or isinstance(done.exception, SystemExit), (case.name, repr(done.exception))
        if said := wrong_about(case, done.exit_code, done.stdout, done.stderr, folder, model):
            wrong[case.name] = said
    assert wrong == {}
    assert not (folder / "stolen.csv").exists()


def test_there_are_many(ugly_files):
    assert len({name for case in ugly_files[1] for name in case.files}) > 100


@pytest.mark.slow
def test_tables_come_through_standard_input_and_pipes(ugly_files, tmp_path):
    folder, cases = ugly_files
    for case in (each for each in cases if each.stdin):
        content = (folder / case.files[0]).read_bytes()
        command = [COMMAND, "fit", "-", "--out", str(tmp_path / "m"), "--json"]
        done = subprocess.run(command, input=content, capture_output=True, check=False)
        said = wrong_about(case, done.returncode, done.stdout.decode(), done.stderr.decode(), folder, tmp_path / "m")
        assert said is None
    script = f"{COMMAND} fit <(cat {folder / 'part1.csv'}) --out {tmp_path / 'm'} --json"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False, text=True)
    assert json.loads(done.stdout)["rows_used"] == 30


def test_a_model_reads_later_tables_as_the_first(ugly_files, tmp_path):
    """A table of two rows does not tell whether it has a header, or what its commas mean; the model does."""
    model, out = tmp_path / "model.mvset", tmp_path / "scores.ndjson"
    (tmp_path / "no_header.csv").write_text("20.5,1.5,300\n21.5,1.4,310\n")
    (tmp_path / "commas.csv").write_text("temperature;pressure;flow\n20,512;1,512;300,512\n21,5;1,5;300\n")
    (tmp_path / "err.csv").write_text("temperature,pressure,flow\nERR,1.5,300\n21,1.5,300\n")
    for trained, options, scored, n_answers in (
        ("no_header.csv", [], "no_header.csv", 2),
        ("decimal_commas.csv", [], "commas.csv", 2),
        ("err.csv", ["--read", "na=ERR", "--missing", "drop"], "err.csv", 1),
    ):
        fit = CliRunner().invoke(app, ["fit", str(ugly_files[0] / trained), *options, "--out", str(model)])
        assert fit.exit_code == 0, fit.stderr
        done = CliRunner().invoke(app, ["score", str(model), str(tmp_path / scored), "--out", str(out)])
        assert done.exit_code == 0, done.stderr
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        assert [line["row"] for line in lines] == [0, 1]
        assert sum(line["inside"] is not None for line in lines) == n_answers


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("semicolons.csv", "separated by semicolon"),
        ("no_header.csv", "no header, so that columns are called column1, column2, …"),
        ("title_above_header.csv", "2 lines above the table skipped"),
        ("units_below_header.csv", "1 row of units below the header skipped"),
        ("decimal_commas.csv", "separated by semicolon, decimal commas"),
        ("several_spaces.dat", "separated by white space"),
        ("comments.csv", "2 lines above the table skipped"),
        ("comments_between.csv", "lines that begin with # skipped"),
    ],
)
def test_what_was_guessed_is_said(name, said, ugly_files, tmp_path):
    done = CliRunner().invoke(app, ["fit", str(ugly_files[0] / name), "--out", str(tmp_path / "m")])
    assert done.stderr == f"Note: {ugly_files[0] / name} is read as a table: {said}.\n"
