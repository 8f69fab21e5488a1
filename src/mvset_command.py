"""Entry point of the command ``mvset``: without heavy imports, so that Ctrl-C works while the library is loading."""

import _signal  # type: ignore[import-not-found]  # of `signal`, but built in: no import comes before the handler
import os


def _exit_at_once(number: int, _: object) -> None:
    # Without an exception: compiled modules convert exceptions during import, and Python prints those that arrive when
    # it ends. No file needs cleaning up outside `exit_on_error`, which raises exceptions instead.
    os._exit(128 + number)


def main() -> None:
    """Import the command line and run it."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(_signal, name, None)  # Windows has no SIGHUP
        # Background jobs ignore SIGINT, and those of nohup SIGHUP.
        if number is not None and _signal.getsignal(number) is not _signal.SIG_IGN:
            _signal.signal(number, _exit_at_once)
    from mvset.app.cli import load_app

    try:
        load_app()()
    except OSError as error:  # help that is printed to a full disk; `exit_on_error` deals with all others
        raise SystemExit(f"Standard output: {error.strerror or error}.") from None
