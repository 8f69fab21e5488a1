"""Errors that users can fix by editing a table or changing an option, and the phrases that their messages share."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence


class TableError(ValueError):
    """A table cannot be used as it is; the message names the file or column and what to do."""


def quoted(names: Iterable[str]) -> str:
    """Names in quotation marks, separated by commas."""
    return ", ".join(repr(name) for name in names)


def exclude_option(names: Sequence[str]) -> str:
    """The ``--exclude`` option for these columns, as typed in a shell; repeated if a name contains a comma."""
    options = names if any("," in name for name in names) else [",".join(names)]
    return " ".join(f"--exclude {shlex.quote(option)}" for option in options)
