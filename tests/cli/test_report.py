from __future__ import annotations

import shutil

import pytest

from mvset import MinimumVolumeSet, save
from mvset.datasets import two_moons


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.mvset"
    save(MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(300, random_state=0)), path)
    return path


@pytest.fixture
def folder(model, tmp_path, monkeypatch):
    shutil.copy(model, tmp_path)
    monkeypatch.chdir(tmp_path)
    lines = [f"{i},{x},{y}" for i, (x, y) in enumerate(two_moons(200, random_state=1))]
    (tmp_path / "today.csv").write_text("\n".join(["id,x0,x1", *lines, "200,,1.0", ""]))
    return tmp_path


def test_a_page_about_a_table(mvset, folder):
    done = mvset("report", "model.mvset", "today.csv", "--keep", "id", "--mass", "0.9")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "report.html\n", "")
    page = (folder / "report.html").read_text()
    assert "<h1>today.csv</h1>" in page
    assert "of 200 rows outside" in page
    assert "1 row was left out for missing values" in page
    assert '<output id="mass-value" for="mass">0.9</output>' in page


def test_a_page_in_place_of_a_table_is_refused(mvset, folder):
    done = mvset("report", "model.mvset", "today.csv", "--out", "today.csv")
    assert done.exit_code == 2
    assert (folder / "today.csv").read_text().startswith("id,x0,x1")


def test_a_page_is_html(mvset, folder):
    done = mvset("report", "model.mvset", "today.csv", "--out", "page.pdf")
    assert done.exit_code == 2
    assert "ends in .html" in " ".join(done.stderr.replace("│", " ").split())
    assert not (folder / "page.pdf").exists()


def test_a_page_without_rows(mvset, folder):
    done = mvset("report", "model.mvset", "today.csv", "--keep", "id", "--no-rows")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "report.html\n", "")
    page = (folder / "report.html").read_text()
    assert "This page contains no values of single rows" in page
    first = (folder / "today.csv").read_text().splitlines()[1].split(",")[1]
    assert len(first) > 8
    assert first not in page
