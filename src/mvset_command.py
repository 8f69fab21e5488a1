"""What the command ``mvset`` starts: small, so that Ctrl-C is heard while the library is still being imported."""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Import the command line and run it."""
    heard = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN  # jobs in the background do not
    if heard:
        # No exception: imports of compiled modules turn it into others. There is nothing to clear away yet.
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from mvset.cli import load_app

    app = load_app()
    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    app()
