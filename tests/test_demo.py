from __future__ import annotations

import subprocess
import sys


def test_demo_prints_a_table_and_writes_pictures(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mvset.demo", "--out", str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "two moons" in done.stdout
    assert "Boston" in done.stdout
    for name in ("two_moons.png", "boston.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_demo_without_matplotlib_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None; sys.argv = ['demo']; import mvset.demo as d; sys.exit(d.main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "The demo draws pictures: pip install 'mvset[plot]'\n"
