"""Entry point of the command ``mvset``: without heavy imports, so that Ctrl-C works while the library is loading."""

import _signal  # type: ignore[import-not-found]  # of `signal`, but built in: no import comes before the handler
import os


def _exit_at_once(*_: object) -> None:
    # Without an exception: compiled modules convert exceptions during import. No file needs cleaning up outside
    # `exit_on_error`, which raises KeyboardInterrupt instead.
    os._exit(130)


def main() -> None:
    """Import the command line and run it."""
    if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:  # background jobs ignore SIGINT
        _signal.signal(_signal.SIGINT, _exit_at_once)
    from mvset.cli import load_app

    load_app()()
