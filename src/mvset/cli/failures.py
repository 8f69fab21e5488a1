"""What goes wrong, as a sentence and an exit code; never a traceback.

Exit codes: 0 done, 1 something is in the way, 2 wrong usage, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

import typer

FAILED = 1
STOPPED = 130  # as shells have it


@contextmanager
def explained(*mendable: type[Exception], when_stopped: str) -> Iterator[None]:
    """Turn what users can mend into a sentence on stderr; `when_stopped` says what a Ctrl-C leaves behind."""
    try:
        yield
    except KeyboardInterrupt:
        _leave(f"Stopped. {when_stopped}", STOPPED)
    except OSError as error:
        _leave(f"{error.filename or 'A file'}: {error.strerror or error}.", FAILED)
    except mendable as error:
        _leave(str(error), FAILED)


def need(package: str, extra: str, purpose: str) -> None:
    """Refuse to go on without an optional package."""
    if importlib.util.find_spec(package) is None:
        _leave(f"{purpose}: pip install 'mvset[{extra}]'", FAILED)


def _leave(message: str, code: int) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(code) from None
