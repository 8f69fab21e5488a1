"""Texts in any encoding and compression, and their lines."""

import bz2
import csv
import gzip
import io
import lzma
from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mvset.app.tables import opening
from mvset.app.tables.dialect import tabs_for_spaces
from mvset.app.tables.opening import (
    below,
    decoded,
    encoding_of,
    end_of_records,
    n_lines,
    opened,
    transcoded,
    whole,
    without_empty_end,
)

PACKED = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_text_is_opened_whatever_it_is_packed_in(packing, encoding, tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "_BLOCK", 1001)
    text = "größe,x\n1,2\n" * 5_000
    (tmp_path / "t").write_bytes(PACKED[packing](text.encode(encoding)))
    with opened(tmp_path / "t") as (_, stream):
        found = encoding_of(stream.read(4))
    assert found == encoding.removesuffix("-sig")
    with opened(tmp_path / "t") as (_, stream):
        assert b"".join(transcoded(stream, found)).decode() == text


def test_a_character_cut_in_two_is_not_an_error():
    assert decoded("aé".encode()[:-1], "utf-8") == "a"
    assert decoded(b"a\xe9b", "utf-8") == "a\ufffdb"
    assert decoded("x".encode("utf-8-sig"), "utf-8") == "x"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"  x   y \r\n1\t 2\n", b"x\ty\r\n1\t2\n"),
        (b'"a  b"  "c"\n1 2\n', b'"a  b"\t"c"\n1\t2\n'),
        (b'5" pipe 7" x\n', b'5"\tpipe\t7"\tx\n'),
    ],
)
def test_tabs_for_white_space(text, expected):
    assert tabs_for_spaces(text) == expected


@pytest.mark.parametrize(
    ("text", "lines", "with_empty"),
    [
        (b"", 0, 0),
        (b"a", 1, 1),
        (b"a\nb\n", 2, 2),
        (b"a\r\nb", 2, 2),
        (b"a\rb\r", 2, 2),
        (b"\na\n\n\nb\n", 2, 5),
        (b"\r\na\r\n\r\nb", 2, 4),
        (b"a\rb\nc\r\n", 3, 3),
    ],
)
def test_lines_are_counted(text, lines, with_empty):
    assert (n_lines(text), n_lines(text, empty=True)) == (lines, with_empty)


@settings(max_examples=60, deadline=None)
@given(lines=st.lists(st.text("ab", max_size=2), max_size=8), end=st.sampled_from(["\n", "\r\n", "\r"]))
def test_a_text_from_a_line_on(lines, end):
    text = end.join(lines).encode()
    for i in range(len(lines)):
        assert below(text, i) == end.join(lines[i:]).encode()


@pytest.mark.parametrize("block", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a\nb\n\n\n", b"a\nb\n"),
        (b"a\r\n\r\n", b"a\r\n"),
        (b"a\n\nb\n\n", b"a\n\nb\n\n"),
        (b"a", b"a"),
        (b"\n\n", b""),
    ],
)
def test_empty_lines_at_the_end_are_no_rows_unless_there_are_others(text, expected, block):
    lines = text.splitlines(keepends=True)
    blocks = [b"".join(lines[i : i + block]) for i in range(0, len(lines), block)]
    assert b"".join(without_empty_end(blocks)) == expected


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("größe,°C\n".encode("cp1252"), "cp1252"),
        ("größe".encode(), "utf-8"),
        ("a,b\n1,2\n".encode("utf-16-le"), "utf-16-le"),
        ("a,b\n1,2\n".encode("utf-16-be"), "utf-16-be"),
        ("Москва,насос\n".encode("cp1251"), None),  # looks like accented letters
        ("größe".encode() + b" \xff", None),  # damaged UTF-8
    ],
)
def test_encodings_are_guessed_or_left_open(content, encoding):
    assert encoding_of(content) == encoding


def test_the_encoding_of_an_earlier_table_comes_before_a_guess():
    assert encoding_of("Москва,насос\n".encode("cp1251"), "cp1251") == "cp1251"
    assert encoding_of("größe".encode(), "cp1251") == "utf-8"


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(st.lists(st.text('a"\n,', max_size=4), min_size=2, max_size=2), min_size=1, max_size=6),
    block=st.integers(1, 12),
)
def test_a_block_ends_where_a_record_does(rows, block):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    content = text.getvalue().encode()
    parts = [content[i : i + block] for i in range(0, len(content), block)]
    blocks = whole(parts, partial(end_of_records, separator=","))
    read = [row for each in blocks for row in csv.reader(io.StringIO(each.decode(), newline=""))]
    assert read == rows
