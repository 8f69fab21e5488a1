"""Worker processes of the experiments: they leave Ctrl-C to the main process, and end when it is gone."""

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from mvset.exceptions import MvsetWarning


@contextmanager
def results_of(function: Callable[[Any], Any], tasks: Sequence[Any], n_jobs: int | None) -> Iterator[Iterator[Any]]:
    """Give the results of all tasks as they come; leaving early stops the workers at once."""
    n_workers = min(effective_n_jobs(n_jobs), len(tasks))
    if n_workers <= 1:
        yield map(function, tasks)
        return
    context = get_context("spawn")
    ended, kept = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(n_workers, context, _begin, (ended,))
    try:
        # An interrupt that comes meanwhile waits until the workers have started. They inherit the mask of this thread.
        with ThreadPoolExecutor(1, initializer=_block_interrupts) as starter:
            futures = list(starter.map(lambda task: pool.submit(function, task), tasks))
        yield (future.result() for future in as_completed(futures))
    finally:
        kept.close()
        pool.shutdown(cancel_futures=True)


def _begin(ended: Connection) -> None:
    """Exit as soon as the other end of the pipe is closed, because the main process has left or was killed."""

    def watch() -> None:
        ended.poll(None)
        os._exit(1)

    threadpool_limits(1)  # one core for each worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore", MvsetWarning)  # the main process has given the warnings of an import
    threading.Thread(target=watch, daemon=True).start()


def _block_interrupts() -> None:
    """Keep Ctrl-C from this thread and from processes that it starts."""
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
