"""What goes wrong, as a sentence and an exit code; never a traceback."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

FAILED = 1
DRIFTED = 3
STOPPED = 130  # as shells have it
TERMINATED = 143

EXIT_CODES = (
    "Exit codes: 0 done, 1 something is in the way, 2 wrong usage, 3 drift (`mvset score --fail-on-drift`), "
    "130 stopped by Ctrl-C, 143 terminated."
)


@contextmanager
def explained(*mendable: type[Exception], when_stopped: str) -> Iterator[None]:
    """Turn what users can mend into a sentence on stderr; `when_stopped` says what a Ctrl-C leaves behind."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _note
            yield
    except KeyboardInterrupt:
        _leave(f"Stopped. {when_stopped}", STOPPED)
    except BrokenPipeError:  # who reads our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise typer.Exit(FAILED) from None
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _leave(f"{place}{error.strerror or error}.", FAILED)
    except MemoryError:
        _leave("There is not enough memory for this.", FAILED)
    except mendable as error:
        _leave(str(error), FAILED)
    except (typer.Exit, typer.BadParameter):
        raise
    except Exception as error:
        if os.environ.get("MVSET_TRACEBACK"):
            raise
        _leave(f"This is a bug in mvset: {error!r}. MVSET_TRACEBACK=1 shows where.", FAILED)


def need(package: str, extra: str, purpose: str) -> None:
    """Refuse to go on without an optional package."""
    if importlib.util.find_spec(package) is None:
        _leave(f"{purpose}: pip install 'mvset[{extra}]'", FAILED)


def _note(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"Note: {message}", err=True)


def _leave(message: str, code: int) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(code) from None
