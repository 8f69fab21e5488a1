"""Tables that cannot be read in batches: standard input, pipes, archives, workbooks, JSON arrays.

They are written once to a temporary file, which is then read like any other, as often as needed.
"""

import csv
import errno
import json
import os
import re
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import Any

from mvset.app.tables.errors import TableError, optional_package, quoted, unreadable

_ARCHIVE_ERRORS = (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, UnicodeError)
_MAX_INFLATED = 1 << 30  # bytes of a workbook: all of it is held in memory
_MAX_CELLS = 50_000_000  # the library that reads workbooks allocates them all
_MANY_BYTES, _MANY_TIMES = 100 << 20, 200  # text shrinks to a tenth, or a fiftieth
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)  # it is full, or cannot be written
_folder: list[tempfile.TemporaryDirectory[str]] = []


def spool_path(suffix: str) -> Path:
    """A new temporary file, which is deleted when the process ends."""
    if not _folder:
        _folder.append(tempfile.TemporaryDirectory(prefix="mvset-"))
    handle, path = tempfile.mkstemp(suffix, dir=_folder[0].name)
    os.close(handle)
    return Path(path)


@contextmanager
def _writing(path: Path, mode: str, **options: Any) -> Iterator[Any]:
    """Open a temporary file; errors of its disk name its folder."""
    try:
        with path.open(mode, **options) as out:
            yield out
    except OSError as error:
        if error.errno in DISK_ERRORS and error.filename is None:
            raise OSError(error.errno, os.strerror(error.errno), str(path.parent)) from None
        raise


def remove_spooled() -> None:
    """Delete all temporary files now: for a process that reads one table after the other."""
    while _folder:
        _folder[-1].cleanup()
        _folder.pop()  # last: a signal may come in between


def spool_stream(source: str) -> Path:
    """The bytes of standard input or of a named pipe; waiting for them can be interrupted."""
    if source == "-" and sys.stdin is None:
        raise TableError("Standard input is closed: pipe a table into the command.")
    path = spool_path("")
    with _writing(path, "wb") as out, nullcontext(sys.stdin.buffer) if source == "-" else open(source, "rb") as stream:
        shutil.copyfileobj(stream, out)
    return path


def spool_rows(names: Sequence[str] | None, rows: Iterable[Sequence[Any]]) -> Path:
    """Rows of values as CSV."""
    path = spool_path(".csv")
    with _writing(path, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        if names is not None:
            writer.writerow(names)
        writer.writerows([_cell(value) for value in row] for row in rows)
    return path


def spool_json(text: str, label: str) -> Path:
    """An array of objects."""
    try:
        objects = json.loads(text, object_pairs_hook=_distinct)
    except RecursionError:
        raise TableError(f"{label} cannot be read: it is nested too deeply.") from None
    except ValueError as error:
        raise unreadable(label, error) from None
    if not isinstance(objects, list) or not all(isinstance(each, dict) for each in objects):
        raise TableError(f'{label} must be an array of objects, such as [{{"flow": 1.5}}, …], or one object per line.')
    names = list(dict.fromkeys(name for each in objects for name in each))
    return spool_rows(names, ([each.get(name) for name in names] for each in objects))


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are distinct: the values of others would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"an object has {twice!r} more than once")
    return found


def spool_workbook(source: Path, label: str, sheet: str | None) -> Path:
    """A sheet of an Excel workbook: the first, or the one that is named."""
    _check_workbook(source, label)
    calamine = optional_package("python_calamine", "excel", "Reading Excel")
    try:
        book = calamine.CalamineWorkbook.from_path(str(source))
        found = [name for name in book.sheet_names if sheet in (None, name)]
        rows = book.get_sheet_by_name(found[0]).to_python(skip_empty_area=True) if found else []
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise unreadable(label, error) from None
    if not found:
        raise TableError(f"--read sheet: {label} has no sheet {sheet!r}. It has {quoted(book.sheet_names)}.")
    if not rows:
        raise TableError(f"{label} has no rows.")
    return spool_rows(None, rows)


def _check_workbook(source: Path, label: str) -> None:
    """Refuse workbooks that would not fit into memory, before they are read."""
    try:
        with zipfile.ZipFile(source) as archive:
            size = sum(member.file_size for member in archive.infolist())
            sheets = [name for name in archive.namelist() if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name)]
            starts = [archive.open(name).read(4096) for name in sheets]
    except (*_ARCHIVE_ERRORS, KeyError) as error:
        raise unreadable(label, error) from None
    cells = max((_n_cells(start) for start in starts), default=0)
    if size > _MAX_INFLATED or cells > _MAX_CELLS:
        raise TableError(f"{label} cannot be read: it is too large for a workbook. Save the sheet as CSV.")


def _n_cells(start: bytes) -> int:
    """Number of cells in the area that a sheet says it fills."""
    found = re.search(rb'<dimension ref="[A-Z]+\d+:([A-Z]+)(\d+)"', start)
    if found is None:
        return 0
    return int(found[2]) * reduce(lambda width, letter: 26 * width + letter - ord("A") + 1, found[1], 0)


def _cell(value: Any) -> Any:
    """A value as text, which is exact for numbers."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool | dict | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bytes):
        return f"0x{value.hex()}"  # bytes without digits of a number
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)  # workbooks know no integers
    return value


def spool_members(source: Path, label: str, is_table: Callable[[str], bool]) -> Iterator[tuple[str, Path]]:
    """The tables of a zip archive, by name."""
    try:
        with zipfile.ZipFile(source) as archive:
            members = [each for each in archive.infolist() if not each.is_dir() and is_table(each.filename)]
            if not members:
                raise TableError(f"{label} contains no table.")
            for member in members:
                if member.file_size > _MANY_BYTES and member.file_size > _MANY_TIMES * member.compress_size:
                    raise TableError(
                        f"{label} cannot be read: {member.filename!r} would be {member.file_size >> 20} MB, "
                        f"{member.file_size // max(1, member.compress_size)} times its size in the archive."
                    )
                path = spool_path("".join(Path(member.filename).suffixes))
                with archive.open(member) as content, _writing(path, "wb") as out:
                    shutil.copyfileobj(content, out)
                yield member.filename, path
    except _ARCHIVE_ERRORS as error:
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:  # not the fault of the archive
            raise
        raise unreadable(label, error) from None
