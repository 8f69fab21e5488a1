import io
import json
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

import mvset
from mvset.exceptions import ModelFileError
from mvset.files import archive
from mvset.files.archive import Archive, DamagedError, check_schema, noted_digest
from mvset.paper.datasets import two_moons

X = two_moons(100, random_state=0)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m"
    mvset.save(mvset.OneClassSVM(sigma=0.3).fit(X), path)
    return path.read_bytes()


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        return {name: old.read(name) for name in old.namelist()}


def zipped(members, compression=zipfile.ZIP_DEFLATED):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression, compresslevel=1) as new:
        for name, data in members:
            new.writestr(name, data)
    return content.getvalue()


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def refused(content, reason):
    """Refused, for this reason, with little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(DamagedError, match=reason):
            Archive(content)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


BOMB = bytes(80 << 20)


def test_a_bomb_is_not_inflated():
    bomb = zipped([("mvset.json", b"{}"), ("1.npy", BOMB)])
    assert len(bomb) < 1e6
    refused(bomb, r"would take 83\.89 MB, too much for a file of 0\.")


def test_a_bomb_is_called_one(tmp_path):
    (tmp_path / "m").write_bytes(zipped([("mvset.json", b"{}"), ("1.npy", BOMB)]))
    with pytest.raises(ModelFileError, match=r"m is truncated or damaged: its content would take 83\.89 MB"):
        mvset.load(tmp_path / "m")


def test_many_small_bombs_are_one(monkeypatch):
    monkeypatch.setattr(archive, "_FREE_BYTES", 1 << 20)
    refused(zipped([(f"{i}.npy", bytes(1 << 18)) for i in range(5)]), r"would take 1\.311 MB")


def test_a_bomb_in_a_sparse_matrix(monkeypatch):
    monkeypatch.setattr(archive, "_FREE_BYTES", 1 << 20)
    inner = zipped([("data.npy", npy(np.zeros(80_000)))])
    assert Archive(zipped([("1.npz", inner)])).digest
    refused(zipped([(f"{i}.npz", inner) for i in range(2)]), r"would take 1\.28 MB")
    refused(zipped([("1.npz", zipped([("data.npy", bytes(2 << 20))]))]), r"would take 2\.097 MB")


def declared(content, size, crc=None):
    """The archive with another size of its only member, and another CRC, in all headers."""
    central = content.rindex(b"PK\x01\x02")
    changed = bytearray(content)
    changed[22:26] = changed[central + 24 : central + 28] = struct.pack("<I", size)
    if crc is not None:
        changed[14:18] = changed[central + 16 : central + 20] = struct.pack("<I", crc)
    return bytes(changed)


def test_a_declared_size_that_is_a_lie():
    bomb = zipped([("1.npy", BOMB)])
    refused(declared(bomb, 100), "Bad CRC-32")
    refused(declared(zipped([("1.npy", npy(X))]), 5000), "shorter than declared|Bad CRC-32")


def test_what_is_read_is_what_was_checked():
    """More follows than a member declares, whose CRC is that of what it declares."""
    lie = declared(zipped([("1.bin", BOMB)]), 100, zlib.crc32(BOMB[:100]))
    with zipfile.ZipFile(io.BytesIO(Archive(lie).members)) as checked:
        assert [(member.file_size, member.compress_size) for member in checked.infolist()] == [(100, 100)]


def test_a_large_schema_and_note():
    refused(zipped([("schema.json", bytes(20 << 20))]), r"schema\.json would take 20\.97 MB")
    refused(zipped([("mvset.json", bytes(1 << 20))]), r"mvset\.json would take 1\.049 MB")


def test_many_members(monkeypatch):
    monkeypatch.setattr(archive, "_MAX_MEMBERS", 4)
    refused(zipped([(f"{i}.bin", b"") for i in range(5)]), "it has 5 members")


@pytest.mark.parametrize("name", ["../1.npy", "/1.npy", "a/1.npy", "C:\\1.npy", "1.npy\n", "1", "é.npy", "." * 200])
def test_names_that_are_none_of_ours(name):
    refused(zipped([(name, b"")]), "a member has the name")


def test_a_member_twice():
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = zipped([("1.bin", b"a"), ("1.bin", b"b")])
    refused(twice, r"1\.bin is in it twice")


def test_encrypted_and_otherwise_compressed_members():
    encrypted = bytearray(zipped([("1.bin", b"a")]))
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
    refused(bytes(encrypted), r"1\.bin is encrypted")
    for compression in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        refused(zipped([("1.bin", b"a")], compression), "in another way than deflate")


def header(text):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        npy(X)[:-1],
        npy(X) + b"0",
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}\n"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}\n"),
        header("{'descr': '|O', 'fortran_order': False, 'shape': (0,)}\n"),
        header("{'descr': '<q9', 'fortran_order': False, 'shape': (0,)}\n"),
        header("(" * 9000),
        header("__import__('os').system('true')"),
        b"\x93NUMPY\x09\x00" + npy(X)[8:],
    ],
)
def test_arrays_that_are_none(data):
    refused(zipped([("1.npy", data)]), r"1\.npy is not (an array|the array that its header declares)")


def test_an_edit_of_a_plausible_value_is_damage(content, tmp_path):
    members = members_of(content)
    name = max((name for name in members if name.endswith(".npy")), key=lambda name: len(members[name]))
    array = np.load(io.BytesIO(members[name])).copy()
    array.flat[0] *= 1.0 + 1e-15
    (tmp_path / "m").write_bytes(zipped({**members, name: npy(array)}.items()))
    with pytest.raises(ModelFileError, match=r"checksum .*\. Copy it once more, or fit again\."):
        mvset.load(tmp_path / "m")


@pytest.mark.parametrize("entry", ["mvset", "scikit-learn", "sha256"])
def test_an_edit_of_the_note_is_damage(content, tmp_path, entry):
    members = members_of(content)
    note = json.loads(members["mvset.json"])
    members["mvset.json"] = json.dumps({**note, entry: note[entry] + "0"}).encode()
    (tmp_path / "m").write_bytes(zipped(members.items()))
    with pytest.raises(ModelFileError, match="damaged"):
        mvset.load(tmp_path / "m")


def test_the_order_and_compression_of_members_do_not_count(content, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(zipped(reversed(members_of(content).items()), zipfile.ZIP_STORED))
    before = mvset.OneClassSVM(sigma=0.3).fit(X).score_samples(X)
    np.testing.assert_array_equal(mvset.load(path).score_samples(X), before)


def test_a_model_that_shrinks_too_much_is_not_compressed(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_FREE_BYTES", 0)
    monkeypatch.setattr(archive, "_RATIO", 1)
    monkeypatch.setitem(archive._FREE_BY_NAME, "schema.json", 0)
    model = mvset.OneClassSVM(sigma=0.3).fit(X)
    mvset.save(model, tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as written:
        assert {member.compress_type for member in written.infolist()} == {zipfile.ZIP_STORED}
    np.testing.assert_array_equal(mvset.load(tmp_path / "m").predict(X), model.predict(X))


def node(loader, **entries):
    return {"__class__": "ndarray", "__module__": "numpy", "__loader__": loader, **entries}


REPEATED = [node("ListNode", __id__=1, content=[]), node("ListNode", __id__=1)]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (b"[" * 100_000, "not readable"),
        (b"\xff", "not readable"),
        (b"[]", "not readable"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not readable"),
        ([node("NdArrayNode", file="1.npy") for _ in range(2)], r"1\.npy belongs to several objects"),
        ([node("NdArrayNode", file="1.npy", __id__=i) for i in range(2)], r"1\.npy belongs to several objects"),
        (node("NdArrayNode", type="json", content=REPEATED), "repeats a list"),
        ({"__class__": "Calibration", "__module__": "mvset.c", "__loader__": "ObjectNode"}, "Calibration in it has no"),
    ],
)
def test_schemas_that_would_multiply(schema, reason):
    if not isinstance(schema, bytes):
        schema = json.dumps({"content": schema}).encode()
    with pytest.raises(DamagedError, match=reason):
        check_schema(schema)


def test_anything_but_a_model_in_the_archive(content, tmp_path):
    members = members_of(content)
    root = json.loads(members["schema.json"])
    for value in ({}, 1, [1, 2]):
        changed = {**root, "__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
        changed["content"] = json.dumps(value)
        members["schema.json"] = json.dumps(changed).encode()
        note = json.loads(members["mvset.json"])
        note["sha256"] = noted_digest(Archive(zipped(members.items())), note)
        members["mvset.json"] = json.dumps(note).encode()
        (tmp_path / "m").write_bytes(zipped(members.items()))
        with pytest.raises(ModelFileError, match="not a model"):
            mvset.load(tmp_path / "m")


def test_without_a_schema(tmp_path):
    note = {"format": 6, "mvset": mvset.__version__}
    note["sha256"] = noted_digest(Archive(zipped([("1.bin", b"")])), note)
    (tmp_path / "m").write_bytes(zipped([("mvset.json", json.dumps(note)), ("1.bin", b"")]))
    with pytest.raises(ModelFileError, match="fit again"):
        mvset.load(tmp_path / "m")


@pytest.mark.parametrize("depth", [10, 60_000])
def test_a_note_that_is_nested(tmp_path, depth):
    (tmp_path / "m").write_bytes(zipped([("mvset.json", b"[" * depth)]))
    with pytest.raises(ModelFileError, match="damaged"):
        mvset.load(tmp_path / "m")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no endless file")
def test_an_endless_file_is_not_read():
    with pytest.raises(ModelFileError, match="/dev/zero is not a model file"):
        mvset.load("/dev/zero")
