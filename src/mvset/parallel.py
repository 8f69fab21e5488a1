"""Threads for the compiled kernels, which release the GIL and share their arrays; and the workers of a cluster.

A plain pool and not joblib, whose threads are polled every 10 ms: longer than the solves of one bandwidth take. joblib
still says how many threads `n_jobs` means, and which cluster there is.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import LokyBackend, MultiprocessingBackend, SequentialBackend, ThreadingBackend, get_active_backend

Map = Callable[..., Iterable[Any]]

_OF_ONE_MACHINE = (LokyBackend, MultiprocessingBackend, SequentialBackend, ThreadingBackend)


@contextmanager
def thread_map(n_jobs: int | None) -> Iterator[Map]:
    """A `map` that runs on `n_jobs` threads, started when there is more than one task.

    Leaving early drops what has not begun.
    """
    workers = _n_threads(n_jobs)
    if workers == 1:
        yield map
        return
    pool = ThreadPoolExecutor(workers)  # starts no thread before the first task

    def run(function: Callable[..., Any], first: Sequence[Any], *others: Sequence[Any]) -> Iterable[Any]:
        return map(function, first, *others) if len(first) == 1 else pool.map(function, first, *others)

    try:
        yield run
    finally:
        pool.shutdown(cancel_futures=True)


def _n_threads(n_jobs: int | None) -> int:
    """How many threads `n_jobs` means; those of this machine, when joblib speaks of a cluster."""
    backend, _ = get_active_backend()
    on_cluster = type(backend) not in _OF_ONE_MACHINE
    return int(ThreadingBackend().effective_n_jobs(n_jobs) if on_cluster else effective_n_jobs(n_jobs))


def cluster_map() -> Map | None:
    """A `map` that runs on the cluster of `joblib.parallel_config`, in order; None if there is none.

    What is sent is part of the function, not an argument: joblib scatters large arguments to one worker of Dask, and
    they are lost with it.
    """
    backend, _ = get_active_backend()
    if type(backend) in _OF_ONE_MACHINE:
        return None
    as_they_come = "generator" if backend.supports_return_generator else "list"

    def run(function: Callable[..., Any], *arguments: Sequence[Any]) -> Iterable[Any]:
        tasks = (delayed(partial(function, *each))() for each in zip(*arguments, strict=True))
        return Parallel(return_as=as_they_come)(tasks)  # type: ignore[no-any-return]

    return run
