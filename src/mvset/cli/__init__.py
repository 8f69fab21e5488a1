"""The command line: ``mvset``."""

from __future__ import annotations

import io
import signal
import sys
from typing import Any


def load_app() -> Any:
    """The commands, ready to run."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.exit("The command line needs more packages: pip install 'mvset[cli]'")
    from mvset.cli.app import app
    from mvset.cli.failures import TERMINATED

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not closed
            stream.reconfigure(errors="backslashreplace")  # rather than fail where the encoding lacks a letter
    # An exit instead of sudden death, so that what is written aside is cleared away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    return app
