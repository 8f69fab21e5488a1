"""Errors that users can fix by editing a table or changing an option, and the phrases that their messages share."""

import importlib
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

_MAX_SAID = 200
_MAX_NAMES, _SHOWN_NAMES = 50, 40  # in a sentence


class TableError(ValueError):
    """A table cannot be used as it is; the message names the file or column and what to do."""


def quoted(names: Iterable[str]) -> str:
    """Names in quotation marks, separated by commas: the first forty of more than fifty."""
    listed = [repr(name) for name in names]
    shown = listed if len(listed) <= _MAX_NAMES else listed[:_SHOWN_NAMES]
    rest = len(listed) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def exclude_option(names: Sequence[str]) -> str:
    """The ``--exclude`` option for these columns, as typed in a shell; repeated if a name contains a comma."""
    options = names if any("," in name for name in names) else [",".join(names)]
    return " ".join(f"--exclude {shlex.quote(option)}" for option in options)


def unreadable(label: str, error: Exception) -> TableError:
    """What a library says about a file that it cannot read, in a line of bounded length."""
    said = " ".join(str(error).split()).rstrip(".")
    return TableError(f"{label} cannot be read: {said if len(said) <= _MAX_SAID else said[:_MAX_SAID] + '…'}.")


def optional_package(name: str, extra: str, needing: str) -> Any:
    """An optional package; fails with the command that installs it if it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise TableError(f"{needing} needs one more package: pip install 'mvset[{extra}]'") from None
