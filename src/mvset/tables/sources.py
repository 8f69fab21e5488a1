"""Find the table files among the files, folders and glob patterns that users name."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from mvset.tables.errors import TableError
from mvset.tables.formats import FORMATS, TableFile, format_of


def table_files(names: Sequence[str]) -> list[TableFile]:
    """Table files in the order given; those of a folder or a pattern in alphabetical order."""
    files = [file for name in names for file in _files_of(name)]
    seen = set()
    for resolved, path in ((file.path.resolve(), file.path) for file in files):
        if resolved in seen:
            raise TableError(f"{path} is given twice: its rows would be counted twice.")
        seen.add(resolved)
    return files


def _files_of(name: str) -> list[TableFile]:
    path = Path(name)
    if path.is_dir():
        found = [p for p in sorted(path.rglob("*")) if format_of(p) and p.is_file() and not _is_hidden(p, path)]
        if not found:
            raise TableError(f"The folder {name} contains no table. Supported extensions: {_extensions()}.")
    elif path.exists():
        found = [path]
    else:
        found = [Path(p) for p in sorted(glob.glob(name, recursive=True))]
        if not found:
            raise TableError(f"There is no file {name}.")
        if any(p.is_dir() for p in found):
            return [file for p in found for file in _files_of(str(p))]
    return [_opened(p) for p in found]


def _opened(path: Path) -> TableFile:
    kind = format_of(path)
    if kind is None:
        raise TableError(f"{path}: unknown file extension. Supported extensions: {_extensions()}.")
    return kind(path)


def _is_hidden(path: Path, folder: Path) -> bool:
    """Whether a name below the folder begins with a dot or an underscore, which Spark and others use for metadata."""
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _extensions() -> str:
    return ", ".join(FORMATS)
