"""Open a text whatever it is packed in, gzip or another encoding; and notice if a file changes meanwhile."""

import codecs
import lzma
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mvset.app.tables.errors import TableError

_BLOCK = 4 << 20  # bytes that are parsed at once
_MAX_DEPTH = 100  # of nested JSON
_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[[ord("["), ord("{")]], _STEPS[[ord("]"), ord("}")]] = 1, -1

_COMPRESSION = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ": "xz"}
# Letters and signs of western Europe. Three letters beyond ASCII together are another alphabet; Ã and Â, damaged UTF-8.
_WESTERN = re.compile(
    r"(?:[\x00-\x7f]|[°µ²³€£¥¢§±·×½¼¾–—„“”‘’‚…®©™«»¿¡ºª\xa0]|[ÄÖÜäöüßÀÇÉÈÊËÎÏÔÛÙŒÆàâçéèêëîïôûùœæñáíóúÑÁÍÓÚãõÕåÅøØìòÌÒðþÐÞýÝÿ]"
    r"(?![À-ÿ]{2}))*"
)
_BYTE_ORDER_MARKS = {
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-8": (codecs.BOM_UTF8,),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}


@contextmanager
def opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """The raw file, which knows its position, and its content."""
    with pa.OSFile(str(path)) as source:
        start = source.read(6)
        source.seek(0)
        codec = next((name for magic, name in _COMPRESSION.items() if start.startswith(magic)), None)
        if codec == "xz":
            with lzma.open(source) as stream:
                yield source, stream
        else:
            yield source, source if codec is None else pa.CompressedInputStream(source, codec)


def encoding_of(start: bytes, usual: str | None = None) -> str | None:
    """Return the encoding of a text: by its byte-order mark, UTF-16, UTF-8, the `usual` one, Windows-1252.

    None if it is unknown, because text in other encodings looks like Windows-1252 with odd letters.
    """
    if marked := [name for name, marks in _BYTE_ORDER_MARKS.items() if start.startswith(marks)]:
        return marked[0]
    zeros = [start[i::2].count(0) for i in (0, 1)]
    if max(zeros) > len(start) / 5 and min(zeros) < len(start) / 20:
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    for name in ("utf-8", *([usual] if usual else []), "cp1252"):
        try:
            text = codecs.getincrementaldecoder(name)().decode(start)
        except UnicodeError:
            continue
        return name if name != "cp1252" or _WESTERN.fullmatch(text) else None
    return None


def decoded(start: bytes, encoding: str) -> str:
    """The beginning of a text; what cannot be decoded becomes U+FFFD."""
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    return decoder.decode(start, final=False).lstrip("\ufeff")


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


def whole(blocks: Iterable[bytes], end_of: Callable[[bytes], int]) -> Iterator[bytes]:
    """Text in blocks that end where `end_of` finds the last end."""
    rest = b""
    for block in blocks:
        text = rest + block
        end = end_of(text)
        if end:
            yield text[:end]
        rest = text[end:]
        if len(rest) > 2 * _BLOCK:
            raise EndlessError("a quotation mark is not closed" if end_of_lines(rest) else "a line is too long")
    if rest:
        if end_of(rest + b"\n") <= len(rest):
            raise EndlessError("a quotation mark is not closed")
        yield rest


def end_of_lines(text: bytes, start: int = 0, stop: int | None = None) -> int:
    """Return where the last line ends; a carriage return at the end of the text may be half of an end."""
    end = text.rfind(b"\n", start, stop)
    return 1 + (end if end >= 0 else text.rfind(b"\r", start, len(text) - 1 if stop is None else stop))


def transcoded(stream: Any, encoding: str) -> Iterator[bytes]:
    """The text of a stream in UTF-8, in blocks, without its byte-order mark."""
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()
    mark = codecs.BOM_UTF8
    block = stream.read(_BLOCK)
    while block:
        following = stream.read(_BLOCK)
        text = block if decoder is None else decoder.decode(block, final=not following).encode(errors="surrogatepass")
        text += b"" if following or text.endswith(b"\n") else b"\n"  # the last line is a line
        yield text.removeprefix(mark)
        mark, block = b"", following


def quoted_values(text: bytes, separator: str) -> Iterator[re.Match[bytes]]:
    """Values in quotation marks, which open only where a value begins. One that does not close reaches to the end."""
    opening = rb'"(?<![^\r\n' + re.escape(separator.encode()) + rb']")'
    return re.finditer(opening + rb'[^"]*(?:""[^"]*)*(?:"|\Z)', text) if b'"' in text else iter(())


def _quotation_marks(text: bytes, separator: str) -> NDArray[np.intp]:
    """Where quotation marks open and close values, in turn."""
    content = np.frombuffer(text + b"\n", dtype=np.uint8)
    marks = np.flatnonzero(content == ord('"'))
    borders = np.isin(np.arange(256), [*b"\r\n", *separator.encode()])
    opening, closing = marks[::2], marks[1::2]
    regular = borders[content[opening - 1]] | (opening == 0)
    if regular.all() and borders[content[closing + 1]].all():
        return marks
    # Slower: others are within values. One that does not close closes beyond the text.
    spans = [(value.start(), value.end() - value[0].endswith(b'"')) for value in quoted_values(text, separator)]
    return np.array(spans, dtype=np.intp).ravel()


def end_of_records(text: bytes, separator: str) -> int:
    """Return where the last whole record ends: at a line end that is not within quotation marks."""
    end = end_of_lines(text)
    if b'"' not in text:
        return end
    marks = _quotation_marks(text, separator)
    while (n_above := int(np.searchsorted(marks, end))) % 2:
        end = end_of_lines(text, 0, int(marks[n_above - 1]))
    return end


def without_empty_end(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Text in blocks, without empty lines at its end unless there are others."""
    empty, others = b"", False
    for block in blocks:
        filled = len(block.rstrip(b"\r\n"))
        end = 0
        if filled:
            end = filled + (2 if block[filled : filled + 2] == b"\r\n" else 1)
            others = others or bool(empty) or re.search(rb"\n\r?\n|\r\r", block[:end]) is not None
            yield empty + block[:end]
            empty = b""
        empty += block[end:]
    if others and empty:
        yield empty


def n_lines(text: bytes, *, empty: bool = False) -> int:
    """Number of lines, without empty ones unless they count."""
    return len(re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+" if empty else rb"[^\r\n]+", text))


def n_line_feeds(text: bytes) -> int:
    """Number of line feeds: most often the number of lines, and counted faster."""
    return int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")))


def below(text: bytes, line: int) -> bytes:
    """A text from a line on, counted from 0."""
    ends = re.finditer(rb"\r\n|\r|\n", text)
    return text[next(islice(ends, line - 1, None)).end() :] if line else text


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
    # Brackets in strings count only at first, which is faster.
    return _depth(text) >= _MAX_DEPTH and _depth(re.sub(rb'"(?:[^"\\\n]|\\.)*"', b"", text)) >= _MAX_DEPTH


def _depth(text: bytes) -> int:
    depths = np.cumsum(_STEPS[np.frombuffer(text, dtype=np.uint8)], dtype=np.int64)
    return int((depths - np.minimum.accumulate(depths)).max(initial=0))
