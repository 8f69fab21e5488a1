"""Open a text whatever it is packed in: gzip, bzip2, Zstandard, another encoding, comments."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

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


def as_utf8(stream: Any, encoding: str) -> Any:
    """A text in UTF-8."""
    return stream if encoding == "utf-8" else pa.transcoding_input_stream(stream, encoding, "utf-8")


def plain_lines(text: bytes, comment: str, any_space: bool) -> bytes:
    """Lines of a text without comments, and with one tab for white space if that separates."""
    if comment:
        mark = re.escape(comment.encode())
        text = re.sub(rb"(?m)^[ \t]*" + mark + rb"[^\r\n]*(?:\r\n|\r|\n|\Z)", b"", text)
        text = re.sub(rb"[ \t]*" + mark + rb"[^\r\n]*", b"", text)
    if any_space:
        text = re.sub(rb"[ \t]+", b"\t", re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r|$)", b"", text))
    return text


class PlainLines(io.RawIOBase):
    """A text, block by block, as `plain_lines` makes it."""

    def __init__(self, stream: Any, comment: str, any_space: bool, block: int) -> None:
        self._stream, self._block = stream, block
        self._comment, self._any_space = comment, any_space
        self._unfinished = self._ready = b""

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer."""
        while not self._ready:
            read = self._stream.read(self._block)
            text = self._unfinished + read
            if not text:
                return 0
            end = text.rfind(b"\n") + 1 if read else len(text)
            self._ready, self._unfinished = plain_lines(text[:end], self._comment, self._any_space), text[end:]
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


class ShallowJson(io.RawIOBase):
    """A JSON text, block by block, that ends where it is nested deeply: parsers would run out of stack."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.is_deep = False

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer."""
        read = b"" if self.is_deep else self._stream.read(len(buffer))
        if _may_be_deep(read) and _depth(read) > _MAX_DEPTH:
            self.is_deep, read = True, b""
        buffer[: len(read)] = read
        return len(read)


def _may_be_deep(text: bytes) -> bool:
    """Whether brackets open more often than a table of shallow rows explains; those in strings count, too."""
    steps = _STEPS[np.frombuffer(text, dtype=np.uint8)]
    depths = np.cumsum(steps, dtype=np.int64)
    return len(depths) > 0 and int((depths - np.minimum.accumulate(depths)).max()) >= _MAX_DEPTH


def _depth(text: bytes) -> int:
    """The largest depth of a line, without the brackets in strings."""
    deepest = 0
    for line in text.split(b"\n"):
        steps = _STEPS[np.frombuffer(re.sub(rb'"(?:[^"\\]|\\.)*"', b"", line), dtype=np.uint8)]
        deepest = max(deepest, int(np.cumsum(steps, dtype=np.int64).max(initial=0)))
    return deepest
