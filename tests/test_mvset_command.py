from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).parent / "mvset")


@pytest.mark.skipif(sys.platform != "linux", reason="Looks into /proc.")
@pytest.mark.parametrize("library", ["_multiarray_umath", "llvmlite"])
def test_ctrl_c_is_heard_while_the_library_is_imported(library, tmp_path):
    process = subprocess.Popen([COMMAND, "fit", "nothing.csv"], stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    while library not in Path(f"/proc/{process.pid}/maps").read_text():  # numpy comes first, numba's compiler later
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    assert process.returncode == 130
