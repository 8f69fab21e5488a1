from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mvset import MinimumVolumeSet, save
from mvset.datasets import two_moons

COMMAND = str(Path(sys.executable).parent / "mvset")


@pytest.fixture
def folder(tmp_path):
    save(MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(300, random_state=0)), tmp_path / "model.mvset")
    lines = [f"{i},{x},{y}" for i, (x, y) in enumerate(two_moons(200, random_state=1))]
    (tmp_path / "today.csv").write_text("\n".join(["id,x0,x1", *lines, "200,,1.0", ""]))
    return tmp_path


def run(*arguments, cwd):
    return subprocess.run([COMMAND, "report", *arguments], capture_output=True, text=True, check=False, cwd=cwd)


def test_a_page_about_a_table(folder):
    done = run("model.mvset", "today.csv", "--keep", "id", "--drop-missing", "--mass", "0.9", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "report.html\n", "")
    page = (folder / "report.html").read_text()
    assert "<h1>today.csv</h1>" in page
    assert "of 200 rows outside" in page
    assert "1 row was left out for missing values" in page
    assert '<output id="mass-value" for="mass">0.9</output>' in page


def test_missing_values_stop_it_and_leave_no_page(folder):
    done = run("model.mvset", "today.csv", cwd=folder)
    assert done.returncode == 1
    assert "missing or infinite values in 'x0' (1), in 1 of the first 201 rows" in done.stderr
    assert "--drop-missing" in done.stderr
    assert not (folder / "report.html").exists()


def test_a_page_in_place_of_a_table_is_refused(folder):
    done = run("model.mvset", "today.csv", "--out", "today.csv", "--drop-missing", cwd=folder)
    assert done.returncode == 2
    assert (folder / "today.csv").read_text().startswith("id,x0,x1")


def test_a_page_is_html(folder):
    done = run("model.mvset", "today.csv", "--out", "page.pdf", "--drop-missing", cwd=folder)
    assert done.returncode == 2
    assert "ends in .html" in " ".join(done.stderr.replace("│", " ").split())
    assert not (folder / "page.pdf").exists()
