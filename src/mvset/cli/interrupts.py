"""Ctrl-C while a command works: an exception, however deep in other libraries it arrives."""

from __future__ import annotations

import signal
import sys
import threading
from types import TracebackType
from typing import Any

_SOON = 0.05  # seconds


class Interrupts:
    """Context in which Ctrl-C raises KeyboardInterrupt; `seen` says whether it has.

    Libraries may convert the exception (compiled modules that are being imported) or lose it (destructors and callbacks
    from C): the first is known by `seen`, the second is raised again.
    """

    def __init__(self) -> None:
        self.seen = False
        self._before: Any = None
        self._on_unraisable: Any = None

    def __enter__(self) -> Interrupts:
        self._on_unraisable = sys.unraisablehook
        sys.unraisablehook = self._raise_again
        # Only the main thread can set handlers. Background jobs ignore SIGINT, and keep doing so.
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            self._before = signal.signal(signal.SIGINT, self._raise)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        sys.unraisablehook = self._on_unraisable

    def _raise(self, *_: Any) -> None:
        self.seen = True
        raise KeyboardInterrupt

    def _raise_again(self, unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            # When the destructor or callback is over; nothing that is raised in it can leave it.
            again = threading.Timer(_SOON, _interrupt_main_thread)
            again.daemon = True
            again.start()
        else:
            self._on_unraisable(unraisable)


def _interrupt_main_thread() -> None:
    """Send SIGINT to the main thread, which may be waiting for something."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:  # not on Windows
        signal.pthread_kill(main, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)
