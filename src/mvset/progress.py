"""Progress of a fit: on stderr, and a hook for progress bars."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

Verbosity = bool | int | Literal["auto"]
_PATIENCE = 2.0  # seconds
OnProgress = Callable[[str, float, float], None]  # what is being done, how much of it is done, and how much there is
_listener: ContextVar[OnProgress | None] = ContextVar("listener", default=None)
_line: "ContextVar[ProgressLine | None]" = ContextVar("line", default=None)


@contextmanager
def progress_listener(listener: OnProgress) -> Iterator[None]:
    """Tell `listener` how far every fit inside the context is."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@dataclass
class ProgressLine:
    """One line that says how far a long fit is; it appears after two seconds, and vanishes at the end."""

    active: bool
    per_bandwidth: bool = False  # whether each bandwidth has a line of its own
    _began: float = field(default_factory=time.perf_counter)
    _width: int = 0

    def reach(self, doing: str, unit: str, done: int, total: int | None = None) -> None:
        """Say how many units are done of something."""
        listener = _listener.get()
        if listener is not None and total is not None:
            listener(doing, done, total)
        spent = time.perf_counter() - self._began
        if self.active and spent > _PATIENCE:
            of_all = "" if total is None else f" of {total:,}"
            text = f"[mvset] {doing}: {unit} {done:,}{of_all}, {spent:.0f} s so far"
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
    automatic = verbose == "auto"
    line = ProgressLine(automatic and watched and _listener.get() is None, bool(verbose) and not automatic)
    token = _line.set(line)
    try:
        yield line
    finally:
        _line.reset(token)
        line.clear()


def report_progress(sigmas: Sequence[float]) -> Iterator[float]:
    """Iterate over bandwidths; report each to the line of the context, and print one for each if that was asked for."""
    began, line = time.perf_counter(), _line.get()
    for done, sigma in enumerate(sigmas):
        if line is not None:
            line.reach("fitting", "bandwidth", done + 1, len(sigmas))
            if line.per_bandwidth:
                spent = time.perf_counter() - began
                left = f", about {spent / done * (len(sigmas) - done):.1f} s left" if done else ""
                text = f"[mvset] sigma {sigma:.4g}, {done + 1} of {len(sigmas)}, {spent:.1f} s so far{left}"
                print(text, file=sys.stderr)
        yield sigma
