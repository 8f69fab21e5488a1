"""Errors become one sentence on stderr and an exit code; users never see a traceback."""

import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from mvset.app.cli.interrupts import Interrupts, listening
from mvset.files.atomic import remove_unfinished
from mvset.wording import Message, message_of

FAILED = 1
DRIFTED = 3
INTERRUPTED = 130  # 128 + SIGINT, the convention of shells

_ADDRESS_SPACE = 11 << 28  # 2.75 GiB

EXIT_CODES = (
    "Exit codes: 0 success, 1 error, 2 wrong usage, 3 drift (with `--fail-on-drift`), 130 stopped by Ctrl-C, 143 "
    "terminated, 129 terminal closed."
)

# The options of parameters that messages of the library name.
OPTIONS = {
    "calibration": "--calibration",
    "groups": "--group",
    "mass": "--mass",
    "strata": "--strata",
    "time_order": "--time",
}


@contextmanager
def exit_on_error(*user_errors: type[Exception], on_interrupt: str) -> Iterator[Interrupts]:
    """Turn errors that users can fix into a sentence on stderr and an exit code.

    `on_interrupt` is the sentence printed after Ctrl-C: which files it leaves behind.
    """
    try:
        with listening() as interrupts, warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: print_note(in_options(message))
            try:
                yield interrupts
            finally:
                try:
                    _remove_temporary_files()
                finally:  # once more, if a signal has stopped this; the next one is ignored
                    _remove_temporary_files()
    except typer.Exit:  # of a command within this one, which has said why
        raise
    except (KeyboardInterrupt, Exception) as error:
        if isinstance(error, KeyboardInterrupt) or interrupts.code == INTERRUPTED:
            _exit(f"Stopped. {on_interrupt}", INTERRUPTED)
        if interrupts.code is not None:  # and a library has converted the exception
            raise typer.Exit(interrupts.code) from None
        _exit_by(error, user_errors)


def _remove_temporary_files() -> None:
    """Remove what is left of files that were being written, and what was read from pipes and archives."""
    remove_unfinished()
    if (spooling := sys.modules.get("mvset.app.tables.spooling")) is not None:
        spooling.remove_spooled()


def _exit_by(error: BaseException, user_errors: tuple[type[Exception], ...]) -> None:
    """Exit with the sentence and the code of an error."""
    if isinstance(error, BrokenPipeError):  # the program that reads our output has exited, e.g. `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise typer.Exit(FAILED) from None
    if isinstance(error, OSError):
        prefix = f"{error.filename}: " if error.filename else ""
        _exit(f"{prefix}{error.strerror or error}.", FAILED)
    if isinstance(error, MemoryError):
        _exit("There is not enough memory for this.", FAILED)
    if isinstance(error, user_errors):
        _exit(in_options(error), FAILED)
    if isinstance(error, typer.BadParameter) or os.environ.get("MVSET_TRACEBACK"):
        raise error
    _exit(f"This is a bug in mvset: {error!r}. Set MVSET_TRACEBACK=1 to see the traceback.", FAILED)


def check_address_space() -> None:
    """Exit if the address space is limited so much that the libraries cannot be loaded: they would abort."""
    if importlib.util.find_spec("resource") is None:  # on Windows
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _ADDRESS_SPACE:
        _exit(
            f"The address space is limited to {limit / 2**30:.2g} GiB (ulimit -v): mvset needs "
            f"{_ADDRESS_SPACE / 2**30:.2g} GiB for its libraries.",
            FAILED,
        )


def require_package(package: str, extra: str, purpose: str) -> None:
    """Exit with the command that installs an optional package, if it is missing."""
    if importlib.util.find_spec(package) is None:
        _exit(f"{purpose}: pip install 'mvset[{extra}]'", FAILED)


def in_options(said: Exception | str) -> str:
    """Return the message of an error or a warning in terms of the options of the command."""
    message = message_of(said) if isinstance(said, Exception) else said
    return message.worded(_option) if isinstance(message, Message) else message


def _option(parameter: str, value: str) -> str:
    value = "COLUMN" if value in ("...", "True") else value.strip("'")
    return f"{OPTIONS[parameter]} {value}".rstrip()


def print_note(text: str) -> None:
    """Print a note to the user on stderr."""
    typer.echo(f"Note: {text}", err=True)


def _exit(message: str, code: int) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(code) from None
