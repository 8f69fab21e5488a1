"""Forks and threads of programs that use the library: no deadlock, the same answers, no model that is half fitted."""

import faulthandler
import multiprocessing
import os
import pickle
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from faults import stage
from faults.stage import Moment

ROWS = np.random.default_rng(0).normal(size=(400, 3))
NEW = np.random.default_rng(1).normal(size=(3000, 3))


def warm_up() -> None:
    """Compile everything."""
    _answers(_fitted())


def _fitted(n_jobs: int = 1, sigma: float = 1.0) -> Any:
    return stage.FIT(stage.quick(sigma).set_params(n_jobs=n_jobs), ROWS)


def _answers(model: Any) -> bytes:
    return bytes(model.score_samples(NEW).tobytes() + model.predict(NEW).tobytes() + model.level(NEW).tobytes())


def _in_worker(pickled: bytes) -> bytes:
    return _answers(pickle.loads(pickled))


def run_case(seed: int, folder: Path) -> str:
    """One way to use the library."""
    rng = random.Random(f"threads {seed}")
    ways = {_forked: 4, _together: 4, _fit_in_thread: 2, _interrupted: 6, _pools: 0.7, _joblib: 0.7, _forked_at_work: 3}
    way = stage.choose(rng, ways)
    return f"{way.__name__.strip('_').replace('_', ' ')}: {way(rng, folder)}"


def _in_fork(act: Callable[[], None], folder: Path) -> None:
    """Do something in a fork, which must end well."""
    stacks = folder / "stacks"
    pid = os.fork()
    if pid == 0:
        try:
            with stacks.open("w") as file:
                faulthandler.enable(file)
                act()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    end = time.monotonic() + stage.PATIENCE
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        if time.monotonic() > end:
            os.kill(pid, signal.SIGABRT)  # faulthandler prints where it hangs
            os.waitpid(pid, 0)
            raise AssertionError(f"a fork that hangs: {stacks.read_text()[-2000:]}")
        time.sleep(0.002)


def _forked(rng: random.Random, folder: Path) -> str:
    """Score in a fork of a process that has scored, on several threads."""
    jobs = rng.choice([1, 2, -1])
    model = _fitted(jobs)
    expected = _answers(model)

    def act() -> None:
        assert _answers(model) == expected
        assert _answers(_fitted(jobs)) == expected

    _in_fork(act, folder)
    return f"{jobs} jobs"


def _forked_at_work(rng: random.Random, folder: Path) -> str:
    """Fork while other threads score and fit."""
    model = _fitted(2)
    expected, stop = _answers(model), threading.Event()

    def work() -> None:
        while not stop.is_set():
            _answers(model)
            _fitted(2)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            time.sleep(rng.uniform(0.0, 0.03))

            def act() -> None:
                assert _answers(model) == expected
                assert _answers(_fitted(2)) == expected

            _in_fork(act, folder)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return "three forks"


def _together(rng: random.Random, folder: Path) -> str:
    """Score from eight threads at the same time."""
    model = _fitted(rng.choice([1, 2]))
    expected = _answers(model)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: _answers(model), range(24))) == {expected}
    return "eight threads"


def _fit_in_thread(rng: random.Random, folder: Path) -> str:
    """Fit, save and load in threads, which cannot set handlers of signals."""
    expected = _answers(_fitted())

    def work(i: int) -> bytes:
        stage.mvset.save(_fitted(rng.choice([1, 2])), folder / f"{i}.mvset")
        return _answers(stage.mvset.load(folder / f"{i}.mvset"))

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, range(4))) == {expected}
    return "four threads"


def _interrupted(rng: random.Random, folder: Path) -> str:
    """KeyboardInterrupt in a fit: the model is what it was, or fitted anew."""
    was_fitted, jobs = rng.random() < 0.6, rng.choice([1, 2])
    n = [0]

    def count(*_: Any) -> None:
        n[0] += 1

    sys.setprofile(count)
    _fitted(jobs, 0.5)
    sys.setprofile(None)
    old, new = _answers(_fitted(jobs)), _answers(_fitted(jobs, 0.5))
    model = _fitted(jobs) if was_fitted else stage.quick(1.0).set_params(n_jobs=jobs)
    model.set_params(sigma=0.5)

    def interrupt() -> None:
        raise KeyboardInterrupt

    moment = Moment(interrupt, rng.randrange(n[0]))
    stopped = False
    try:
        moment()
        stage.FIT(model, ROWS)
    except KeyboardInterrupt:
        stopped = True
    finally:
        sys.setprofile(None)
    try:
        found: bytes | None = _answers(model)
    except NotFittedError:
        found = None
    if stopped:
        assert found in ([old, new] if was_fitted else [None, new]), "a model that is half fitted"
    else:
        assert found == new
    assert _answers(stage.FIT(model, ROWS)) == new
    return f"{'fitted before' if was_fitted else 'new'}, {'stopped' if stopped else 'finished'}"


def _pools(rng: random.Random, folder: Path) -> str:
    """Workers of multiprocessing, of both kinds."""
    method = rng.choice(["fork", "spawn", "forkserver"])
    model = _fitted(rng.choice([1, 2]))
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert set(pool.map(_in_worker, [pickle.dumps(model)] * 4)) == {_answers(model)}
    return method


def _joblib(rng: random.Random, folder: Path) -> str:
    """Fits in workers of joblib."""
    from joblib import Parallel, delayed

    backend = rng.choice(["loky", "threading", "multiprocessing"])
    models = Parallel(n_jobs=2, backend=backend)(delayed(_fitted)(jobs) for jobs in (1, 2, -1))
    assert {_answers(model) for model in models} == {_answers(_fitted())}
    if backend == "loky":
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)
    return backend
