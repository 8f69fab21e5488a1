"""Signals that ask a command to stop: an exception, however deep in other libraries they arrive."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_SOON = 0.05  # seconds
_PATIENCE = 2.0  # seconds in which a command that is being stopped removes its temporary files
# Ctrl-C, the request of another program, and a terminal that is closed; Windows does not have the last.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_listening: "list[Interrupts]" = []


class Interrupts:
    """Raises an exception at a signal: Ctrl-C raises KeyboardInterrupt, the others raise SystemExit.

    Libraries may convert the exception (compiled modules that are being imported) or lose it (destructors and callbacks
    from C). If it is converted, `code` shows that a signal has come. If it is lost, it is raised again. The second of
    two signals in quick succession is ignored, because it would stop the removal of temporary files.
    """

    def __init__(self) -> None:
        self.code: int | None = None  # of the exit by the convention of shells, once a signal has come
        self._when = 0.0
        self._is_lost = False

    def seen(self) -> bool:
        """Whether a signal has come."""
        return self.code is not None

    def stop(self, number: int, *_: Any) -> None:
        """Handle a signal."""
        if self.seen() and not self._is_lost and time.monotonic() < self._when + _PATIENCE:
            return
        self.code, self._when, self._is_lost = self.code or 128 + number, time.monotonic(), False
        raise KeyboardInterrupt if self.code == 128 + signal.SIGINT else SystemExit(self.code)

    def stop_again(self, unraisable: Any) -> None:
        """Handle an error that Python cannot raise."""
        if self.code is None or not issubclass(unraisable.exc_type, KeyboardInterrupt | SystemExit):
            sys.__unraisablehook__(unraisable)
            return
        # When the destructor or callback is over; nothing that is raised in it can leave it.
        self._is_lost = True
        again = threading.Timer(_SOON, _send_to_main_thread, [self.code - 128])
        again.daemon = True
        again.start()


@contextmanager
def listening() -> Iterator[Interrupts]:
    """Raise exceptions at signals in this context; a command within a command shares what has come."""
    if _listening:
        yield _listening[0]
        return
    interrupts, handlers, hook = Interrupts(), {}, sys.unraisablehook
    try:
        _listening.append(interrupts)
        sys.unraisablehook = interrupts.stop_again
        if threading.current_thread() is threading.main_thread():  # only it can set handlers
            for number in _SIGNALS:
                # Background jobs ignore SIGINT, those of nohup SIGHUP, and keep doing so. None is a handler of C.
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    handlers[number] = signal.signal(number, interrupts.stop)
        yield interrupts
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook
        _listening.clear()


def _send_to_main_thread(number: int) -> None:
    """Send a signal to the main thread, which may be waiting for something."""
    if hasattr(signal, "pthread_kill"):  # not on Windows
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)
