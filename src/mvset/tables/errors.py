"""What users can mend about a table."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence


class TableError(ValueError):
    """A table that cannot be used as it is, and the option that resolves it."""


def listed(names: Iterable[str]) -> str:
    """Names as they stand in a sentence."""
    return ", ".join(repr(name) for name in names)


def excluding(names: Sequence[str]) -> str:
    """The option that leaves columns out, as it is typed; a name with a comma takes one of its own."""
    options = names if any("," in name for name in names) else [",".join(names)]
    return " ".join(f"--exclude {shlex.quote(option)}" for option in options)
