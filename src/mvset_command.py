"""Entry point of the command ``mvset``: without heavy imports, so that Ctrl-C works while the library is loading."""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Import the command line and run it."""
    interruptible = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN  # background jobs ignore SIGINT
    if interruptible:
        # Exit without an exception: compiled modules convert exceptions during import. No file needs cleaning up yet.
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from mvset.cli import load_app

    app = load_app()
    if interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    app()
