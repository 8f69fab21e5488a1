import errno
import os
import re
import shutil
from dataclasses import replace

import pytest

from mvset.paper.experiments import moons
from mvset.paper.experiments.figures import draw, new_figure
from mvset.paper.experiments.reproduce import EXPERIMENTS, plan_jobs, reproduce, write_page
from mvset.paper.experiments.rows import Plan, UnusableRowsError, compute_missing


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    for job in plan_jobs(["nu", "boston"], out, quick=True):
        reproduce(job, out, n_jobs=1, on_done=lambda: None)
    return out


def test_page_compares_the_paper_with_ours(folder):
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert page.count("\n## ") == 2
    assert "![Boston housing](boston.svg)" in page
    chosen = r"0.423 \(4 of 4\)"
    assert re.search(rf"\| σ by the library's rule, from the same list \|  \| {chosen} \|  \|", page)
    assert re.search(
        r"\| points of the set of mass 0.90 outside the set of mass 0.95 \| none \| 0 of 40000 \| ✓ \|", page
    )
    assert "| experiment | in the paper | offsets | bandwidth | repetitions | statements that hold |" in page
    boston = EXPERIMENTS["boston"]
    assert f"| {boston.offsets} | {boston.bandwidth} |" in page
    assert "A quick run" in page
    assert "4 repetitions" in page


def test_links_lead_somewhere(folder):
    page = (folder / "README.md").read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w\- ]", "", line[3:].lower()).replace(" ", "-") for line in page.split("\n") if line[:3] == "## "
    }
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) == headings
    files = set(re.findall(r"\]\(([^#)]*)\)", page))
    assert files == {"nu.csv", "nu.svg", "boston.csv", "boston.svg"}
    assert all((folder / name).exists() for name in files)


def test_an_unfinished_experiment_is_not_on_the_page(folder, monkeypatch):
    monkeypatch.setattr(moons, "N_ROWS", 200)
    plan = Plan(EXPERIMENTS["moons"].quick.cases[:1], 1)
    compute_missing(moons.compute, plan, folder / "moons.csv", n_jobs=1)
    assert "moons" not in write_page(folder).read_text(encoding="utf-8")


def test_same_rows_same_files(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for job in plan_jobs(["boston"], folder, quick=True):
        assert job.n_left == 0
        reproduce(job, folder, n_jobs=1, on_done=lambda: None)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_another_readme_is_not_overwritten(tmp_path):
    (tmp_path / "README.md").write_text("# My project\n")
    with pytest.raises(UnusableRowsError, match=r"README.md was not written by this command"):
        plan_jobs(["nu"], tmp_path, quick=True)
    assert (tmp_path / "README.md").read_text() == "# My project\n"


@pytest.mark.slow
def test_rows_of_an_unfinished_full_run_are_not_shown(folder, tmp_path, monkeypatch):
    """Page and figure show the largest plan that is complete."""
    boston = replace(EXPERIMENTS["boston"], full=Plan([{}], 6))
    monkeypatch.setitem(EXPERIMENTS, "boston", boston)
    shutil.copy(folder / "boston.csv", tmp_path)  # the rows of the quick plan
    compute_missing(boston.study.compute, Plan([{}], 5), tmp_path / "boston.csv", n_jobs=1)
    [job] = plan_jobs(["boston"], tmp_path, quick=True)
    reproduce(job, tmp_path, n_jobs=1, on_done=lambda: None)
    assert "4 repetitions" in (tmp_path / "README.md").read_text(encoding="utf-8")
    [job] = plan_jobs(["boston"], tmp_path, quick=False)
    assert job.n_left == 1
    reproduce(job, tmp_path, n_jobs=1, on_done=lambda: None)
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "6 repetitions" in page
    assert "A quick run" not in page
    [job] = plan_jobs(["boston"], tmp_path, quick=True)
    reproduce(job, tmp_path, n_jobs=1, on_done=lambda: None)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == page


def test_page_and_figures_are_written_as_a_whole(folder, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    def empty():
        return new_figure(1.0, 1.0)[0]

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", fail)
    for write in (lambda: write_page(tmp_path / "out"), lambda: draw(empty, tmp_path / "out" / "moons")):
        with pytest.raises(OSError, match="No space left"):
            write()
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
