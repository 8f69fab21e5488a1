"""Threads for the compiled kernels, which release the GIL and share their arrays.

A plain pool and not joblib, whose threads are polled every 10 ms: longer than the solves of one bandwidth take. joblib
still says how many threads `n_jobs` means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

from joblib import effective_n_jobs

Map = Callable[..., Iterable[Any]]


@contextmanager
def thread_map(n_jobs: int | None) -> Iterator[Map]:
    """A `map` that runs on `n_jobs` threads, started when there is more than one task.

    Leaving early drops what has not begun.
    """
    with ExitStack() as stack:
        pools: list[ThreadPoolExecutor] = []

        def run(function: Callable[..., Any], first: Sequence[Any], *others: Sequence[Any]) -> Iterable[Any]:
            if n_jobs == 1 or len(first) == 1:
                return map(function, first, *others)
            if not pools:
                pools.append(ThreadPoolExecutor(effective_n_jobs(n_jobs)))
                stack.callback(pools[0].shutdown, cancel_futures=True)
            return pools[0].map(function, first, *others)

        yield run
