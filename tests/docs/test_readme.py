"""The README is short, and its figures are those that are kept."""

import csv
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def kept(name):
    with (ROOT / "benchmarks" / "results" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cells(script):
    """What the row of the comparison says that links to a script, by the names of the columns."""
    lines = [line for line in README.splitlines() if line.startswith("|")]
    names = next(line for line in lines if "IsolationForest" in line)
    (row,) = (line for line in lines if f"(benchmarks/{script}.py)" in line)
    split = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in (names, row)]
    return dict(zip(*split, strict=True))


def test_it_is_short():
    assert len(README.split()) <= 800


@pytest.mark.parametrize(
    ("column", "methods"),
    [
        ("mvset", "mvset, cross"),
        ("OneClassSVM", "scikit-learn OneClassSVM"),
        ("IsolationForest", "scikit-learn IsolationForest"),
        ("LOF", "scikit-learn LOF"),
        ("PyOD", "PyOD KNN"),
    ],
)
def test_masses(column, methods):
    masses = [float(row["mean mass"]) for row in kept("mass") if row["method"].startswith(methods)]
    assert cells("mass")[column].removesuffix(" (kNN)") == f"{min(masses):.3f} to {max(masses):.3f}"


@pytest.mark.parametrize("column", ["mvset", "OneClassSVM", "IsolationForest", "LOF", "PyOD"])
def test_detection(column):
    rows = [row for row in kept("adbench") if row["rows taken"] == "as it is"]
    mean = np.mean([float(row["kNN" if column == "PyOD" else column]) for row in rows])
    assert cells("adbench")[column].removesuffix(" (kNN)") == f"{mean:.3f}"
    assert f"{len(rows)} tables of ADBench" in README


def test_the_grid_of_the_paper():
    row = kept("grid")[-1]
    assert cells("grid")["mvset"] == f"{float(row['mvset, s']):.1f} s"
    assert cells("grid")["OneClassSVM"] == f"{float(row['scikit-learn loop, s']):.0f} s"


def test_the_page_on_the_method_has_the_means_of_detection():
    summary = (ROOT / "benchmarks" / "results" / "adbench.md").read_text(encoding="utf-8")
    assert summary.partition("\n\n")[0] in (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
