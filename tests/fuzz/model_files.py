"""Model files that were damaged, edited or made to do harm.

A file that was changed is refused with ModelFileError, or answers exactly as before. A file whose checksum was computed
anew after the change, as only somebody on purpose does, may answer otherwise, or fail when asked. But nothing that it
names is imported or run, it does not crash the process, and it takes little memory and time.
"""

import copy
import io
import json
import re
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mvset
from model_answers import answers, table_of
from mvset.exceptions import ModelFileError
from mvset.files.archive import Archive, DamagedError, noted_digest

FIXTURES = Path(__file__).parents[1] / "files" / "fixtures"
CASES: dict[str, Any] = json.loads((FIXTURES / "answers.json").read_text())
NAMES = sorted(CASES)
Rng = np.random.Generator
Members = dict[str, bytes]

_before: dict[str, dict[str, list[float]]] = {}
_alarms: list[str] = []
_FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.remove", "subprocess.Popen", "socket.connect")
_TYPES = [
    *("os.system", "posix.system", "builtins.eval", "builtins.exec", "subprocess.Popen", "shutil.rmtree"),
    *("builtins.list", "builtins.dict", "builtins.str", "builtins.int", "builtins.map", "builtins.object"),
    *("numpy.ndarray", "numpy.dtype", "numpy.float64", "numpy.random.mtrand.RandomState", "this.s", "antigravity.fly"),
    *("sklearn.pipeline.Pipeline", "sklearn.preprocessing._data.StandardScaler", "mvset.svm.scaling.Scaling"),
    *("mvset.estimators.minimum_volume_set.MinimumVolumeSet", "mvset.calibration.calibration.Calibration"),
]
_LOADERS = [
    *("DictNode", "ListNode", "TupleNode", "SetNode", "NdArrayNode", "JsonNode", "ObjectNode", "TypeNode", "DTypeNode"),
    *("FunctionNode", "PartialNode", "MethodNode", "CachedNode", "BytesNode", "RandomStateNode", "SparseMatrixNode"),
    *("ConstructorFromReduceNode", "OperatorFuncNode", "TreeNode", "LossNode", "DefaultDictNode", "MaskedArrayNode"),
]
_NUMBERS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, 2**31]
_JSON: list[Any] = [None, True, -1, 0, 1, 2**40, 10**400, -1.5, *_NUMBERS[:3], "", "x", [], {}, [[]], "1e999"]


def warm_up() -> None:
    """Load every file and ask it; and watch for what a file must not do."""
    for name in NAMES:
        _before[name] = _answers(FIXTURES / f"{name}.mvset", name)
    sys.addaudithook(_watch)


def run_case(seed: int, folder: Path) -> str:
    """Change a file in one way, read it and ask it."""
    rng = np.random.default_rng(seed)
    name = NAMES[seed % len(NAMES)]
    content = (FIXTURES / f"{name}.mvset").read_bytes()
    changes = [*_OF_BYTES, *_OF_MEMBERS]
    change = changes[int(rng.integers(len(changes)))]
    sealed = False
    if change in _OF_BYTES:
        content = change(content, rng)
    else:
        members = _members(content)
        for _ in range(int(rng.choice([1, 1, 2, 3]))):
            change(members, rng)
        sealed = bool(rng.random() < 0.6)
        content = _zipped(_sealed(members) if sealed else members)
    path = folder / "m.mvset"
    path.write_bytes(content)
    _alarms.clear()
    try:
        outcome = _outcome(path, name, sealed)
    finally:
        alarms = list(_alarms)
    if alarms:
        raise AssertionError(f"{change.__name__}: the file did this: {alarms}")
    return f"{'sealed' if sealed else 'changed'}, {outcome}"


def _outcome(path: Path, name: str, sealed: bool) -> str:
    try:
        model = mvset.load(path)
    except ModelFileError as error:
        if "trusted=['" in str(error):
            raise AssertionError("advice to trust the types of a file") from error
        return "refused"
    try:
        found = _asked(model, name)
    except Exception:
        if not sealed:
            raise
        return "loaded, error when asked"
    if not sealed:
        # As text: NaN is equal to itself.
        assert repr(found) == repr(_before[name]), "answers differ"
        return "same answers"
    if repr(found) == repr(_before[name]):
        return "loaded, same answers"
    unknown = any(np.isnan(found.get(what, 0.0)).any() for what in ("label", "level", "p-value"))
    return "loaded, answers of NaN" if unknown else "loaded, other answers"


def _answers(path: Path, name: str) -> dict[str, list[float]]:
    return _asked(mvset.load(path), name)


