import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

COMMAND = str(Path(sys.executable).parent / "mvset")


@pytest.mark.skipif(sys.platform != "linux", reason="Looks into /proc.")
@pytest.mark.parametrize("library", ["_multiarray_umath", pytest.param("llvmlite", marks=pytest.mark.slow)])
def test_ctrl_c_is_heard_while_the_library_is_imported(library, tmp_path):
    process = subprocess.Popen([COMMAND, "fit", "nothing.csv"], stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    while library not in Path(f"/proc/{process.pid}/maps").read_text():  # numpy comes first, numba's compiler later
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    assert process.returncode == 130


# The console script, which says when Python itself has started: a traceback before that is not ours.
SCRIPT = "import mvset_command; print('ready', flush=True); mvset_command.main()"


@pytest.mark.parametrize(
    ("arguments", "last", "times"),
    [(["--help"], 0.2, 3), (["fit", "normal.csv"], 1.5, 2), (["reproduce", "boston", "--jobs", "2"], 2.0, 1)],
    ids=["help", "fit", "reproduce"],
)
def test_ctrl_c_at_any_moment_stops_with_one_sentence_at_most(arguments, last, times, tmp_path):
    rows = np.random.default_rng(0).normal(size=(3000, 3))
    np.savetxt(tmp_path / "normal.csv", rows, delimiter=",", header="a,b,c", comments="")
    moments = random.Random(0)
    for _ in range(times):
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        assert process.stdout.readline() == "ready\n"
        time.sleep(moments.uniform(0.0, last))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        lines = [line for line in said.splitlines() if "to compute" not in line]
        assert [line.partition(".")[0] for line in lines] in ([], ["Stopped"])
        # Python forgets handlers as the last thing it does; it may also have finished.
        assert process.returncode in (130, -signal.SIGINT, 0)
