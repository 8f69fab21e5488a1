"""Open a text whatever it is packed in, gzip, another encoding, comments; and notice if a file changes meanwhile."""

import codecs
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mvset.app.tables.dialect import ANY_SPACE
from mvset.app.tables.errors import TableError

_MAX_DEPTH = 100  # of nested JSON
_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[[ord("["), ord("{")]], _STEPS[[ord("]"), ord("}")]] = 1, -1

_COMPRESSION = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@contextmanager
def opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """The raw file, which knows its position, and its content."""
    with pa.OSFile(str(path)) as source:
        start = source.read(4)
        source.seek(0)
        codec = next((name for magic, name in _COMPRESSION.items() if start.startswith(magic)), None)
        yield source, source if codec is None else pa.CompressedInputStream(source, codec)


def encoding_of(start: bytes) -> str:
    """The encoding of a text by its byte-order mark; UTF-8 without one."""
    return next((name for mark, name in _BYTE_ORDER_MARKS.items() if start.startswith(mark)), "utf-8")


def decoded(start: bytes, encoding: str) -> str:
    """The beginning of a text; what cannot be decoded becomes U+FFFD."""
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    return decoder.decode(start, final=False).lstrip("\ufeff")


def plain_lines(text: bytes, comment: str, any_space: bool) -> bytes:
    """Lines of a text without comments, and with one tab for white space if that separates."""
    if comment:
        mark = re.escape(comment.encode())
        text = re.sub(rb"(?m)^[ \t]*" + mark + rb"[^\r\n]*(?:\r\n|\r|\n|\Z)", b"", text)
        text = re.sub(rb"[ \t]*" + mark + rb"[^\r\n]*", b"", text)
    if any_space:
        text = re.sub(rb"[ \t]+", b"\t", re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r|$)", b"", text))
    return text


@dataclass(frozen=True)
class Version:
    """What tells a file from what it was before."""

    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path) -> "Version | None":
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
    changed = TableError(f"{label} changed while it was read: wait until it is complete, or use a copy of it.")
    try:
        yield
    except Exception as error:
        told = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno)  # gone, or not to be read
        if told or Version.of(path) == version:
            raise
        raise changed from None
    if Version.of(path) != version:
        raise changed


class EndlessError(ValueError):
    """A line does not end, or a quotation mark is not closed."""


def plain_blocks(
    stream: Any, encoding: str, comment: str, separator: str, size: int, limit: float = math.inf
) -> Iterator[bytes]:
    """Blocks of whole records in UTF-8, as `plain_lines` makes them; a record may have line ends in quotation marks."""
    any_space = separator == ANY_SPACE
    blocks = transcoded(stream, encoding, size)
    if comment or any_space:
        blocks = (plain_lines(each, comment, any_space) for each in whole(blocks, end_of_lines, limit))
    return whole(blocks, partial(_end_of_records, separator="\t" if any_space else separator), limit)


def whole(blocks: Iterable[bytes], end_of: Callable[[bytes], int], limit: float) -> Iterator[bytes]:
    """Text in blocks that end where `end_of` finds the last end; between two ends are at most `limit` bytes."""
    rest = b""
    for block in blocks:
        text = rest + block
        end = end_of(text)
        if end:
            yield text[:end]
        rest = text[end:]
        if len(rest) > limit:
            raise EndlessError("a quotation mark is not closed" if end_of_lines(rest) else "a line is too long")
    if rest:
        if end_of(rest + b"\n") <= len(rest):
            raise EndlessError("a quotation mark is not closed")
        yield rest


def end_of_lines(text: bytes, start: int = 0, stop: int | None = None) -> int:
    """Return where the last line ends; a carriage return at the end of the text may be half of an end."""
    end = text.rfind(b"\n", start, stop)
    return 1 + (end if end >= 0 else text.rfind(b"\r", start, len(text) - 1 if stop is None else stop))


def transcoded(stream: Any, encoding: str, size: int) -> Iterator[bytes]:
    """The text of a stream in UTF-8, in blocks of about `size` bytes, without its byte-order mark."""
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()
    mark = codecs.BOM_UTF8
    while block := stream.read(size):
        text = block if decoder is None else decoder.decode(block).encode(errors="surrogatepass")
        yield text.removeprefix(mark)
        mark = b""
    if decoder is not None:
        yield decoder.decode(b"", final=True).encode()


def _end_of_records(text: bytes, separator: str) -> int:
    """Return where the last whole record ends: at a line end that is not within quotation marks.

    Quotation marks open only where a value begins. A value whose marks do not close reaches to the end of the text.
    """
    quoted = rb'"(?<![^\r\n' + re.escape(separator.encode()) + rb']")[^"]*(?:""[^"]*)*(?:"|\Z)'
    end = done = 0
    for value in re.finditer(quoted, text) if b'"' in text else ():
        end = max(end, end_of_lines(text, done, value.start()))
        done = value.end()
    return max(end, end_of_lines(text, done))


def native(text: bytes) -> Any:
    """A copy of a text in memory of pyarrow.

    The threads of pyarrow outlive its readers. A process that ends while one of them needs Python is aborted, so they
    must hold neither a Python file nor a buffer of Python.
    """
    copy = pa.BufferOutputStream()
    copy.write(text)
    return pa.BufferReader(copy.getvalue())


def is_deep(text: bytes) -> bool:
    """Whether JSON is nested so deeply that parsers would run out of stack."""
    for strings in (None, rb'"(?:[^"\\\n]|\\.)*"'):  # brackets in strings count only at first, which is faster
        plain = re.sub(strings, b"", text) if strings else text
        depths = np.cumsum(_STEPS[np.frombuffer(plain, dtype=np.uint8)], dtype=np.int64)
        if int((depths - np.minimum.accumulate(depths)).max(initial=0)) < _MAX_DEPTH:
            return False
    return True
