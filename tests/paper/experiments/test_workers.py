import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from mvset.paper.experiments import rows as workers

SLEEPER = """
import os, time
from mvset.paper.experiments.rows import results_of

def sleep(seconds):
    time.sleep(seconds)
    return os.getpid()

if __name__ == "__main__":
    with results_of(sleep, [0.5, 0.5, 60.0, 60.0], 2) as results:
        for pid in results:
            print(pid, flush=True)
"""


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


def test_an_interrupt_while_workers_start_comes_after_that(monkeypatch):
    started, others = [], multiprocessing.active_children()  # joblib's workers of earlier tests may wait for work

    class Interrupted(ProcessPoolExecutor):
        def submit(self, *arguments):
            if started:
                return super().submit(*arguments)
            time.sleep(0.05)  # The main thread now waits for this one.
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            started.append(super().submit(*arguments))
            return started[-1]

    monkeypatch.setattr(workers, "ProcessPoolExecutor", Interrupted)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), workers.results_of(time.sleep, [60.0, 60.0], 2) as results:
        list(results)
    assert started
    assert time.monotonic() < began + 30.0
    assert set(multiprocessing.active_children()) <= set(others)


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows has no masks.")
def test_workers_never_see_an_interrupt():
    blocked = partial(signal.pthread_sigmask, signal.SIG_BLOCK)
    with workers.results_of(blocked, [[], []], 2) as results:
        assert all(signal.SIGINT in each for each in results)
    assert signal.SIGINT not in blocked([])


def test_leaving_early_says_nothing(capfd):
    def leave():
        with workers.results_of(time.sleep, [0.1, 0.1, *[60.0] * 6], 2) as results:
            next(results)
            raise RuntimeError

    began = time.monotonic()
    with pytest.raises(RuntimeError):
        leave()
    assert time.monotonic() < began + 30.0, "waited for the tasks that were running"
    assert capfd.readouterr().err == ""


def test_an_error_in_a_task_is_raised():
    with pytest.raises(ZeroDivisionError), workers.results_of((1.0).__truediv__, [2.0, 0.0], 2) as results:
        list(results)
