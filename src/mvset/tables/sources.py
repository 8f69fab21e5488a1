"""From what users name (files, folders, patterns) to the files with tables in them."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from mvset.tables.errors import TableError
from mvset.tables.formats import FORMATS, TableFile, format_of


def table_files(names: Sequence[str]) -> list[TableFile]:
    """Files in the order named; those of a folder or a pattern by name."""
    files = [file for name in names for file in _files_of(name)]
    seen = set()
    for place, path in ((file.path.resolve(), file.path) for file in files):
        if place in seen:
            raise TableError(f"{path} is named twice: its rows would count double.")
        seen.add(place)
    return files


def _files_of(name: str) -> list[TableFile]:
    path = Path(name)
    if path.is_dir():
        found = [p for p in sorted(path.rglob("*")) if format_of(p) and p.is_file() and not _is_hidden(p, path)]
        if not found:
            raise TableError(f"There is no table in the folder {name}. Formats: {_formats()}.")
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
        raise TableError(f"{path}: tables are known by the end of their names, and this is none of {_formats()}.")
    return kind(path)


def _is_hidden(path: Path, folder: Path) -> bool:
    """Names that begin with a dot or an underscore are not data, as Spark and others have it."""
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _formats() -> str:
    return ", ".join(FORMATS)
