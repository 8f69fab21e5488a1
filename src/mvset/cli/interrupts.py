"""Signals that ask a command to stop: an exception, however deep in other libraries they arrive."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar

_SOON = 0.05  # seconds
_PATIENCE = 2.0  # seconds in which a command that is being stopped removes its temporary files
# Ctrl-C, the request of another program, and a terminal that is closed; Windows does not have the last.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupts:
    """Context in which signals raise exceptions: Ctrl-C raises KeyboardInterrupt, the others raise SystemExit.

    Libraries may convert the exception (compiled modules that are being imported) or lose it (destructors and callbacks
    from C): the first is known by `seen`, the second is raised again. The second of two signals in quick succession is
    ignored: it would stop the removal of temporary files.
    """

    _innermost: ClassVar[Interrupts | None] = None

    def __init__(self) -> None:
        self._number: int | None = None  # of the signal
        self._when = 0.0
        self._is_lost = self._is_held = False
        self._held_back: int | None = None
        self._before: dict[int, Any] = {}
        self._outer: Interrupts | None = None
        self._on_unraisable: Any = None

    @property
    def seen(self) -> bool:
        """Whether a signal has come."""
        return self._number is not None

    @property
    def code(self) -> int | None:
        """The exit code by the convention of shells, once a signal has come."""
        return None if self._number is None else 128 + self._number

    def __enter__(self) -> Interrupts:
        self._on_unraisable = sys.unraisablehook
        sys.unraisablehook = self._raise_again
        self._outer, Interrupts._innermost = Interrupts._innermost, self
        if threading.current_thread() is threading.main_thread():  # only it can set handlers
            for number in _SIGNALS:
                # Background jobs ignore SIGINT, those of nohup SIGHUP, and keep doing so. None is a handler of C.
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._raise)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._outer is not None and self.seen:  # it is stopped as well
            self._outer._number, self._outer._when = self._number, self._when
        for number, handler in self._before.items():
            signal.signal(number, handler)
        Interrupts._innermost = self._outer
        sys.unraisablehook = self._on_unraisable

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold signals back until the end of this context."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
            if (number := self._held_back) is not None:
                self._held_back = None
                self._raise(number)

    def _raise(self, number: int, *_: Any) -> None:
        if self._is_held:
            self._held_back = number
            return
        if self.seen and not self._is_lost and time.monotonic() < self._when + _PATIENCE:
            return
        self._number, self._when, self._is_lost = self._number or number, time.monotonic(), False
        if self._number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(self.code)

    def _raise_again(self, unraisable: Any) -> None:
        if self.seen and issubclass(unraisable.exc_type, KeyboardInterrupt | SystemExit):
            # When the destructor or callback is over; nothing that is raised in it can leave it.
            self._is_lost = True
            again = threading.Timer(_SOON, _send_to_main_thread, [self._number])
            again.daemon = True
            again.start()
        else:
            self._on_unraisable(unraisable)


def _send_to_main_thread(number: int) -> None:
    """Send a signal to the main thread, which may be waiting for something."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:  # not on Windows
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)
