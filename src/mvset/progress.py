"""Progress of a fit: lines on stderr, and a hook for progress bars."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[int, int], None] | None] = ContextVar("listener", default=None)


@contextmanager
def progress_listener(listener: Callable[[int, int], None]) -> Iterator[None]:
    """Call `listener` with the number of bandwidths done and in all, for every fit inside the context."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress(sigmas: Sequence[float], verbose: bool | int) -> Iterator[float]:
    """Iterate over bandwidths; notify the listener, and print a line for each to stderr if `verbose`."""
    began = time.perf_counter()
    listener = _listener.get()
    for done, sigma in enumerate(sigmas):
        if listener is not None:
            listener(done, len(sigmas))
        if verbose:
            spent = time.perf_counter() - began
            left = f", about {spent / done * (len(sigmas) - done):.1f} s left" if done else ""
            print(
                f"[mvset] sigma {sigma:.4g}, {done + 1} of {len(sigmas)}, {spent:.1f} s so far{left}", file=sys.stderr
            )
        yield sigma