def _asked(model: Any, name: str) -> dict[str, list[float]]:
    return answers(model, table_of(CASES[name]), CASES[name]["strata"])


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Note what no file may do. Errors raised here would be caught by what they pass through."""
    written = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    imported = event == "import" and arguments[0] in ("this", "antigravity")
    if event in _FORBIDDEN or (written and "m.mvset" not in str(arguments[0])) or imported:
        _alarms.append(f"{event} {arguments[:2]!r}"[:200])


# Changes of the bytes of a file


def flipped_bits(content: bytes, rng: Rng) -> bytes:
    changed = bytearray(content)
    for at in rng.integers(len(content), size=int(rng.integers(1, 9))):
        changed[at] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def truncated(content: bytes, rng: Rng) -> bytes:
    return content[: int(rng.integers(len(content)))]


def cut(content: bytes, rng: Rng) -> bytes:
    start, stop = sorted(rng.integers(len(content), size=2).tolist())
    return content[:start] + content[stop:]


def overwritten(content: bytes, rng: Rng) -> bytes:
    start, length = int(rng.integers(len(content))), int(rng.integers(1, 512))
    filler = [bytes(length), b"\xff" * length, rng.bytes(length), content[:length]][int(rng.integers(4))]
    return (content[:start] + filler + content[start + length :])[: len(content)]


def surrounded(content: bytes, rng: Rng) -> bytes:
    more = [rng.bytes(30), bytes(22), content[-40:], content][int(rng.integers(4))]
    return more + content if rng.random() < 0.5 else content + more


def edited_directory(content: bytes, rng: Rng) -> bytes:
    """Another number in the central directory or its end: sizes, offsets, flags, CRC, number of members."""
    changed = bytearray(content)
    records = [match.start() for match in re.finditer(rb"PK(\x01\x02|\x03\x04|\x05\x06)", content)]
    for _ in range(int(rng.integers(1, 4))):
        at = records[int(rng.integers(len(records)))] + int(rng.integers(4, 42))
        number = [0, 1, 0xFFFF, 0xFFFFFFFF, len(content), int(rng.integers(1 << 31))][int(rng.integers(6))]
        changed[at : at + 4] = struct.pack("<I", number)
    return bytes(changed)


# Changes of the members of an archive


def swapped_members(members: Members, rng: Rng) -> None:
    one, other = rng.choice(sorted(members), 2, replace=False)
    members[one], members[other] = members[other], members[one]


def dropped_member(members: Members, rng: Rng) -> None:
    del members[_any_of(sorted(members), rng)]


def added_member(members: Members, rng: Rng) -> None:
    names = ["../up.npy", "/abs.npy", "more.npy", "more.npz", "x" * 3000, "schema.json/", "\u202e.npy", "more.bin"]
    members[_any_of(names, rng)] = _any_of([b"", rng.bytes(100), bytes(1 << 20), *members.values()], rng)


def edited_values(members: Members, rng: Rng) -> None:
    """An array with other values, or of another type or shape."""
    name, array = _any_array(members, rng)
    if array is None or array.size == 0:
        return
    at = int(rng.integers(array.size))
    kind = int(rng.integers(9))
    if kind < 4:
        with np.errstate(invalid="ignore", over="ignore"):
            array.flat[at] = np.asarray(_any_of(_NUMBERS, rng)).astype(array.dtype)
    elif kind == 4:
        array = rng.permutation(array.ravel()).reshape(array.shape)
    elif kind == 5:
        array = array.astype(_any_of(["<f4", "<i8", "<U8", "<c16", "|b1", "<M8[s]", ">f8"], rng))
    elif kind == 6:
        rows = np.atleast_1d(array)
        array = _any_of([rows[:0], rows[:-1], rows.ravel(), array[np.newaxis], np.tile(rows, 3)], rng)
    elif kind == 7:
        array = array.flat[at]
    else:
        array.flat[at] = array.flat[at] * (1 + 2**-52) if array.dtype.kind == "f" else array.flat[at]
    members[name] = _npy(array)


def edited_header(members: Members, rng: Rng) -> None:
    """The header of an array with other bytes."""
    names = [name for name in members if name.endswith(".npy")]
    if not names:
        return
    name = _any_of(names, rng)
    data = members[name]
    swaps = [(b"<f8", b"|O "), (b"<f8", b"<i8"), (b"False", b"True "), (b"(", b"(9"), (b",)", b",9)")]
    old, new = _any_of([*swaps, (b"}", b" " * 5), (b"'descr'", b"'dscr' "), (b"\x01\x00", b"\x03\x00")], rng)
    members[name] = data.replace(old, new, 1) if old in data[:120] else data[: int(rng.integers(len(data) + 1))]


def edited_schema(members: Members, rng: Rng) -> None:
    """A node with other entries, or another node in its place."""
    root, nodes = _schema_nodes(members)
    if not nodes:
        return
    node, kind = _any_of(nodes, rng), int(rng.integers(6))
    key = _any_of(sorted(node), rng) if node else ""
    if kind == 0:
        node.pop(key, None)
    elif kind == 1:
        node[key] = _any_of(_JSON, rng)
    elif kind == 2:
        other = copy.deepcopy(_any_of(nodes, rng))
        node.clear()
        node.update(other)
    elif kind == 3:
        node["__id__"] = _any_of(nodes, rng).get("__id__", 1)
    elif kind == 4:
        node["content"] = json.dumps(_any_of(_JSON, rng))
    else:
        files = [each for each in members if each.endswith(".npy")]
        node["file"] = _any_of([*files, "mvset.json", "../up"], rng)
    members["schema.json"] = json.dumps(root).encode()


def renamed_types(members: Members, rng: Rng) -> None:
    """A node of another type, or read in another way."""
    root, nodes = _schema_nodes(members)
    typed = [node for node in nodes if "__loader__" in node]
    if not typed:
        return
    node = _any_of(typed, rng)
    if rng.random() < 0.6:
        node["__module__"], _, node["__class__"] = _any_of(_TYPES, rng).rpartition(".")
    if rng.random() < 0.6:
        node["__loader__"] = _any_of(_LOADERS, rng)
    if rng.random() < 0.1:
        root["protocol"] = _any_of([0, 1, 3, True, "2", None], rng)
    members["schema.json"] = json.dumps(root).encode()


def nested_schema(members: Members, rng: Rng) -> None:
    """A schema that is nested deeply, as JSON or as nodes."""
    if rng.random() < 0.3:
        members["schema.json"] = b"[" * 100_000
        return
    schema, depth = members.get("schema.json", b"{}"), int(rng.choice([10, 200, 5000]))
    start = b'{"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "protocol": 2, "content": ['
    members["schema.json"] = start * depth + schema + b"]}" * depth


def edited_note(members: Members, rng: Rng) -> None:
    """Another note on what wrote the file."""
    try:
        note = json.loads(members["mvset.json"])
        note[_any_of(["format", "mvset", "scikit-learn", "sha256", "more"], rng)] = _any_of(_JSON, rng)
        members["mvset.json"] = json.dumps(note).encode()
    except (KeyError, ValueError, TypeError):  # an earlier change has left no note
        members["mvset.json"] = rng.bytes(20)


Change = Callable[..., Any]
_OF_BYTES: list[Change] = [flipped_bits, truncated, cut, overwritten, surrounded, edited_directory]
_OF_MEMBERS: list[Change] = [
    *(swapped_members, dropped_member, added_member, edited_header, *[edited_values] * 5),
    *(edited_schema, edited_schema, edited_schema, renamed_types, renamed_types, nested_schema, edited_note),
]


# Helpers


def _any_of(values: Any, rng: Rng) -> Any:
    return values[int(rng.integers(len(values)))]


def _members(content: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zipped(members: Members) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return content.getvalue()


def _sealed(members: Members) -> Members:
    """With the checksum of these members, where there is a note to write it in."""
    try:
        note = json.loads(members["mvset.json"])
        note["sha256"] = noted_digest(Archive(_zipped(members)), note)
    except (KeyError, ValueError, TypeError, AttributeError, DamagedError):  # no note, or refused whatever it says
        return members
    return {**members, "mvset.json": json.dumps(note).encode()}


def _any_array(members: Members, rng: Rng) -> tuple[str, Any]:
    names = sorted(name for name, data in members.items() if name.endswith(".npy") and data.startswith(b"\x93NUMPY"))
    if not names:
        return "", None
    name = _any_of(names, rng)
    try:
        return name, np.load(io.BytesIO(members[name]), allow_pickle=False).copy()
    except ValueError:  # an earlier change has left no array
        return name, None


def _npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(array), allow_pickle=False)
    return stream.getvalue()


def _schema_nodes(members: Members) -> tuple[Any, list[dict[str, Any]]]:
    try:
        root = json.loads(members.get("schema.json", b"{}"))
    except (ValueError, RecursionError):
        return {}, []
    found: list[dict[str, Any]] = []
    waiting = [root]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            found.append(each)
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return root, found
