"""Notice that a file changes while it is read: rows of two versions would be mixed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mvset.tables.errors import TableError


@dataclass(frozen=True)
class Version:
    """What tells a file from what it was before."""

    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path) -> Version | None:
        """The version of a file now; None if it is gone."""
        try:
            found = path.stat()
        except OSError:
            return None
        return cls(found.st_size, found.st_mtime_ns)


@contextmanager
def unchanged(path: Path, label: str, version: Version | None) -> Iterator[None]:
    """Fail at the end of this context if a file is no longer what it was.

    Also in place of another error, since half a file, or two halves, can look damaged in any way. A file that grows is
    refused like any other: its last row may be half a row, and a file that is written anew looks the same.
    """
    try:
        yield
    except Exception as error:
        told = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno)  # gone, or not to be read
        if told or Version.of(path) == version:
            raise
        raise changed(label) from None
    if Version.of(path) != version:
        raise changed(label)


def changed(label: str) -> TableError:
    """What is said of such a file."""
    return TableError(f"{label} changed while it was read: wait until it is complete, or use a copy of it.")
