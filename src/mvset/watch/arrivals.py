"""Tables that arrive in a folder: which are new, and which are complete."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from mvset.tables.sources import is_table
from mvset.tables.versions import Version


class Arrivals:
    """Looks for tables in a folder and its subfolders.

    A file counts as complete once size and time of modification have not changed for `settle` seconds, by our own
    clock: those of the writer and of the file system may differ.
    """

    def __init__(self, folder: Path, settle: float) -> None:
        self.folder = folder
        self.settle = settle
        self._seen: dict[str, tuple[Version, float]] = {}  # since when a file has been as it is

    def look(self, known: Mapping[str, Version]) -> tuple[list[str], bool]:
        """Complete files that are not known as they are, oldest first; and whether others are still arriving."""
        now, found, seen = time.monotonic(), [], {}
        for name, version in self._tables():
            if known.get(name) == version:
                continue
            before, since = self._seen.get(name, (None, now))
            if before != version:
                since = now
            seen[name] = version, since
            if now - since >= self.settle:
                found.append((version.mtime_ns, name))
        self._seen = seen
        return [name for _, name in sorted(found)], len(found) < len(seen)

    def _tables(self) -> list[tuple[str, Version]]:
        found = []
        for parent, folders, names in os.walk(self.folder):
            folders[:] = [each for each in folders if not each.startswith((".", "_"))]
            for name in names:
                path = Path(parent, name)
                if is_table(name) and not name.startswith("~") and path.is_file() and (version := Version.of(path)):
                    found.append((path.relative_to(self.folder).as_posix(), version))
        return found
