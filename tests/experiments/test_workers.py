from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from joblib import delayed

from mvset.experiments import workers

SLEEPER = """
import os, time
from joblib import delayed
from mvset.experiments.workers import results_of

def sleep(seconds):
    time.sleep(seconds)
    return os.getpid()

with results_of([delayed(sleep)(0.0), delayed(sleep)(0.0), delayed(sleep)(60.0), delayed(sleep)(60.0)], 2) as results:
    for pid in results:
        print(pid, flush=True)
"""

SAY_BLOCKED = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"


@pytest.mark.skipif(sys.platform != "linux", reason="Looks into /proc.")
def test_workers_end_when_their_parent_is_killed(tmp_path):
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    with subprocess.Popen([sys.executable, str(tmp_path / "sleeper.py")], stdout=subprocess.PIPE, text=True) as process:
        pids = {int(process.stdout.readline()) for _ in range(2)}
        assert all(Path(f"/proc/{pid}").exists() for pid in pids)
        process.kill()
    killed = time.monotonic()
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < killed + 10.0, "the workers still sleep"
        time.sleep(0.02)


def test_an_interrupt_while_workers_start_comes_after_that():
    before = signal.getsignal(signal.SIGINT)
    blocked = []

    def start():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        blocked.append(subprocess.run([sys.executable, "-c", SAY_BLOCKED], capture_output=True, text=True).stdout)

    with pytest.raises(KeyboardInterrupt), workers._starting_workers():
        start()
    assert blocked == ["True\n"]  # by processes that start, too
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_leaving_early_says_nothing(capfd):
    def leave():
        with workers.results_of([delayed(time.sleep)(0.1) for _ in range(8)], 2) as results:
            next(results)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        leave()
    assert capfd.readouterr().err == ""
