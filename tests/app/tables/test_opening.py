"""Texts in any encoding and compression, with comments and any white space."""

import bz2
import csv
import gzip
import io

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mvset.app.tables.opening import decoded, encoding_of, opened, plain_blocks, plain_lines, transcoded

PACKED = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "zstd": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_text_is_opened_whatever_it_is_packed_in(packing, encoding, tmp_path):
    text = "größe,x\n1,2\n" * 5_000
    (tmp_path / "t").write_bytes(PACKED[packing](text.encode(encoding)))
    with opened(tmp_path / "t") as (_, stream):
        found = encoding_of(stream.read(4))
    assert found == encoding.removesuffix("-sig")
    with opened(tmp_path / "t") as (_, stream):
        assert b"".join(transcoded(stream, found, 1001)).decode() == text


def test_a_character_cut_in_two_is_not_an_error():
    assert decoded("aé".encode()[:-1], "utf-8") == "a"
    assert decoded(b"a\xe9b", "utf-8") == "a\ufffdb"
    assert decoded("x".encode("utf-8-sig"), "utf-8") == "x"


@pytest.mark.parametrize(
    ("text", "comment", "any_space", "expected"),
    [
        (b"# a\nx,y\n 1,2 # b\r\n# c\n3,4", "#", False, b"x,y\n 1,2\r\n3,4"),
        (b"# only", "#", False, b""),
        (b"  x   y \r\n1\t 2\n", "", True, b"x\ty\r\n1\t2\n"),
        (b"x y // a\n// b\n1 2\n", "//", True, b"x\ty\n1\t2\n"),
        (b"x.*y\n", ".*", False, b"x\n"),
        (b"x,y\n", "", False, b"x,y\n"),
    ],
)
def test_comments_and_white_space(text, comment, any_space, expected):
    assert plain_lines(text, comment, any_space) == expected


@settings(max_examples=80, deadline=None)
@given(
    lines=st.lists(st.text("a1 \t#,", max_size=8), max_size=8),
    end=st.sampled_from(["\n", "\r\n"]),
    any_space=st.booleans(),
    block=st.integers(1, 12),
)
def test_blocks_give_the_same_as_the_whole(lines, end, any_space, block):
    text = end.join(lines).encode()
    blocks = list(plain_blocks(io.BytesIO(text), "utf-8", "#", " " if any_space else ",", block))
    assert b"".join(blocks) == plain_lines(text, "#", any_space)
    assert all(each.endswith(b"\n") for each in blocks[:-1])


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(st.lists(st.text('a"\n,', max_size=4), min_size=2, max_size=2), min_size=1, max_size=6),
    block=st.integers(1, 12),
)
def test_a_block_ends_where_a_record_does(rows, block):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    blocks = plain_blocks(io.BytesIO(text.getvalue().encode()), "utf-8", "", ",", block)
    read = [row for each in blocks for row in csv.reader(io.StringIO(each.decode(), newline=""))]
    assert read == rows
