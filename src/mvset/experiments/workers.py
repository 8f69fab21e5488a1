"""Worker processes of the experiments: they leave Ctrl-C to the main process, and end when it is gone."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from joblib import Parallel
from joblib.parallel import LokyBackend

from mvset.exceptions import MvsetWarning

_WATCH_EVERY = 0.5  # seconds


class Workers(LokyBackend):
    """Worker processes of joblib that end within a second or two of their parent, even if that was killed.

    Without this they finish their task first, and wait for the next one for minutes.
    """

    def configure(self, **options: Any) -> int:
        """Start the processes."""
        return int(super().configure(initializer=_begin, initargs=(os.getpid(),), **options))


def _begin(parent: int) -> None:
    """First thing that a worker does; what there is to say when mvset is imported, the parent has said."""
    warnings.simplefilter("ignore", MvsetWarning)
    _end_with(parent)


def _end_with(parent: int) -> None:
    """Watch the parent of this process in a thread, and exit when it is gone.

    A thread and not Linux's signal at the death of a parent, which is sent when the thread ends that started us.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_EVERY)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def results_of(tasks: Iterable[Any], n_jobs: int | None) -> Iterator[Iterator[Any]]:
    """Results of joblib's delayed calls as they come; leaving early stops the workers."""
    results: Any = None
    try:
        with _starting_workers():
            results = Parallel(n_jobs, backend=Workers(), return_as="generator_unordered", batch_size=1)(tasks)
        yield results
    except BaseException:
        if results is not None:
            with _saying_nothing():
                results.close()  # waits for the threads of joblib
        raise


@contextmanager
def _starting_workers() -> Iterator[None]:
    """Keep Ctrl-C from workers that start in this context; a signal that comes meanwhile is raised at its end."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can set handlers
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}  # not on Windows
        if callable(signal.getsignal(number))  # background jobs ignore SIGINT, and so do their workers
    }
    masked = hasattr(signal, "pthread_sigmask")  # not on Windows
    if masked:
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # workers inherit this
    try:
        yield
    finally:
        if masked:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def _saying_nothing() -> Iterator[None]:
    """Without what joblib prints when it is stopped: a warning, and errors of threads that miss their tasks."""
    before = threading.excepthook
    threading.excepthook = lambda _: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        threading.excepthook = before
