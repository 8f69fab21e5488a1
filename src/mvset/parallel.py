"""Threads for the compiled kernels, which release the GIL and share their arrays.

A plain pool and not joblib, whose threads are polled every 10 ms: longer than the solves of one bandwidth take. joblib
still says how many threads `n_jobs` means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from joblib import effective_n_jobs

Map = Callable[..., Iterable[Any]]


@contextmanager
def thread_map(n_jobs: int | None) -> Iterator[Map]:
    """A `map` that runs on `n_jobs` threads, started when there is more than one task.

    Leaving early drops what has not begun.
    """
    workers = effective_n_jobs(n_jobs)
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
