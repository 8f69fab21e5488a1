"""Progress of a fit: on stderr, and a hook for progress bars."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Verbosity = bool | int | Literal["auto"]
_PATIENCE = 2.0  # seconds
_listener: ContextVar[Callable[[int, int], None] | None] = ContextVar("listener", default=None)
_line: ContextVar[ProgressLine | None] = ContextVar("line", default=None)


@contextmanager
def progress_listener(listener: Callable[[int, int], None]) -> Iterator[None]:
    """Call `listener` with the number of bandwidths done and in all, for every fit inside the context."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class ProgressLine:
    """One line that says how far a long fit is; it appears after two seconds, and vanishes at the end."""

    def __init__(self, *, active: bool) -> None:
        self._active = active
        self._began = time.perf_counter()
        self._width = 0

    def reach(self, what: str, done: int, total: int | None = None) -> None:
        """Say how much of something is done."""
        spent = time.perf_counter() - self._began
        if self._active and spent > _PATIENCE:
            of_all = "" if total is None else f" of {total:,}"
            text = f"[mvset] {what} {done:,}{of_all}, {spent:.0f} s so far"
            self._width = max(self._width, len(text))
            print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._width:
            print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)


@contextmanager
def progress_line(verbose: Verbosity) -> Iterator[ProgressLine]:
    """A line for what happens inside the context: with "auto", on a terminal or in a notebook without another bar."""
    watched = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    line = ProgressLine(active=verbose == "auto" and watched and _listener.get() is None)
    token = _line.set(line)
    try:
        yield line
    finally:
        _line.reset(token)
        line.clear()


def report_progress(sigmas: Sequence[float], verbose: Verbosity) -> Iterator[float]:
    """Iterate over bandwidths; notify the listener, and print a line for each to stderr if `verbose` is true."""
    began = time.perf_counter()
    listener, progress = _listener.get(), _line.get()
    for done, sigma in enumerate(sigmas):
        if listener is not None:
            listener(done, len(sigmas))
        if progress is not None:
            progress.reach("bandwidth", done + 1, len(sigmas))
        if verbose and verbose != "auto":
            spent = time.perf_counter() - began
            left = f", about {spent / done * (len(sigmas) - done):.1f} s left" if done else ""
            print(
                f"[mvset] sigma {sigma:.4g}, {done + 1} of {len(sigmas)}, {spent:.1f} s so far{left}", file=sys.stderr
            )
        yield sigma
