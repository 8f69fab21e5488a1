"""The command line ``mvset``: one module per command, and the options, messages and exit codes that they share."""

import importlib.util
import io
import logging
import sys
from typing import Any


def load_app() -> Any:
    """Import the commands and set up output streams."""
    if None in map(importlib.util.find_spec, ("pyarrow", "rich", "typer")):
        sys.exit("The command line needs more packages: pip install 'mvset[cli]'")
    from mvset.app.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not closed
            stream.reconfigure(errors="backslashreplace")  # print characters that the encoding lacks as escapes
    # Where matplotlib keeps its list of fonts concerns nobody here.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    return app
