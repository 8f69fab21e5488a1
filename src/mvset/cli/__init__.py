"""The command line: ``mvset``."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the command."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.exit("The command line needs two more packages: pip install 'mvset[cli]'")
    try:
        from mvset.cli.app import app

        app()
    except KeyboardInterrupt:  # before a command could say what it leaves behind
        sys.exit(130)
