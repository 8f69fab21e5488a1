import csv
import os
import subprocess
import sys
import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

import mvset
from mvset.exceptions import MvsetWarning
from mvset.paper.experiments.rows import Plan, RowFile, UnusableRowsError, compute_missing

PLAN = Plan(cases=[{"share": 0.1}, {"share": 1 / 3}, {"share": 2.0}], repetitions=3)


def square(task):
    return [{"method": "square", "value": task["share"] ** 2}, {"method": "cube", "value": task["share"] ** 3}]


def rows_of(compute, folder, plan=PLAN, n_jobs=1, **options):
    folder.mkdir(exist_ok=True)
    return compute_missing(compute, plan, folder / "powers.csv", n_jobs=n_jobs, **options).rows(plan)


def never(task):
    raise AssertionError(f"computed again: {task}")


def test_rows_come_back_as_they_lie_on_disk(tmp_path):
    rows = rows_of(square, tmp_path)
    assert len(rows) == 18
    assert rows[0] == {"share": 0.1, "repetition": 0, "method": "square", "value": 0.01, "mvset": mvset.__version__}
    with (tmp_path / "powers.csv").open(newline="") as text:
        on_disk = list(csv.DictReader(text))
    assert [float(row["value"]) for row in on_disk] == [row["value"] for row in rows]
    assert [path.name for path in tmp_path.iterdir()] == ["powers.csv"]


def test_rows_on_disk_are_not_computed_again(tmp_path):
    first = rows_of(square, tmp_path)
    assert RowFile(tmp_path / "powers.csv").missing(PLAN) == []
    assert rows_of(never, tmp_path) == first


def test_rows_of_a_small_plan_serve_a_larger_one(tmp_path):
    small = Plan(PLAN.cases[:2], repetitions=1)
    rows_of(square, tmp_path, small)
    assert len(RowFile(tmp_path / "powers.csv").missing(PLAN)) == 7
    rows = rows_of(square, tmp_path)
    assert rows == rows_of(square, tmp_path / "afresh")


@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_run_keeps_what_is_done_and_goes_on(tmp_path, failure):
    calls = []

    def interrupted(task):
        if len(calls) == 4:
            raise failure
        calls.append(task)
        return square(task)

    done = []
    with pytest.raises(failure):
        rows_of(interrupted, tmp_path, on_done=lambda: done.append(1))
    assert len(done) == 4
    assert len(RowFile(tmp_path / "powers.csv").missing(PLAN)) == 5

    def the_rest(task):
        assert task not in calls
        return square(task)

    rows = rows_of(the_rest, tmp_path)
    assert rows == rows_of(square, tmp_path / "afresh")


@pytest.mark.slow
def test_the_file_does_not_depend_on_the_number_of_processes(tmp_path):
    for n_jobs in (1, 2):
        rows_of(square, tmp_path / str(n_jobs), n_jobs=n_jobs)
    assert (tmp_path / "1" / "powers.csv").read_bytes() == (tmp_path / "2" / "powers.csv").read_bytes()


def test_rows_of_another_version_are_not_mixed_in(tmp_path, monkeypatch):
    rows_of(square, tmp_path)
    before = (tmp_path / "powers.csv").read_bytes()
    monkeypatch.setattr("mvset.paper.experiments.rows.__version__", "99.0")
    with pytest.raises(
        UnusableRowsError, match=r"powers.csv has rows of mvset .*, but this is 99.0: move the file away"
    ):
        rows_of(square, tmp_path)
    assert (tmp_path / "powers.csv").read_bytes() == before


HEADER, STAMP = "share,repetition,value,mvset\n", mvset.__version__
BROKEN = {
    "empty": "",
    "another table": "a,b\n1,2\n",
    "cut inside a line": HEADER + "0.1,0,3\n",
    "cut between the rows of a task": HEADER + f"0.1,0,3,{STAMP}\n0.1,0,4,{STAMP}\n0.1,1,3,{STAMP}\n",
    "binary": "\x00",
    "not text": "\udcff",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_another_file_is_not_overwritten(tmp_path, text):
    (tmp_path / "powers.csv").write_text(text, errors="surrogateescape")
    with pytest.raises(UnusableRowsError, match=r"powers.csv is not a file of rows"):
        rows_of(square, tmp_path)
    assert (tmp_path / "powers.csv").read_text(errors="surrogateescape") == text


def test_advice_is_quiet_and_failed_solves_are_errors(tmp_path):
    def advised(task):
        warnings.warn("try another bandwidth", MvsetWarning, stacklevel=2)
        return square(task)

    def unsolved(task):
        warnings.warn("did not converge", ConvergenceWarning, stacklevel=2)
        return square(task)

    assert rows_of(advised, tmp_path / "advised")
    with pytest.raises(ConvergenceWarning):
        rows_of(unsolved, tmp_path / "unsolved")


def test_rows_of_other_columns_are_not_mixed_in(tmp_path):
    rows_of(square, tmp_path, Plan(PLAN.cases, 1))
    before = (tmp_path / "powers.csv").read_bytes()
    with pytest.raises(ValueError, match="fields not in fieldnames: 'root'"):
        rows_of(lambda task: [{"root": 1.0}] * 2, tmp_path)
    assert (tmp_path / "powers.csv").read_bytes() == before


def test_text_beyond_ascii_is_kept_in_any_locale(tmp_path):
    code = (
        "from pathlib import Path; from mvset.paper.experiments.rows import *;"
        "plan, compute = Plan([{}], 1), lambda task: [{'method': 'best \\u03c3'}];"
        "[row] = compute_missing(compute, plan, Path('greek.csv'), n_jobs=1).rows(plan);"
        "print(ascii(row['method']))"
    )
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout == "'best \\u03c3'\n", done.stderr
