"""Tables in every format, damaged: `mvset score` and `mvset fit` answer, or say one sentence.

No crash, no traceback, no "bug in mvset", no file left behind, whatever the bytes are.
"""

import gzip
import io
import json
import sqlite3
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
from typer.testing import CliRunner

import mvset
from mvset import MinimumVolumeSet
from mvset.app.cli.app import app

N_ROWS = 40
ENDINGS = (".csv", ".tsv", ".txt", ".ndjson", ".json", ".parquet", ".feather", ".xlsx", ".db", ".zip", ".gz", ".bz2")
OPTIONS = (
    *(
        ["--read", "header=no"],
        ["--read", "header=yes"],
        ["--read", "separator=tab"],
        ["--read", "separator=space"],
        ["--read", "separator=;"],
    ),
    *(
        ["--read", "encoding=latin-1"],
        ["--read", "encoding=utf-16"],
        ["--read", "na=ERR"],
        ["--read", "skip-rows=3"],
        ["--read", "comment=#"],
    ),
    *(
        ["--where", "x > 0"],
        ["--where", "grade = 'good'"],
        ["--read", "format=csv"],
        ["--read", "format=parquet"],
        ["--mass", "0.9"],
    ),
)
_files: dict[str, bytes] = {}
_model: list[str] = []


def _table() -> pa.Table:
    rng = np.random.default_rng(0)
    grades = np.array(["good", "fair"])[rng.integers(2, size=N_ROWS)]
    names = [f"näme {i}" for i in range(N_ROWS)]
    x, y = rng.normal(size=(2, N_ROWS)).round(3)
    return pa.table({"id": names, "x": x, "y": y, "grade": grades.tolist()})


def warm_up() -> None:
    """One table in every format, and a model of it."""
    table = _table()
    rows = table.to_pylist()
    lines = [table.column_names, *([str(value) for value in row.values()] for row in rows)]
    _files["csv"] = "\n".join(",".join(line) for line in lines).encode()
    _files["semicolons"] = "\n".join(";".join(line).replace(".", ",") for line in lines).encode("utf-16")
    _files["quoted"] = "\r\n".join(",".join(f'"{cell}"' for cell in line) for line in lines).encode("utf-8-sig")
    _files["ndjson"] = "\n".join(json.dumps(row) for row in rows).encode()
    _files["json"] = json.dumps(rows).encode()
    for name, write in (("parquet", pa.parquet.write_table), ("feather", pa.feather.write_feather)):
        sink = io.BytesIO()
        write(table, sink)
        _files[name] = sink.getvalue()
    sink = io.BytesIO()
    pa.feather.write_feather(table, sink, compression="uncompressed")
    _files["plain feather"] = sink.getvalue()
    book, sink = openpyxl.Workbook(), io.BytesIO()
    for line in [table.column_names, *(list(row.values()) for row in rows)]:
        book.active.append(line)
    book.save(sink)
    _files["xlsx"] = sink.getvalue()
    _files["gzip"] = gzip.compress(_files["csv"])
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("t.csv", _files["csv"])
    _files["zip"] = sink.getvalue()
    folder = Path(tempfile.mkdtemp())
    with sqlite3.connect(folder / "t.db") as connection:
        connection.execute("CREATE TABLE t (id TEXT, x REAL, y REAL, grade TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [tuple(row.values()) for row in rows])
    connection.close()
    _files["sqlite"] = (folder / "t.db").read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MinimumVolumeSet(splits=3, random_state=0).fit(table.select(["x", "y", "grade"]))
    mvset.save(model, folder / "m.mvset")
    _model.append(str(folder / "m.mvset"))
    CliRunner().invoke(app, ["score", _model[0], str(folder / "t.db")])  # imports what reading needs


def run_case(seed: int, folder: Path) -> str:
    """Score, or fit to, one damaged table."""
    rng = np.random.default_rng(seed)
    name = list(_files)[rng.integers(len(_files))]
    content = _files[name] if rng.uniform() < 0.03 else damaged(_files[name], rng)
    ending = {"semicolons": ".csv", "quoted": ".csv", "plain feather": ".feather", "gzip": ".csv.gz", "sqlite": ".db"}
    path = folder / f"t{ending.get(name, '.' + name) if rng.uniform() < 0.9 else rng.choice(ENDINGS)}"
    path.write_bytes(content)
    options = list(OPTIONS[rng.integers(len(OPTIONS))]) if rng.uniform() < 0.3 else []
    if rng.uniform() < 0.9:
        out = folder / rng.choice(["o.csv", "o.parquet", "o.ndjson"])
        arguments = ["score", _model[0], str(path), "--keep", "id", "--out", str(out), *options]
    else:
        out = folder / "m2.mvset"
        arguments = ["fit", str(path), "--out", str(out), "--missing", "drop", *options]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = CliRunner().invoke(app, arguments)
    said = done.stderr.strip()
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code in (0, 1, 2), (done.exit_code, said)
    assert "bug in mvset" not in said, said
    assert "Traceback" not in said, said
    left = {each.name for each in folder.iterdir()} - {path.name}
    assert left == ({out.name} if done.exit_code == 0 else set()), left
    if done.exit_code == 1:
        sentences = [line for line in said.splitlines() if not line.startswith("Note: ")]
        assert len(sentences) == 1, said
        assert len(sentences[0]) < 2000, said
    return f"{arguments[0]} {name}: {('answered', 'refused', 'wrong usage')[done.exit_code]}"


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Bytes flipped, cut out, doubled, inserted or replaced, once or several times."""
    for _ in range(rng.integers(1, 6)):
        data, i = bytearray(content), int(rng.integers(max(1, len(content))))
        length = int(2 ** rng.uniform(0, 10))
        kind = rng.integers(7)
        if kind == 0 and data:
            data[i] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            data[i : i + length] = rng.bytes(length)
        elif kind == 2:
            del data[i : i + length]
        elif kind == 3:
            data[i:i] = data[i : i + length]
        elif kind == 4:
            data = data[:i]
        elif kind == 5:
            odd = (b'"', b"\n", b"\0", b",", b"[", b"{", b"\xff\xfe", b"nan", b"-", b"1e999", "é".encode(), b"\r", b"#")
            data[i:i] = odd[rng.integers(len(odd))] * int(rng.integers(1, 50))
        else:
            places = rng.integers(max(1, len(data)), size=4)
            for place in places[: len(data)]:
                data[place] = (0x00, 0xFF, 0x7F, 0x80)[rng.integers(4)]
        content = bytes(data)
    return content
