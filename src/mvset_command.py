"""What the command ``mvset`` starts: small, so that Ctrl-C is heard while the library is still being imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Import the command line and run it."""
    try:
        from mvset.cli import main as run

        run()
    except KeyboardInterrupt:  # before a command could say what it leaves behind
        sys.exit(130)
