import re
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).parent / "mvset")
ROOT = Path(__file__).parents[3]
PAGES = ("README.md", "docs/overview.md")


def blocks(text):
    """Output by command; numbers are masked, since their last digits depend on the machine."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    said = {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in parts}
    return {command: re.sub(r"\d[\d.e-]*", "#", output) for command, output in said.items()}


def test_the_demo_prints_what_the_pages_show(tmp_path):
    done = subprocess.run([COMMAND, "demo"], capture_output=True, text=True, check=True, cwd=tmp_path)
    printed = blocks(done.stdout)
    assert len(printed) == 3
    texts = "\n".join((ROOT / page).read_text() for page in PAGES)
    shown = blocks("\n".join(re.findall(r"^```\n(\$ .*?)^```", texts, re.MULTILINE | re.DOTALL)))
    assert shown == printed
    assert sorted(path.name for path in (tmp_path / "demo-output").iterdir()) == [
        "model.mvset", "normal.csv", "report.html", "scores.parquet", "today.csv",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_step_that_fails_ends_the_demo(mvset, tmp_path, monkeypatch):
    (tmp_path / "demo-output" / "model.mvset").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    done = mvset("demo")
    assert done.exit_code == 1
    assert "demo-output/model.mvset: Is a directory." in done.stderr
    assert "mvset score" not in done.stdout
