"""Find the tables that users name: files, folders, patterns, standard input, archives, databases; and their formats."""

import glob
import re
import stat
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from mvset.app.tables.csv_file import CsvFile
from mvset.app.tables.databases import spool_postgresql, spool_sqlite
from mvset.app.tables.errors import TableError
from mvset.app.tables.formats import FeatherFile, NdjsonFile, ParquetFile, TableFile
from mvset.app.tables.opening import Version, decoded, encoding_of, opened, unchanged
from mvset.app.tables.options import GUESS, FormatName, ReadingOptions
from mvset.app.tables.spooling import spool_json, spool_members, spool_stream, spool_workbook

_ENDINGS_OF: dict[FormatName, str] = {
    "csv": ".csv .tsv .txt .dat",
    "json": ".json",
    "ndjson": ".ndjson .jsonl",
    "parquet": ".parquet .pq",
    "feather": ".feather .arrow",
    "excel": ".xlsx",
    "sqlite": ".db .sqlite",
}
_ENDINGS = {ending: name for name, endings in _ENDINGS_OF.items() for ending in endings.split()}
_PACKED = r"\.(?:gz|bz2|xz|zst)$"
_FORMATS: dict[str, type[TableFile]] = {
    "csv": CsvFile,
    "ndjson": NdjsonFile,
    "parquet": ParquetFile,
    "feather": FeatherFile,
}
_MAGIC: dict[bytes, FormatName] = {b"PAR1": "parquet", b"ARROW1": "feather", b"SQLite format 3\0": "sqlite"}
_OPTIONS = {"sheet", "separator", "header", "encoding", "decimal", "skip_rows", "comment", "names"}
_MEANINGFUL: dict[str, set[str]] = {"csv": _OPTIONS - {"sheet"}, "excel": _OPTIONS - {"separator", "encoding"}}
_MEANINGFUL |= {"json": {"encoding", "decimal"}, "sqlite": {"decimal"}}  # text in them may have decimal commas
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_BINARY = ("parquet", "feather", "excel", "sqlite")


def table_files(names: Sequence[str], options: ReadingOptions = GUESS) -> list[TableFile]:
    """Table files in the order given; files of a folder or a pattern in alphabetical order."""
    files = [file for name in names for file in _files_of(name, options)]
    seen = set()
    for file in files:
        if file.path.resolve() in seen:
            raise TableError(f"{file.label} is given twice: its rows would be counted twice.")
        seen.add(file.path.resolve())
    return files


def _files_of(name: str, options: ReadingOptions) -> list[TableFile]:
    if name == "-":
        return _opened(spool_stream("-"), "standard input", options)
    if name.startswith("sqlite:///"):
        return _query_result(spool_sqlite(Path(name.removeprefix("sqlite:///")), name, options.query), name, options)
    if name.startswith(("postgresql://", "postgres://")):
        return [ParquetFile(spool_postgresql(name, options.query), options, "the result of --query")]
    found = [Path(name)] if Path(name).exists() else [Path(each) for each in sorted(glob.glob(name, recursive=True))]
    if not found:
        raise TableError(f"There is no file {name}.")
    return [file for each in found for path in _in_folder(each) for file in _opened(path, str(path), options)]


def _in_folder(path: Path) -> list[Path]:
    """The tables in a folder; a file by itself."""
    if not path.is_dir():
        return [path]
    found = [each for each in sorted(path.rglob("*")) if each.is_file() and is_table(str(each.relative_to(path)))]
    if not found:
        raise TableError(f"The folder {path} contains no table. Tables end in {', '.join(_ENDINGS)}.")
    return found


def _opened(path: Path, label: str, options: ReadingOptions) -> list[TableFile]:
    """The table, or tables, of a file, whatever its ending says."""
    mode = path.stat().st_mode
    if stat.S_ISFIFO(mode):
        path = spool_stream(str(path))
    elif not stat.S_ISREG(mode):
        raise TableError(f"{label} is not a file with a table.")
    version = Version.of(path)
    with unchanged(path, label, version):
        kind = options.format or _format_of(path)
        if kind == "zip":
            members = list(spool_members(path, label, is_table))
            return [file for name, member in members for file in _opened(member, f"{label}/{name}", options)]
        if options.query is not None and kind != "sqlite":
            raise TableError(f"--query: {label} is not a database.")
        _check_meaning(kind, label, options)
        if kind == "excel":
            return _spooled(spool_workbook(path, label, options.sheet), label, options)
        if kind == "json":
            with opened(path) as (_, stream):
                content = stream.read()
            text = decoded(content, options.encoding or encoding_of(content) or "utf-8")
            return _query_result(spool_json(text, label), label, options)
    if kind == "sqlite":  # a query sees one state of it, whatever others write
        return _query_result(spool_sqlite(path, label, options.query), label, options)
    return [_FORMATS[kind](path, options, "" if label == str(path) else label, version)]


def _check_meaning(kind: FormatName, label: str, options: ReadingOptions) -> None:
    """Fail if an option means nothing in a format: it would be ignored."""
    for name in sorted(_OPTIONS - _MEANINGFUL.get(kind, set())):
        if getattr(options, name) not in (None, ()):
            raise TableError(f"--read {name.replace('_', '-')} means nothing for {label}, which is {kind}.")


def _query_result(path: Path, label: str, options: ReadingOptions) -> list[TableFile]:
    """A temporary file of rows below their names."""
    return _spooled(path, label, replace(options, header=True, comment="", skip_rows=None))


def _spooled(path: Path, label: str, options: ReadingOptions) -> list[TableFile]:
    """A temporary file of rows, written as CSV."""
    return [CsvFile(path, replace(options, separator=",", encoding="utf-8", has_units=False), label)]


def _format_of(path: Path) -> FormatName | Literal["zip"]:
    """The format of a file: by its first bytes, and by its ending where these do not tell."""
    with path.open("rb") as file:
        start = file.read(16)
    if start.startswith(_ZIP):
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
            if "xl/workbook.xml" in archive.namelist():
                return "excel"
        return "excel" if path.suffix.lower() == ".xlsx" else "zip"
    for magic, name in _MAGIC.items():
        if start.startswith(magic):
            return name
    by_ending = _ENDINGS.get(_ending(path.name), "csv")
    if by_ending in _BINARY and (not start or any(byte < 9 for byte in start)):
        return by_ending
    try:
        with opened(path) as (_, stream):
            content = stream.read(65_536)
    except OSError:
        return "csv" if by_ending in _BINARY else by_ending
    text = decoded(content, encoding_of(content) or "utf-8").lstrip()
    if re.match(r"\[\s*(?:[{\[\]]|$)", text):  # a name in brackets may begin a text
        return "json"
    if re.match(r"\{\s*(?:[\"}]|$)", text):
        lines = text.split("\n")[0].rstrip().endswith("}") and "\n{" in text
        return "ndjson" if by_ending == "ndjson" or lines else "json"
    return by_ending if by_ending in ("json", "ndjson") else "csv"


def is_table(name: str) -> bool:
    """Whether a file of a folder or an archive may be a table: by its ending, and not hidden or metadata of others."""
    hidden = any(part.startswith((".", "_")) for part in Path(name).parts)
    return not hidden and _ending(name) in _ENDINGS


def _ending(name: str) -> str:
    """The ending of a name that shows the format, without the ending of a compression."""
    return Path(re.sub(_PACKED, "", name.lower())).suffix
