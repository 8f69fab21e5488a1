from __future__ import annotations

import re

import pytest

from mvset.experiments.catalogue import EXPERIMENTS
from mvset.experiments.page import write_page
from mvset.experiments.plan import Config
from mvset.experiments.reproduce import plan_jobs, reproduce


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    for job in plan_jobs(["nu", "boston"], out, quick=True):
        reproduce(job, out, n_jobs=1, on_done=lambda: None)
    return out


def test_page_sets_the_paper_beside_ours(folder):
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert page.count("\n## ") == 2
    assert "![Boston housing](boston.svg)" in page
    assert re.search(r"\| σ as shipped \| 0.42 \| 0.423 \(4 of 4\) \| ✓ \|", page)
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


def test_an_experiment_begun_is_not_yet_on_the_page(folder):
    plan = EXPERIMENTS["outliers"].QUICK
    EXPERIMENTS["outliers"].run(Config(type(plan)(plan.cases, 1), folder, n_jobs=1))
    assert "outliers" not in write_page(folder).read_text(encoding="utf-8")


def test_same_rows_same_files(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for job in plan_jobs(["boston"], folder, quick=True):
        assert job.n_left == 0
        reproduce(job, folder, n_jobs=1, on_done=lambda: None)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
