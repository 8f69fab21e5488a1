"""What the pages say, compared with the code and with the files of figures that it comes from."""

import csv
import re
from pathlib import Path

import pytest

import mvset

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def test_every_public_name_is_in_the_reference_once():
    text = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    shown = re.findall(r"^::: mvset\.(\w+)$", text, re.MULTILINE)
    assert sorted([*shown, "__version__", "results"]) == mvset.__all__
    assert sorted(re.findall(r"^::: mvset\.results\.(\w+)$", text, re.MULTILINE)) == mvset.results.__all__
    listed = (DOCS / "reference" / "api.md").read_text()
    assert [name for name in shown if f"[`{name}`]" not in listed] == []


def tables(page):
    """The tables of a page, each a list of rows by the names of their columns."""
    for block in re.findall(r"(?:^\|.*\n)+", page.read_text(), re.MULTILINE):
        names, _, *rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()]
        yield [dict(zip(names, row, strict=True)) for row in rows]


@pytest.mark.parametrize("page", [DOCS / "scale.md", DOCS / "how-to" / "many-rows.md"], ids=lambda page: page.stem)
def test_times_and_masses_of_large_tables_are_those_of_the_csv(page):
    with (DOCS / "scale.csv").open() as file:
        measured = {(row["method"], row["columns"], row["rows"]): row for row in csv.DictReader(file)}
    (table,) = (table for table in tables(page) if {"rows", "columns", "mvset"} <= set(table[0]))
    for row in table:
        ours = measured["mvset", row["columns"], row["rows"]]
        assert row.get("mass", row.get("mass on new rows")) == f"{float(ours['mass']):.4f}"
        assert row.get("memory", row.get("peak memory")) == f"{ours['peak_mb']} MB"
        for name in ("mvset", "IsolationForest"):
            seconds = row[name].strip("* s")
            if seconds:
                taken = float(measured[name, row["columns"], row["rows"]]["seconds"])
                assert float(seconds) == pytest.approx(taken, rel=0.06)


def test_pictures_exist():
    scripts = {path.stem for path in (ROOT / "examples" / "gallery").glob("*.py")}
    for page in PAGES:
        for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text()):
            if "gallery/" in name:
                assert Path(name).stem in scripts, page
            else:
                assert (page.parent / name).exists(), page


def test_mutants_are_those_of_the_csv():
    with (DOCS / "mutants.csv").open() as file:
        mutants = list(csv.DictReader(file))
    (table,) = (table for table in tables(DOCS / "reliability.md") if "noticed" in table[0])
    for row in table:
        outcomes = [each["outcome"] for each in mutants if each["package"] == row["package"]]
        noticed = len(outcomes) - outcomes.count("survived")
        assert (row["noticed"], row["share"]) == (str(noticed), f"{100 * noticed / len(outcomes):.0f} %")


def kept_tables(name):
    """The tables that `benchmarks/keep.py` keeps of a script."""
    for path in sorted((ROOT / "benchmarks" / "results").glob(f"{name}*.csv")):
        if path.stem == name or path.stem.startswith(f"{name}-"):
            with path.open(newline="", encoding="utf-8") as file:
                yield list(csv.reader(file))


CHECKED_ELSEWHERE = {"adbench", "gpu", "process", "scale"}  # pages show some columns, or round


def tables_of_scripts():
    """Tables of the pages by the script that the text above them names."""
    for page in PAGES:
        name = None
        for block in re.split(r"\n\n+", page.read_text(encoding="utf-8")):
            if not block.startswith("|"):
                names = re.findall(r"benchmarks/(\w+)\.py", block)
                name = names[-1] if names else None if block.startswith("#") else name
            elif name is not None and name not in CHECKED_ELSEWHERE:
                lines = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in block.splitlines()]
                yield pytest.param(name, lines[0], lines[2:], id=f"{page.stem}-{name}")


@pytest.mark.parametrize(("name", "fields", "rows"), list(tables_of_scripts()))
def test_tables_are_those_that_scripts_print(name, fields, rows):
    assert rows in [table[1:] for table in kept_tables(name) if table[0] == fields]


def test_faults_found_are_those_of_the_csv():
    with (ROOT / "benchmarks" / "results" / "process.csv").open(newline="", encoding="utf-8") as file:
        measured = {(row["rows"], row["fault"]): row for row in csv.DictReader(file)}
    (table,) = (table for table in tables(DOCS / "method.md") if {"fault", "T²"} <= set(table[0]))
    assert len(table) == len(measured)
    for row in table:
        kept = measured[row["rows"], row["fault"]]
        assert row == {name: kept[name] for name in row}


def test_the_count_of_biases_is_that_of_the_simulations():
    page = DOCS / "promises-measured.md"
    (within, cases), *_ = re.findall(r"in (\d+) of (\d+) cases", " ".join(page.read_text(encoding="utf-8").split()))
    rows = [row for table in tables(page) if "bias 0.8" in table[0] for row in table]
    biases = [row[name] for row in rows for name in row if name.startswith("bias")]
    assert (int(within), int(cases)) == (sum("**" not in bias for bias in biases), len(biases))


def test_rates_of_a_gpu_are_those_of_the_csv():
    measured = {what: value for _, what, value, _ in next(kept_tables("gpu"))}
    (table,) = (table for table in tables(DOCS / "scale.md") if "kernel values a second" in table[0])
    for row in table:
        d = row["columns"]
        rate, centres = (measured[f"d={d}: {what}"] for what in ("score_samples, 1e+08 rows, float32", "centres"))
        mantissa, exponent = f"{float(rate):.2e}".split("e+")
        assert (
            row["kernel values a second"]
            == f"{mantissa}·10{exponent.translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
        )
        assert row["support vectors"] == centres
        assert row["% of limit"] == f"{float(measured[f'd={d}: share of the limit']):.0%}".replace("%", " %")
        assert float(row["a billion rows"].strip("s ")) == pytest.approx(1e9 * float(centres) / float(rate), rel=0.02)
