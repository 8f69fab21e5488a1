"""The zip archive of a model file, read within limits, with a checksum over its members and a check of its schema.

A file may come from anywhere. What it declares is checked before anything is inflated: names, number and sizes of
members. So the memory and time to read a file are bounded by its size, whatever it holds. The checksum tells a damaged
or edited file from one as it was written. It is no signature: whoever writes a file can compute it.
"""

import hashlib
import io
import json
import math
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

NOTE = "mvset.json"
SCHEMA = "schema.json"

# Models are mostly random digits, which hardly shrink; a small file may shrink more. `save` does not compress those
# that would exceed the limits.
_FREE_BYTES = 64 << 20
_FREE_BY_NAME = {SCHEMA: 8 << 20, NOTE: 64 << 10}
_RATIO = 16
_MAX_MEMBERS = 100_000
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}\.[a-z]{1,10}")
_ENCRYPTED = 0x1
_LISTS = frozenset({"ListNode", "TupleNode"})


class DamagedError(ValueError):
    """The archive is not one that `save` writes; the message is the reason, to be put into a sentence."""


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
                    _check_size("its content", in_sparse, _FREE_BYTES, len(content))
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
    _check_size("its content", sum(member.file_size for member in members), _FREE_BYTES, n_bytes)
    names = set()
    for member in members:
        name = member.orig_filename
        if name in _FREE_BY_NAME:
            _check_size(name, member.file_size, _FREE_BY_NAME[name], n_bytes)
        if not _NAME.fullmatch(name) or member.filename != name:
            raise DamagedError(f"a member has the name {name[:100]!r}")
        if name in names:
            raise DamagedError(f"{name} is in it twice")
        names.add(name)
        if member.flag_bits & _ENCRYPTED:
            raise DamagedError(f"{name} is encrypted")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DamagedError(f"{name} is compressed in another way than deflate")


def _check_size(what: str, size: int, free: int, n_bytes: int) -> None:
    """Refuse what would take too much memory for a file of so many bytes."""
    if size > free + _RATIO * n_bytes:
        raise DamagedError(f"{what} would take {size / 1e6:.4g} MB, too much for a file of {n_bytes / 1e6:.2g} MB")


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


def check_schema(schema: bytes) -> None:
    """Refuse a schema that reads a member for several objects, or lists in an array that are the same list.

    Files of `save` have neither. Both would take memory many times the size of the file. An object of this library
    without content would be used unchecked: its constructor is what checks it.
    """
    try:
        root = json.loads(schema)
        nodes = list(_nodes(root))
    except (ValueError, RecursionError) as error:  # no JSON, or nested too deeply
        raise DamagedError("its schema is not readable") from error
    if not isinstance(root, dict):
        raise DamagedError("its schema is not readable")
    readers: dict[str, set[Any]] = {}
    for node in nodes:
        loader, member = node.get("__loader__"), node.get("file")
        if isinstance(member, str):
            readers.setdefault(member, set()).add(node.get("__id__", id(node)))
            if len(readers[member]) > 1:
                raise DamagedError(f"{member} belongs to several objects")
        if loader == "NdArrayNode" and node.get("type") == "json":
            _check_lists(node)
        if loader == "ObjectNode" and str(node.get("__module__")).startswith("mvset.") and not node.get("content"):
            raise DamagedError(f"a {node.get('__class__')} in it has no content")


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """All JSON objects in a value, itself included."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _check_lists(array: dict[str, Any]) -> None:
    ids = Counter(str(node.get("__id__")) for node in _nodes(array.get("content")) if node.get("__loader__") in _LISTS)
    if ids and max(ids.values()) > 1:
        raise DamagedError("an array in it repeats a list")
