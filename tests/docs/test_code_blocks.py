from pathlib import Path

import pytest

from code_blocks import assert_alike, commands, run_page

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_the_code_on_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    run_page(page)


def test_output_is_compared_with_what_is_shown():
    assert_alike("mass 0.951 (0.93)\nrows 10", "mass  0.949 (0.93)\nrows 10\n", "a block")
    for shown in ("mass 0.75 (0.93)", "mess 0.949 (0.93)", "mass 0.949 (0.93) 1", "mass 0.949 (0.93)\nrows"):
        with pytest.raises(AssertionError, match="a block prints"):
            assert_alike(shown, "mass 0.949 (0.93)", "a block")


def test_commands_of_a_console_block():
    block = "$ mvset fit a.csv \\\n    --out b\nrows 3\n\n$ ls\n"
    assert list(commands(block)) == [("mvset fit a.csv      --out b", "rows 3\n\n"), ("ls", "")]
