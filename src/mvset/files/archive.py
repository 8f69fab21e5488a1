"""The zip archive of a model file, read within limits, with a checksum over its members.

A file may come from anywhere. What it declares is checked before anything is inflated: names, number and sizes of
members. So the memory and time to read a file are bounded by its size, whatever it holds. The checksum tells a damaged
or edited file from one as it was written. It is no signature: whoever writes a file can compute it.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

NOTE = "mvset.json"
SCHEMA = "schema.json"

# Models are mostly random digits, which hardly shrink; a small file may shrink more. `save` does not compress those
# that would exceed the limits.
_FREE_BYTES = 64 << 20
_FREE_SCHEMA_BYTES = 8 << 20
_RATIO = 16
_NOTE_BYTES = 64 << 10
_MAX_MEMBERS = 100_000
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}\.[a-z]{1,10}")
_ENCRYPTED = 0x1


class DamagedError(ValueError):
    """The archive is not one that `save` writes; the message is the reason, to be put into a sentence."""


class OversizedError(DamagedError):
    """The archive would take too much memory for its size."""


class Archive:
    """The members of a model file, checked.

    Parameters
    ----------
    content : bytes
        The file.

    Attributes
    ----------
    note : bytes or None
        What wrote the file.
    schema : bytes or None
        The model as JSON, which refers to the other members.
    members : bytes
        An archive of all members but the note, as they were checked and not compressed.
    digest : str
        SHA-256 of these.
    """

    def __init__(self, content: bytes) -> None:
        digest, in_sparse = hashlib.sha256(), 0
        self.note: bytes | None = None
        self.schema: bytes | None = None
        checked = io.BytesIO()
        with zipfile.ZipFile(checked, "w") as archive:
            for name, data in _members(content):
                if name == NOTE:
                    self.note = data
                    continue
                if name == SCHEMA:
                    self.schema = data
                elif name.endswith(".npy"):
                    _check_array(name, data)
                elif name.endswith(".npz"):
                    in_sparse += _check_arrays(name, data)
                    _check_size(in_sparse, _FREE_BYTES + _RATIO * len(content), "its content", len(content))
                for part in (name.encode(), data):
                    digest.update(len(part).to_bytes(8, "little"))
                    digest.update(part)
                archive.writestr(zipfile.ZipInfo(name), data)  # with a time of its own: clocks may be wrong
        self.members = checked.getvalue()
        self.digest = digest.hexdigest()


def noted_digest(archive: Archive, note: Mapping[str, Any]) -> str:
    """SHA-256 of all members and of the note, but for its own entry "sha256"."""
    rest = json.dumps({name: value for name, value in note.items() if name != "sha256"}, sort_keys=True)
    return hashlib.sha256(f"{archive.digest}{rest}".encode()).hexdigest()


def is_within_limits(content: bytes) -> bool:
    """Whether an archive could be read again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return not any(size > limit for size, limit, _ in _sizes_and_limits(archive, len(content)))


def _members(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the members by name, one at a time."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_directory(archive, len(content))
            for member in sorted(archive.infolist(), key=lambda each: each.filename):
                # No more than declared; without a limit zipfile inflates everything and only then compares.
                with archive.open(member) as stream:
                    data = stream.read(member.file_size + 1)
                if len(data) != member.file_size:
                    raise DamagedError(f"{member.filename} is shorter than declared")
                yield member.filename, data
    except DamagedError:
        raise
    # What zipfile raises for archives that are cut, overwritten, encrypted or of a kind that it does not know.
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, LookupError) as error:
        raise DamagedError(str(error) or type(error).__name__) from error


def _check_directory(archive: zipfile.ZipFile, n_bytes: int) -> None:
    """Refuse what `save` does not write, before anything is inflated."""
    members = archive.infolist()
    if len(members) > _MAX_MEMBERS:
        raise DamagedError(f"it has {len(members)} members")
    names = set()
    for member in members:
        name = member.orig_filename
        if not _NAME.fullmatch(name) or member.filename != name:
            raise DamagedError(f"a member has the name {name[:100]!r}")
        if name in names:
            raise DamagedError(f"{name} is in it twice")
        names.add(name)
        if member.flag_bits & _ENCRYPTED:
            raise DamagedError(f"{name} is encrypted")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DamagedError(f"{name} is compressed in another way than deflate")
    for size, limit, what in _sizes_and_limits(archive, n_bytes):
        _check_size(size, limit, what, n_bytes)


def _check_size(size: int, limit: int, what: str, n_bytes: int) -> None:
    if size > limit:
        raise OversizedError(f"{what} would take {size / 1e6:.4g} MB, too much for a file of {n_bytes / 1e6:.2g} MB")


def _sizes_and_limits(archive: zipfile.ZipFile, n_bytes: int) -> Iterator[tuple[int, int, str]]:
    members = archive.infolist()
    yield sum(member.file_size for member in members), _FREE_BYTES + _RATIO * n_bytes, "its content"
    for member in members:
        if member.filename == SCHEMA:
            yield member.file_size, _FREE_SCHEMA_BYTES + _RATIO * n_bytes, SCHEMA
        if member.filename == NOTE:
            yield member.file_size, _NOTE_BYTES, NOTE


def _check_array(name: str, data: bytes) -> None:
    """Refuse an array whose header declares more or less than follows, or Python objects."""
    stream = io.BytesIO(data)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        shape, _, dtype = read_header[np.lib.format.read_magic(stream)](stream)
        fits = not dtype.hasobject and math.prod(shape) * dtype.itemsize == len(data) - stream.tell()
    except Exception as error:  # of any kind: numpy parses a header as a Python literal, of ten thousand bytes at most
        raise DamagedError(f"{name} is not an array") from error
    if not fits or any(length < 0 for length in shape):
        raise DamagedError(f"{name} is not the array that its header declares")


def _check_arrays(name: str, data: bytes) -> int:
    """The same for an archive in the archive, a sparse matrix; the bytes that it takes."""
    n_bytes = 0
    for inner, array in _members(data):
        _check_array(f"{name}/{inner}", array)
        n_bytes += len(array)
    return n_bytes
