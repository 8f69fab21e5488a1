"""Tables with a known truth, written by pandas, polars, DuckDB, pyarrow and by hand in many dialects of CSV.

    specs = draw_specs(rng)                        the columns: names, and what is in them
    dialect = draw_dialect(rng, specs)             how they are written
    case = write(rng, specs, dialect, folder)      a file, its truth, and of which kind it is
    difference(case, read_table(case.path, options=case.options))

A case is "standard" if common writers with common options produce such files, "unusual" if it has an oddity that a
reader might refuse, and "ambiguous" if the truth cannot be told from the file. Nothing here knows how mvset guesses:
it is called in `read_table` and `remembered_of` only.
"""

import bz2
import csv
import gzip
import io
import lzma
import math
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv

Cell = float | str | bool | None

PLAIN = ("temp", "flow", "pressure", "load", "speed", "x", "y", "z", "value", "rpm", "level", "V1", "power_kW", "q2")
SPACED = ("flow rate", "oil temp", "outlet pressure", "a.b", "Temp. 1", "load %", "I_max/A", "p (bar)", "v in m/s")
UNITS = ("temp [°C]", "Größe", "Länge [µm]", "naïve", "T [K]", "p [bar]")
ODD_NAMES = ("%load", "x,y", 'say "hi"', "温度", "a;b", "it's", "x|y")
TEXT_NAMES = ("machine", "site", "operator", "grade", "batch id", "note", "Zustand")
DATE_NAMES = ("date", "time", "recorded at", "Datum")
CATEGORIES = ("A", "B", "C", "good", "fair", "pump_1", "north", "south", "x1", "Q3")
SPACED_CATEGORIES = ("pump #1", "room #2", "50% full", "not used", "line 4", "O'Brien", "a - b", "n/w side")
QUOTED_CATEGORIES = ("x,y", "a;b", 'with "quotes"', "a|b", "1,5 bar", '5" pipe')
WIDE_CATEGORIES = ("Müller", "Århus", "café")
UNIT_CELLS = ("°C", "bar", "m/s", "kW", "%", "mm", "[K]", "l/min", "V", "")
DIRT = ("<0.1", "ERR", "fault", "n.d.", "> 100", "overflow")
CONTENTS = {
    **{"normal": 0.17, "fixed": 0.26, "general": 0.06, "tiny": 0.03, "counts": 0.07, "signed": 0.05, "thousands": 0.06},
    **{"millions": 0.03, "money": 0.07, "share": 0.05, "three": 0.04, "years": 0.03, "bits": 0.03, "constant": 0.02},
    **{"rows": 0.03},
}
WRITERS = {"pandas": 0.4, "polars": 0.16, "duckdb": 0.1, "pyarrow": 0.08, "hand": 0.2, "R": 0.06}
COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
COMMON_MISSING = ("", "", "", "NA", "NaN", "null", "N/A", "nan", "NULL")
ODDITIES = (
    *("hash lines above", "text above", "padded text above", "sep line", "units", "units", "dirty", "dirty"),
    *("comment lines", "hash cells", "trailing separator", "blank end", "blank start", "cr", "plus", "percent"),
    *("percent", "mixed percent", "bare quote", "multi-line", "hash name", "bracket name", "commented header"),
    *("missing mark", "missing number", "hash missing", "thousands", "thousands", "thousands", "spaces after"),
    *("latin", "latin named", "xz", "quoted comma", "no quotes", "white space", "zero padded", "utf-16", "year names"),
    *("table above", "unnamed last", "lakhs", "backslash quotes", "tilde", "some year names", "mixed codes"),
)
UNCLEAR = ("three decimals", "three decimals", "thousands", "numbers as names", "text only", "one column", "first row")


@dataclass(frozen=True)
class Spec:
    """A column: its name, whether it is of numbers, text, flags or dates, and how values are drawn and written."""

    name: str
    kind: str  # number, text, flag or date
    content: str
    form: str = ""  # a format such as %.2f, "int" or "repr"
    scale: float = 1.0
    missing: float = 0.0  # share
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dialect:
    """How a table is written."""

    writer: str
    separator: str = ","
    decimal: str = "."
    thousands: str = ""
    quoting: str = "minimal"
    header: bool = True
    index: bool = False
    float_format: str | None = None
    missing: str = ""
    line_end: str = "\n"
    encoding: str = "utf-8"
    packed: str = ""
    ends: str = "line end"  # how the file ends: "line end", "nothing" or "blank lines"
    oddities: tuple[str, ...] = ()

    def __str__(self) -> str:
        default = Dialect("")
        said = {name: value for name, value in vars(self).items() if value != getattr(default, name)}
        return ", ".join(f"{name}={value!r}" for name, value in said.items())


@dataclass
class Case:
    """A written table: what a reader should find in it, and the options that it is told."""

    path: Path
    kind: str
    dialect: Dialect
    names: list[str]
    truth: dict[str, list[Cell]]
    kinds: dict[str, str]
    options: tuple[str, ...]
    text: str
    unclear_numbers: bool = False
    cells: list[list[str]] = field(default_factory=list)

    @property
    def number_names(self) -> list[str]:
        return [name for name in self.names if self.kinds[name] == "number"]

    def shown(self) -> str:
        """The dialect and the first six lines."""
        lines = "\n".join(f"    {line!r}" for line in self.text.splitlines(keepends=True)[:6])
        options = f"\n  options: {self.options}" if self.options else ""
        return f"{self.kind}, {self.path.name}: {self.dialect}{options}\n{lines}"


# ---------------------------------------------------------------------------------------------- what is in the tables


def draw_specs(rng: np.random.Generator, wanted: str = "standard") -> list[Spec]:
    """Columns with distinct names; most are numbers."""
    n = int(rng.choice([1, 2, 3, 4, 5, 6, 7, 8], p=[0.05, 0.14, 0.2, 0.2, 0.16, 0.1, 0.08, 0.07]))
    plain = rng.uniform() < 0.35  # all content without spaces or marks, as instruments write it
    kinds = rng.choice(["number", "text", "date", "flag"], size=n, p=[0.74, 0.14, 0.07, 0.05])
    if "number" not in kinds and (wanted != "ambiguous" or rng.uniform() < 0.8):
        kinds[int(rng.integers(n))] = "number"
    pools = {
        "number": [*PLAIN, *(() if plain else (*SPACED, *UNITS))],
        "text": list(TEXT_NAMES[:4] if plain else TEXT_NAMES),
        "date": list(DATE_NAMES[:2] if plain else DATE_NAMES),
        "flag": ["ok", "running", "valve_open", "alarm"],
    }
    if not plain and rng.uniform() < 0.2:
        pools["number"] = [*ODD_NAMES, *pools["number"][:4]]
    draw = {"number": _number_spec, "text": _text_spec, "date": _date_spec, "flag": _flag_spec}
    specs: list[Spec] = []
    for kind in kinds:
        free = [name for name in pools[kind] if name not in {spec.name for spec in specs}]
        name = str(rng.choice(free)) if free else f"{kind}{len(specs)}"
        specs.append(draw[kind](rng, name, plain))
    if rng.uniform() < 0.05 and all(spec.kind == "number" for spec in specs):
        specs = [replace(spec, name=str(i)) for i, spec in enumerate(specs)]
    return specs


def _number_spec(rng: np.random.Generator, name: str, plain: bool) -> Spec:
    content = str(rng.choice(list(CONTENTS), p=list(CONTENTS.values())))
    forms = {
        "normal": ["repr"],
        "fixed": ["%.1f", "%.2f", "%.3f", "%.4f", "%.2f"],
        "general": ["%.6g", "%.4g", "%.3e"],
        "tiny": ["repr", "%.3e"],
        "money": ["%.2f"],
        "share": ["%.2f", "%.3f", "repr"],
        "three": ["%.3f"],
        "constant": ["int", "%.1f", "%.2f"],
    }
    return Spec(
        name,
        "number",
        content,
        str(rng.choice(forms.get(content, ["int"]))),
        float(10 ** rng.uniform(-2, 4)),
        float(rng.uniform(0.01, 0.2)) if rng.uniform() < 0.25 and content not in ("rows", "constant") else 0.0,
    )


def _text_spec(rng: np.random.Generator, name: str, plain: bool) -> Spec:
    if rng.uniform() < 0.25:
        return Spec(name, "text", "ids", form=str(rng.choice(["ID-%04d", "A%d", "x%03d"])))
    pool = list(CATEGORIES)
    if not plain:
        pool += [*SPACED_CATEGORIES, *(QUOTED_CATEGORIES if rng.uniform() < 0.5 else ())]
        pool += list(WIDE_CATEGORIES) if rng.uniform() < 0.3 else []
    n = int(rng.integers(2, 7))
    chosen = tuple(str(each) for each in rng.choice(pool, size=n, replace=False))
    if rng.uniform() < 0.05:
        chosen = (*chosen, "true")
    return Spec(name, "text", "categories", missing=0.1 if rng.uniform() < 0.2 else 0.0, categories=chosen)


def _date_spec(rng: np.random.Generator, name: str, plain: bool) -> Spec:
    forms = ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S", "%Y%m%dT%H%M%SZ"]
    if not plain:
        forms += ["%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p"]
    return Spec(name, "date", "dates", form=str(rng.choice(forms)))


def _flag_spec(rng: np.random.Generator, name: str, plain: bool) -> Spec:
    return Spec(name, "flag", "flags", missing=0.1 if rng.uniform() < 0.15 else 0.0)


def draw_values(rng: np.random.Generator, spec: Spec, n: int) -> list[Any]:
    """Values of a column, None where one is missing: numbers as texts with a point, which are the truth."""
    if spec.kind == "number":
        values = [_point_text(value, spec.form) for value in _numbers(rng, spec, n)]
    elif spec.kind == "text":
        values = [spec.form % i for i in rng.permutation(n) + 1] if spec.content == "ids" else _choices(rng, spec, n)
    elif spec.kind == "date":
        start = pd.Timestamp("2025-01-01") + pd.Timedelta(minutes=int(rng.integers(600_000)))
        step = pd.Timedelta(minutes=int(rng.choice([1, 15, 60, 1440, 1500])))
        values = [(start + i * step).strftime(spec.form) for i in range(n)]
    else:
        values = [bool(each) for each in rng.integers(2, size=n)]
    if spec.missing:
        gone = rng.uniform(size=n) < spec.missing
        gone[rng.choice(n, size=2, replace=False)] = False
        values = [None if lost else value for value, lost in zip(values, gone, strict=True)]
    return values


def _choices(rng: np.random.Generator, spec: Spec, n: int) -> list[str]:
    return [spec.categories[i] for i in rng.integers(len(spec.categories), size=n)]


def _numbers(rng: np.random.Generator, spec: Spec, n: int) -> Any:
    scale = spec.scale
    if spec.content in ("normal", "fixed"):
        return rng.normal(size=n) * scale + (3 * scale if scale > 1 else 0)
    draws = {
        "general": lambda: rng.lognormal(0, 3, size=n),
        "tiny": lambda: 10 ** rng.uniform(-9, -3, size=n),
        "counts": lambda: rng.integers(0, 100, size=n),
        "signed": lambda: rng.integers(-500, 500, size=n),
        "thousands": lambda: rng.integers(1000, 1_000_000, size=n),
        "millions": lambda: rng.integers(100_000, 100_000_000, size=n),
        "money": lambda: rng.lognormal(7, 2, size=n),
        "share": lambda: rng.uniform(size=n),
        "three": lambda: rng.uniform(1.0005, 999, size=n),
        "years": lambda: rng.integers(1990, 2027, size=n),
        "bits": lambda: rng.integers(2, size=n),
        "constant": lambda: np.full(n, int(scale)),
        "rows": lambda: np.arange(1, n + 1),
    }
    return draws[spec.content]()


def _point_text(value: Any, form: str) -> str:
    if form == "int":
        return str(int(value))
    return repr(float(value)) if form == "repr" else form % value


# --------------------------------------------------------------------------------------------------- how it is written


def draw_dialect(rng: np.random.Generator, specs: Sequence[Spec], wanted: str = "standard") -> Dialect:
    """A dialect in which these columns can be written."""
    writer = str(rng.choice(list(WRITERS), p=list(WRITERS.values())))
    if wanted != "standard":
        writer = "hand" if rng.uniform() < (0.9 if wanted == "unusual" else 0.6) else writer
    separator = str(rng.choice([",", ";", "\t", "|"], p=[0.5, 0.28, 0.16, 0.06]))
    dialect = Dialect(
        writer,
        separator,
        header=bool(rng.uniform() < 0.88),
        missing=str(rng.choice(COMMON_MISSING)),
        line_end=str(rng.choice(["\n", "\r\n"], p=[0.7, 0.3])),
        encoding=_drawn_encoding(rng, specs),
        packed=str(rng.choice(["", ".gz", ".bz2"], p=[0.94, 0.04, 0.02])),
    )
    dialect = _of_writer(rng, dialect)
    if wanted == "unusual":
        dialect = _with_oddities(rng, dialect, specs)
    return dialect


def _drawn_encoding(rng: np.random.Generator, specs: Sequence[Spec]) -> str:
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "cp1252", "utf-16"], p=[0.8, 0.12, 0.06, 0.02]))
    words = "".join(spec.name + "".join(spec.categories) for spec in specs)
    return "utf-8" if encoding == "cp1252" and not words.isascii() else encoding


def _of_writer(rng: np.random.Generator, dialect: Dialect) -> Dialect:
    """What a writer can do, and its own options."""
    comma = bool(rng.uniform() < {",": 0.02, ";": 0.5, "\t": 0.25, "|": 0.25}[dialect.separator])
    decimal = "," if comma else "."
    quoting = str(rng.choice(["minimal", "all", "nonnumeric"], p=[0.75, 0.1, 0.15]))
    form = [None, "%.1f", "%.2f", "%.3f", "%.4f", "%.6g"][int(rng.choice(6, p=[0.6, 0.05, 0.12, 0.08, 0.1, 0.05]))]
    if dialect.writer == "pandas":
        index = bool(rng.uniform() < 0.25)
        return replace(dialect, decimal=decimal, quoting=quoting, float_format=form, index=index)
    if dialect.writer == "polars":
        form = None if form == "%.6g" else form
        return replace(dialect, decimal=decimal, quoting=quoting, float_format=form)
    if dialect.writer == "duckdb":
        return replace(dialect, quoting="all" if quoting == "all" else "minimal", line_end="\n")
    if dialect.writer == "pyarrow":
        return replace(dialect, quoting="all" if quoting == "all" else "nonnumeric", line_end="\n", missing="")
    if dialect.writer == "R":  # write.csv, write.csv2
        separator = ";" if dialect.separator == ";" else ","
        decimal = "," if separator == ";" else "."
        return replace(
            dialect, separator=separator, decimal=decimal, quoting="nonnumeric", missing="NA", index=rng.uniform() < 0.5
        )
    ends = str(rng.choice(["line end", "nothing"], p=[0.8, 0.2]))
    return replace(dialect, decimal=decimal, quoting="all" if quoting == "all" else "minimal", ends=ends)


def _with_oddities(rng: np.random.Generator, dialect: Dialect, specs: Sequence[Spec]) -> Dialect:
    """The dialect with one to three oddities."""
    if dialect.writer != "hand":
        changes: list[dict[str, Any]] = [{"missing": "-999", "oddities": ("missing number",)}, {"packed": ".xz"}]
        changes += [{"missing": "#N/A", "oddities": ("hash missing",)}, {"encoding": "cp1252", "oddities": ("latin",)}]
        return replace(dialect, **changes[int(rng.integers(len(changes)))])
    drawn = rng.choice(ODDITIES, size=int(rng.choice([1, 1, 2, 3])), replace=False)
    oddities = tuple(sorted({str(each) for each in drawn}))
    change: dict[str, Any] = {"oddities": oddities}
    if "cr" in oddities:
        change["line_end"] = "\r"
    if "blank end" in oddities:
        change["ends"] = "blank lines"
    if "xz" in oddities:
        change["packed"] = ".xz"
    if "utf-16" in oddities:
        change["encoding"] = str(rng.choice(["utf-16", "utf-16-le bom", "utf-16-be bom"]))
    if {"latin", "latin named"} & set(oddities):
        change["encoding"] = "cp1252"
    for oddity, mark in (("missing mark", "-"), ("missing number", "-999"), ("hash missing", "#N/A")):
        if oddity in oddities:
            change["missing"] = mark
    if "quoted comma" in oddities:
        change |= {"separator": ",", "decimal": ","}
    if "sep line" in oddities and "white space" not in oddities:
        change.setdefault("separator", str(rng.choice([",", ";", ";", "\t"])))
    if "padded text above" in oddities:
        change.setdefault("separator", str(rng.choice([",", ";", ";"])))
    if "no quotes" in oddities or "bare quote" in oddities:
        change["quoting"] = "none"
    if "white space" in oddities:
        change |= {"separator": " ", "quoting": "none", "decimal": "."}
    dialect = replace(dialect, **change)
    if "tilde" in oddities:
        dialect = replace(dialect, separator=str(rng.choice(["~", "^"])))
    if "unnamed last" in oddities:
        dialect = replace(dialect, header=True, quoting="minimal")
    if "lakhs" in oddities:
        return replace(dialect, thousands=",", decimal=".")
    return _with_thousands(rng, dialect) if "thousands" in oddities else dialect


def _with_thousands(rng: np.random.Generator, dialect: Dialect) -> Dialect:
    marks = {".": [",", ",", ",", " ", "'"], ",": [".", ".", ".", " ", "\u00a0"]}[dialect.decimal]
    mark = str(rng.choice(marks))
    if dialect.separator == " ":
        mark = "'"
    if mark == "." and dialect.separator == ",":
        mark = ""  # it would look like a decimal point
    return replace(dialect, thousands=mark)


def with_other_decimal(dialect: Dialect) -> Dialect:
    """The dialect with the other decimal mark, as the same program writes it on a computer of another country."""
    writer = dialect.writer if dialect.writer in ("pandas", "polars", "hand") else "hand"
    thousands = {",": "" if dialect.separator == "," else ".", ".": ","}.get(dialect.thousands, dialect.thousands)
    oddities = tuple(each for each in dialect.oddities if each != "lakhs")  # which are written with decimal points
    decimal = "," if dialect.decimal == "." else "."
    return replace(dialect, writer=writer, decimal=decimal, thousands=thousands, oddities=oddities)


def _fitting(specs: list[Spec], dialect: Dialect, rng: np.random.Generator) -> tuple[list[Spec], Dialect]:
    """Columns and dialect changed so that one can hold the other."""
    odd = set(dialect.oddities)
    numbers = [i for i, spec in enumerate(specs) if spec.kind == "number"]
    if len(specs) + dialect.index == 1:
        dialect = replace(dialect, missing=dialect.missing or ("NA" if dialect.writer == "hand" else ""))
    if "hash name" in odd:
        specs[0] = replace(specs[0], name=str(rng.choice(["#no", "#", "# sensor"])))
    if "bracket name" in odd:
        specs[0] = replace(specs[0], name=str(rng.choice(["[id]", "{x}", "<t>", "[°C] temp"])))
    if "commented header" in odd:  # names that no reader takes for a remark
        specs = [replace(spec, name=f"col_{i}") for i, spec in enumerate(specs)]
    if "year names" in odd and len(numbers) > 1:
        for at, i in enumerate(numbers):
            specs[i] = replace(specs[i], name=str(2019 + at))
    if "some year names" in odd:
        for i in rng.permutation(numbers)[1 : int(rng.integers(2, 4))]:  # not all: they would count from anywhere
            specs[i] = replace(specs[i], name=str(2019 + int(i)))
    if "mixed codes" in odd:
        specs = [*specs, Spec("code", "text", "categories", categories=("007", "07", "7"))]
    if "lakhs" in odd and numbers:
        specs[numbers[-1]] = replace(specs[numbers[-1]], content="millions", form="int")
    if "zero padded" in odd and numbers:
        specs[numbers[0]] = replace(specs[numbers[0]], content="rows", form="%05d", missing=0.0)
    if "thousands" in odd and numbers:
        content = str(rng.choice(["thousands", "millions", "money"]))
        form = "%.2f" if content == "money" else "int"
        specs[numbers[-1]] = replace(specs[numbers[-1]], content=content, form=form)
    extra = {
        "backslash quotes": ('a "new" x', 'say "hi"'),
        "hash cells": ("#C", "#7"),
        "bare quote": ('5" pipe', '12" rack'),
        "multi-line": ("multi\nline", "a\n# b"),
    }
    for oddity, categories in extra.items():
        if oddity in odd:
            added = Spec("kind", "text", "categories", categories=("A", "B", *categories))
            specs = [added, *specs] if oddity == "hash cells" or rng.uniform() < 0.5 else [*specs, added]
    if odd & {"latin", "latin named"}:
        specs = [*specs, Spec("Straße", "text", "categories", categories=("Müller", "Å", "x"))]
    if dialect.separator == " ":
        specs = [replace(spec, **_without_spaces(spec, i)) for i, spec in enumerate(specs)]
    return _distinct(specs), fitting_dialect(specs, dialect)


def _distinct(specs: list[Spec]) -> list[Spec]:
    """The columns with a number after names that are taken."""
    names = [spec.name for spec in specs]
    return [replace(spec, name=f"{spec.name}{i}") if spec.name in names[:i] else spec for i, spec in enumerate(specs)]


def _without_spaces(spec: Spec, i: int) -> dict[str, Any]:
    """Changes of a column so that none of its cells has a space."""
    change: dict[str, Any] = {"name": re.sub(r"\W", "_", spec.name) if spec.name.isascii() else f"v{i}"}
    if spec.categories:
        change["categories"] = tuple(dict.fromkeys(re.sub(r'[\s",]', "_", each) for each in spec.categories))
    if spec.kind == "date":
        change["form"] = "%Y-%m-%d"
    return change


def fitting_dialect(specs: list[Spec], dialect: Dialect) -> Dialect:
    """Change a dialect so that it can hold the columns: quotes where cells have the separator in them."""
    cells = [spec.name for spec in specs] + [each for spec in specs for each in spec.categories]
    if dialect.separator == " ":
        dialect = replace(dialect, missing=dialect.missing or "NA")
        if not any(re.search(r'[\s"]', cell) for cell in [*cells, *(spec.form for spec in specs)]):
            return dialect
        dialect = replace(dialect, separator=";")
    if dialect.quoting != "none":
        return dialect
    special = any(dialect.separator in cell or "\n" in cell or cell.startswith('"') for cell in cells)
    special |= any('"' in cell for cell in cells) and "bare quote" not in dialect.oddities
    special |= dialect.separator in (dialect.decimal, dialect.thousands)
    return replace(dialect, quoting="minimal") if special else dialect


# ------------------------------------------------------------------------------------------------------------- writing


def write(rng: np.random.Generator, specs: Sequence[Spec], dialect: Dialect, folder: Path, stem: str = "table") -> Case:
    """Draw rows and write them; the file with its truth."""
    n = int(rng.integers(5, 30)) if rng.uniform() < 0.1 else int(np.exp(rng.uniform(np.log(30), np.log(200))))
    n = int(rng.integers(200, 401)) if rng.uniform() < 0.05 else n
    return write_rows(rng, specs, [draw_values(rng, spec, n) for spec in specs], dialect, folder, stem)


def write_rows(
    rng: np.random.Generator,
    specs: Sequence[Spec],
    columns: Sequence[list[Any]],
    dialect: Dialect,
    folder: Path,
    stem: str = "table",
) -> Case:
    """Write these values."""
    specs, columns, dialect = list(specs), [list(each) for each in columns], _without_clash(dialect, columns)
    if len(specs) == 1 and not dialect.index:  # no reader could tell empty lines at the end from missing values
        columns[0][-1] = next(value for value in reversed(columns[0]) if value is not None)
        dialect = replace(dialect, ends="nothing" if dialect.ends == "nothing" else "line end")
    if dialect.index:
        specs.insert(0, Spec("", "number", "rows", "int"))
        first = dialect.writer == "R"
        columns.insert(0, [str(i + first) for i in range(len(columns[0]))])
    truth = [_truth(spec, column, dialect) for spec, column in zip(specs, columns, strict=True)]
    if dialect.writer in LIBRARIES:
        text = LIBRARIES[dialect.writer](specs, columns, dialect)
        if dialect.ends == "nothing":
            text = text.removesuffix(dialect.line_end)
        cells = _parsed_cells(text, dialect)
        _check_cells(specs, truth, cells, dialect)
    else:
        text, cells, truth, specs = _by_hand(rng, specs, columns, truth, dialect)
    names = [spec.name for spec in specs] if dialect.header else [f"column{i + 1}" for i in range(len(specs))]
    if dialect.encoding == "cp1252" and not _is_western(text):
        left = tuple(each for each in dialect.oddities if not each.startswith("latin"))
        dialect = replace(dialect, encoding="utf-8", oddities=left)
    ending = {"\t": ".tsv", " ": str(rng.choice([".txt", ".dat"]))}.get(dialect.separator, ".csv")
    path = folder / f"{stem}{ending}{dialect.packed}"
    path.write_bytes(COMPRESS[dialect.packed](_encoded(text, dialect.encoding)))
    unclear = unclear_numbers(cells, specs, dialect.separator)
    case = Case(path, "standard", dialect, names, dict(zip(names, truth, strict=True)), {}, (), text, unclear, cells)
    case.kinds = {name: spec.kind for name, spec in zip(names, specs, strict=True)}
    case.kind, case.options = _kind(case, specs), _options(case)
    return case


def _without_clash(dialect: Dialect, columns: Sequence[list[Any]]) -> Dialect:
    """Another mark for missing values if it is also a value."""
    clash = dialect.missing and any(dialect.missing in column for column in columns)
    return replace(dialect, missing="NA" if clash else dialect.missing)


def _truth(spec: Spec, column: list[Any], dialect: Dialect) -> list[Cell]:
    if spec.kind != "number":
        return list(column)
    if dialect.writer in ("pandas", "polars") and dialect.float_format and _is_float(spec, column, dialect):
        return [None if text is None else float(dialect.float_format % float(text)) for text in column]
    return [None if text is None else float(text) for text in column]


def _is_float(spec: Spec, column: list[Any], dialect: Dialect) -> bool:
    """Whether a library has the column as floats; pandas also integers with missing values."""
    return spec.form not in ("int", "%05d") or (dialect.writer == "pandas" and None in column)


def _is_western(text: str) -> bool:
    try:
        text.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def _encoded(text: str, encoding: str) -> bytes:
    if encoding.endswith(" bom"):
        return ("\ufeff" + text).encode(encoding.removesuffix(" bom"))
    return text.encode(encoding)


def _typed(spec: Spec, column: list[Any]) -> list[Any]:
    if spec.kind != "number":
        return column
    kind = int if spec.form in ("int", "%05d") else float
    return [None if text is None else kind(text) for text in column]


def _arrow(specs: Sequence[Spec], columns: Sequence[list[Any]]) -> pa.Table:
    return pa.table({spec.name: pa.array(_typed(spec, column)) for spec, column in zip(specs, columns, strict=True)})


def _by_pandas(specs: Sequence[Spec], columns: Sequence[list[Any]], dialect: Dialect) -> str:
    skipped = int(dialect.index)  # the index is pandas' own
    data = {}
    for spec, column in zip(specs[skipped:], columns[skipped:], strict=True):
        typed = _typed(spec, column)
        if spec.kind == "number" and None in typed:
            typed = np.array([math.nan if value is None else value for value in typed], dtype=float)
        data[spec.name] = typed
    quoting = {"minimal": csv.QUOTE_MINIMAL, "all": csv.QUOTE_ALL, "nonnumeric": csv.QUOTE_NONNUMERIC}[dialect.quoting]
    return pd.DataFrame(data).to_csv(
        sep=dialect.separator,
        decimal=dialect.decimal,
        float_format=dialect.float_format,
        quoting=quoting,
        index=dialect.index,
        header=dialect.header,
        na_rep=dialect.missing,
        lineterminator=dialect.line_end,
    )


def _by_polars(specs: Sequence[Spec], columns: Sequence[list[Any]], dialect: Dialect) -> str:
    frame = pl.DataFrame({spec.name: _typed(spec, column) for spec, column in zip(specs, columns, strict=True)})
    styles = {"minimal": "necessary", "all": "always", "nonnumeric": "non_numeric"}
    return frame.write_csv(
        separator=dialect.separator,
        decimal_comma=dialect.decimal == ",",
        float_precision=int(dialect.float_format[2]) if dialect.float_format else None,
        quote_style=styles[dialect.quoting],
        include_header=dialect.header,
        null_value=dialect.missing,
        line_terminator=dialect.line_end,
    )


_database: list[Any] = []


def _by_duckdb(specs: Sequence[Spec], columns: Sequence[list[Any]], dialect: Dialect) -> str:
    if not _database:
        _database.append(duckdb.connect(config={"threads": 1}))
    _database[0].register("written", _arrow(specs, columns))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "written.csv")
        quoted = ", FORCE_QUOTE *" if dialect.quoting == "all" else ""
        _database[0].execute(
            f"COPY written TO '{path}' (FORMAT csv, DELIMITER '{dialect.separator}', HEADER {dialect.header}, "
            f"NULLSTR '{dialect.missing}'{quoted})"
        )
        return path.read_bytes().decode()


def _by_pyarrow(specs: Sequence[Spec], columns: Sequence[list[Any]], dialect: Dialect) -> str:
    sink = io.BytesIO()
    style = "all_valid" if dialect.quoting == "all" else "needed"
    options = pa.csv.WriteOptions(include_header=dialect.header, delimiter=dialect.separator, quoting_style=style)
    pa.csv.write_csv(_arrow(specs, columns), sink, options)
    return sink.getvalue().decode()


LIBRARIES = {"pandas": _by_pandas, "polars": _by_polars, "duckdb": _by_duckdb, "pyarrow": _by_pyarrow}


def _parsed_cells(text: str, dialect: Dialect) -> list[list[str]]:
    """The cells of a file without oddities, as the csv module of Python reads them."""
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=dialect.separator))
    rows = [row or [""] for row in rows]  # an empty line is a missing value in a single column
    return rows[1:] if dialect.header else rows


def _check_cells(specs: Sequence[Spec], truth: Sequence[list[Cell]], cells: list[list[str]], dialect: Dialect) -> None:
    """Fail if a library has not written the truth: a mistake of the generator."""
    for j, (spec, column) in enumerate(zip(specs, truth, strict=True)):
        found = [_meaning(row[j], spec, dialect) for row in cells]
        if not all(_same(true, each, spec.kind) for true, each in zip(column, found, strict=True)):
            raise RuntimeError(f"The generator is wrong about {spec} in {dialect}: {column[:5]}, {found[:5]}")


def _meaning(cell: str, spec: Spec, dialect: Dialect) -> Cell:
    if cell in (dialect.missing, ""):
        return None
    if spec.kind != "number":
        return cell
    plain = cell.replace(dialect.thousands, "") if dialect.thousands else cell
    return float(plain.replace(dialect.decimal, ".").rstrip("% "))


# ------------------------------------------------------------------------------------------------------ written by hand


def _by_hand(
    rng: np.random.Generator,
    specs: list[Spec],
    columns: list[list[Any]],
    truth: list[list[Cell]],
    dialect: Dialect,
) -> tuple[str, list[list[str]], list[list[Cell]], list[Spec]]:
    """Text, cells and truth, in which oddities may make text of numbers."""
    grid = [_hand_cells(rng, spec, column, dialect) for spec, column in zip(specs, columns, strict=True)]
    as_text: set[int] = set()
    if "mixed percent" in dialect.oddities:
        as_text |= _mix_percents(rng, specs, columns, grid, dialect)
    if "dirty" in dialect.oddities and dialect.header:
        as_text |= _make_dirty(rng, specs, columns, grid, as_text)
    for j in as_text:
        specs[j] = replace(specs[j], kind="text")
        truth[j] = [None if cell in (dialect.missing, "") else cell for cell in grid[j]]
    cells = [list(row) for row in zip(*grid, strict=True)]
    return _hand_text(rng, specs, cells, dialect), cells, truth, specs


def _hand_cells(rng: np.random.Generator, spec: Spec, column: list[Any], dialect: Dialect) -> list[str]:
    if spec.kind == "flag":
        words = {True: "TRUE", False: "FALSE", None: dialect.missing}
        return [words[value] for value in column]
    if spec.kind != "number":
        return [dialect.missing if value is None else value for value in column]
    grouped = dialect.thousands and spec.content in ("thousands", "millions", "money")
    percent = ""
    if "percent" in dialect.oddities and spec.content in ("fixed", "counts", "share"):
        percent = "%" if dialect.separator == " " or rng.uniform() < 0.7 else " %"
    plus = "plus" in dialect.oddities
    cells = []
    for text in column:
        if text is None:
            cells.append(dialect.missing)
            continue
        signed = f"+{text}" if plus and not text.startswith("-") else text
        cells.append(_localized(signed, dialect, bool(grouped)) + percent)
    return cells


def _localized(text: str, dialect: Dialect, grouped: bool) -> str:
    """A number with the marks of the dialect."""
    whole, point, rest = text.partition(".")
    if grouped and "lakhs" in dialect.oddities:
        sign, digits = re.fullmatch(r"([+-]?)(\d+)", whole).groups()
        lakhs = re.sub(r"\B(?=(?:\d\d)+$)", ",", digits[:-3])
        whole = sign + ",".join(each for each in (lakhs, digits[-3:]) if each)
    elif grouped:
        sign = whole[0] if whole[0] in "+-" else ""
        whole = sign + f"{int(whole.lstrip('+-')):,}".replace(",", dialect.thousands)
    return whole + (dialect.decimal if point else "") + rest


def _mix_percents(
    rng: np.random.Generator, specs: list[Spec], columns: list[list[Any]], grid: list[list[str]], dialect: Dialect
) -> set[int]:
    """Write some cells of a column as 5%, others as 0.05: no reader may add them up."""
    numbers = [j for j, spec in enumerate(specs) if spec.kind == "number" and spec.content in ("fixed", "counts")]
    if not numbers:
        return set()
    j, n = int(rng.choice(numbers)), len(columns[0])
    signs = rng.uniform(size=n) < 0.5
    signs[:2] = rng.permutation([True, False])
    known = [i for i, text in enumerate(columns[j]) if text is not None]
    if len({bool(signs[i]) for i in known}) < 2:
        return set()
    for i in known:
        value = abs(float(columns[j][i])) % 100
        grid[j][i] = (f"{value:.1f}%" if signs[i] else f"{value / 100:.3f}").replace(".", dialect.decimal)
    return {j}


def _make_dirty(
    rng: np.random.Generator, specs: list[Spec], columns: list[list[Any]], grid: list[list[str]], taken: set[int]
) -> set[int]:
    """Put words in some number cells of the first row; one at least stays a number."""
    numbers = [
        j for j, spec in enumerate(specs) if spec.kind == "number" and columns[j][0] is not None and j not in taken
    ]
    if len(numbers) < 2:
        return set()
    chosen = rng.choice(numbers, size=int(rng.integers(1, len(numbers))), replace=False).tolist()
    for j in chosen:
        grid[j][0] = str(rng.choice(DIRT)).replace(" ", "")
    return set(chosen)


def _hand_text(rng: np.random.Generator, specs: list[Spec], cells: list[list[str]], dialect: Dialect) -> str:
    odd = set(dialect.oddities)
    rows: list[list[str]] = [[spec.name for spec in specs]] if dialect.header else []
    kinds = ["text"] * len(specs)
    if "units" in odd and dialect.header and len(specs) > 1 and any(spec.kind == "number" for spec in specs):
        rows.append(_units(rng, specs, dialect))
    n_above = len(rows)
    number_kinds = [spec.kind for spec in specs]
    quoted = [[_quoted(cell, kind, dialect) for cell, kind in zip(row, kinds, strict=True)] for row in rows]
    quoted += [[_quoted(cell, kind, dialect) for cell, kind in zip(row, number_kinds, strict=True)] for row in cells]
    lines = _joined(rng, quoted, dialect)
    if "unnamed last" in odd and len(specs) > 1:  # of one column, decimal commas
        values = rng.integers(10, 99, size=len(cells))
        lines[n_above:] = [
            f"{line}{dialect.separator}{value}" for line, value in zip(lines[n_above:], values, strict=True)
        ]
    if "commented header" in odd and dialect.header and not lines[0].startswith("#"):
        lines[0] = "# " + lines[0]
    if "comment lines" in odd:
        for _ in range(int(rng.integers(1, 4))):
            lines.insert(
                int(rng.integers(n_above + 1, len(lines))), str(rng.choice(["# calibrated", "#restart", "# a, b"]))
            )
    lines = [*_lines_above(rng, dialect, len(specs)), *lines]
    end = {"line end": dialect.line_end, "nothing": "", "blank lines": dialect.line_end * int(rng.integers(2, 4))}
    return dialect.line_end.join(lines) + end[dialect.ends]


def _joined(rng: np.random.Generator, rows: list[list[str]], dialect: Dialect) -> list[str]:
    if dialect.separator == " ":
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        right, gap = rng.uniform() < 0.6, " " * int(rng.integers(1, 4))
        aligned = [
            gap.join(cell.rjust(width) if right else cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        ]
        return aligned if right else [line.rstrip() for line in aligned]
    separator = dialect.separator + (" " if "spaces after" in dialect.oddities and dialect.quoting != "all" else "")
    if separator != dialect.separator and any('"' in cell for row in rows for cell in row):
        separator = dialect.separator  # a quote after a space is none
    end = dialect.separator if "trailing separator" in dialect.oddities else ""
    return [separator.join(row) + end for row in rows]


def _quoted(cell: str, kind: str, dialect: Dialect) -> str:
    special = any(mark in cell for mark in (dialect.separator, '"', "\n", "\r"))
    every = dialect.quoting == "all" or (dialect.quoting == "nonnumeric" and kind in ("text", "date"))
    every &= dialect.writer != "R" or cell != dialect.missing
    if dialect.quoting == "none" or not (special or every):
        return cell
    if "backslash quotes" in dialect.oddities:
        return '"' + cell.replace('"', '\\"') + '"'
    return '"' + cell.replace('"', '""') + '"'


def _units(rng: np.random.Generator, specs: list[Spec], dialect: Dialect) -> list[str]:
    """A row of units below the names; numbers have one, or at least one of them has."""
    empty = "-" if dialect.separator == " " or rng.uniform() < 0.2 else ""
    units = [str(rng.choice(UNIT_CELLS)) if spec.kind == "number" else "" for spec in specs]
    if dialect.encoding == "cp1252":
        units = [unit.replace("°", "") for unit in units]
    first = next(j for j, spec in enumerate(specs) if spec.kind == "number")
    units[first] = units[first] or "bar"
    return [unit or empty for unit in units]


def _lines_above(rng: np.random.Generator, dialect: Dialect, n_columns: int) -> list[str]:
    lines = []
    if "sep line" in dialect.oddities and dialect.separator != " ":
        lines.append(f"sep={dialect.separator}")
    if "blank start" in dialect.oddities:
        lines += [""] * int(rng.integers(1, 3))
    if "hash lines above" in dialect.oddities:
        said = ["# exported by logger 3", "# unit: bar, offset 0.5", "#", "# 2026-01-31 12:00", "# run 7"]
        said += ["# a;b;c"] if dialect.header else []  # without a header, they may be names
        lines += [str(each) for each in rng.choice(said, size=int(rng.integers(1, 4)), replace=False)]
    if "text above" in dialect.oddities and n_columns > 1:  # above one column, it may be its name
        said = ["Export vom 01.02.2026", "Report: plant 3", "Serial 12345", "Created by Logger v2.1"]
        said += ["Site A, line 2"] if n_columns > 2 or dialect.header else []  # they may be two names
        lines += [str(each) for each in rng.choice(said, size=int(rng.integers(1, 3)), replace=False)]
        lines += [""] if rng.uniform() < 0.4 else []
    if "table above" in dialect.oddities:  # of which no row may be lost
        width = n_columns + int(rng.choice([2, 3])) if n_columns < 3 or rng.uniform() < 0.5 else n_columns - 1
        rows = [[f"c{j}" for j in range(width)], *rng.integers(10, 99, size=(int(rng.integers(2, 6)), width)).tolist()]
        lines += [dialect.separator.join(map(str, row)) for row in rows]
        lines += [""] if rng.uniform() < 0.4 else []
    if "padded text above" in dialect.oddities and dialect.separator != " ":
        lines.append("Export vom 01.02.2026" + dialect.separator * (n_columns - 1))
        lines += [dialect.separator * (n_columns - 1)] if rng.uniform() < 0.4 else []
    return lines


# ------------------------------------------------------------------------------------------------ what cannot be told

_NUMBER = re.compile(r"[-+]?[\d.,' \u00a0]*\d[\d.,' \u00a0]*(e[-+]?\d+)?\s*%?", re.IGNORECASE)
_THREE_DIGITS = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")


def unclear_numbers(cells: list[list[str]], specs: Sequence[Spec], separator: str) -> bool:
    """Whether there are numbers such as 1,234 and no cell shows what the mark means.

    A point is the decimal mark in a table of several columns that are separated by commas.
    """
    point_is_clear = separator == "," and len(specs) > 1
    unclear = False
    for row in cells:
        for cell, spec in zip(row, specs, strict=True):
            if spec.kind != "number" or not _NUMBER.fullmatch(cell.strip()):
                continue
            body = cell.strip().lstrip("+-").rstrip("% ")
            marks = [mark for mark in body if mark in ".,"]
            if not marks:
                continue
            if len(marks) > 1 or not _THREE_DIGITS.fullmatch(body):
                return False
            unclear |= not (marks == ["."] and point_is_clear)
    return unclear


def unclear_header(case: Case, specs: Sequence[Spec]) -> bool:
    """Whether it cannot be told if the first row contains names."""
    numbers = [j for j, spec in enumerate(specs) if spec.kind == "number"]
    if not numbers:
        return True
    if not case.dialect.header:
        return not any(_NUMBER.fullmatch(case.cells[0][j].strip()) for j in numbers)
    if not all(_NUMBER.fullmatch(specs[j].name) or not specs[j].name for j in numbers):
        return False
    marked = [
        all(set(row[j]) & {".", ","} or not _NUMBER.fullmatch(row[j].strip()) for row in case.cells)
        for j in numbers
        if specs[j].name
    ]
    return not (marked and all(marked))


def unclear_columns(case: Case, specs: Sequence[Spec]) -> bool:
    """Whether a separator could also be a decimal mark, or the other way round; and an end that could be a row."""
    dialect, marks = case.dialect, {mark for row in case.cells for mark in "".join(row)} & set(",; |\t")
    if len(specs) == 1 and marks:
        return True
    if dialect.header or dialect.separator != ",":
        return not dialect.header and dialect.decimal == "," and any(spec.kind != "number" for spec in specs)
    plain = all(re.fullmatch(r"[-+]?\d+", cell) for row in case.cells for cell in row[:1])
    rest = [[cell.isdecimal() and (len(row) == 2 or len(cell) == 3) for cell in row[1:]] for row in case.cells]
    return plain and all(all(row) for row in rest)


def _kind(case: Case, specs: Sequence[Spec]) -> str:
    if case.unclear_numbers or unclear_header(case, specs) or unclear_columns(case, specs):
        return "ambiguous"
    dialect, first = case.dialect, specs[0].name
    odd = bool(dialect.oddities) or dialect.packed == ".xz"
    odd |= dialect.separator == "," == dialect.decimal or (dialect.header and first[:1] in tuple("#[{<"))
    odd |= len(specs) == 1 and dialect.decimal == ","
    odd |= all(spec.name.isdecimal() for spec in specs if spec.kind == "number") and first not in ("", "0")
    return "unusual" if odd else "standard"


def _options(case: Case) -> tuple[str, ...]:
    """What the reader is told, since no reader could know."""
    dialect, options = case.dialect, []
    if dialect.missing in ("-", "-999"):
        options.append(f"na={dialect.missing}")
    if dialect.encoding == "cp1252" and not case.text.isascii() and "latin" not in dialect.oddities:
        options.append("encoding=cp1252")
    return tuple(options)


# --------------------------------------------------------------------------------------------------------- whole cases


def draw_case(rng: np.random.Generator, folder: Path, stem: str = "table") -> Case:
    """A table with its dialect."""
    specs, dialect = draw_table(rng)
    return write(rng, specs, dialect, folder, stem)


def draw_table(rng: np.random.Generator) -> tuple[list[Spec], Dialect]:
    """Columns and a dialect that fit each other."""
    wanted = str(rng.choice(["standard", "unusual", "ambiguous"], p=[0.72, 0.21, 0.07]))
    specs = draw_specs(rng, wanted)
    dialect = draw_dialect(rng, specs, wanted)
    specs, dialect = _fitting(specs, dialect, rng)
    return _made_unclear(rng, specs, dialect) if wanted == "ambiguous" else (specs, dialect)


def _made_unclear(rng: np.random.Generator, specs: list[Spec], dialect: Dialect) -> tuple[list[Spec], Dialect]:
    """Columns, and a dialect, whose truth can hardly be told."""
    how, numbers = str(rng.choice(UNCLEAR)), [spec for spec in specs if spec.kind == "number"]
    if how == "three decimals":
        separator = str(rng.choice([";", "\t", "|"]))
        changed = {"content": "three", "form": "%.3f"}
        specs = [replace(spec, **changed) if spec.form != "int" else spec for spec in specs if spec in numbers] or specs
        return specs, replace(dialect, separator=separator, decimal=str(rng.choice([",", "."])), float_format="%.3f")
    if how == "thousands":
        whole = Spec("units sold", "number", "thousands", "int")
        rest = [spec for spec in specs if spec.kind != "number" or spec.form == "int"]
        dialect = replace(dialect, writer="hand", oddities=("thousands",), index=False)
        return [*rest, whole], _with_thousands(rng, dialect)
    if how == "numbers as names":
        whole = {"content": str(rng.choice(["counts", "signed", "years"])), "form": "int"}
        specs = [replace(spec, name=str(i), **whole) for i, spec in enumerate(numbers)]
        if len(specs) < 2:  # one whole number above others cannot be told from them
            specs = [Spec(str(i), "number", "counts", "int") for i in range(2)]
        return specs, replace(dialect, header=True)
    if how == "text only":
        return [spec for spec in specs if spec.kind != "number"] or [_text_spec(rng, "machine", False)], dialect
    if how == "one column":
        return specs[:1], replace(dialect, header=bool(rng.uniform() < 0.5), index=False)
    return [replace(spec, missing=spec.missing or 0.2) for spec in specs], replace(dialect, header=False)


# ---------------------------------------------------------------------------------------------------------- comparison


def difference(case: Case, read: tuple[list[str], dict[str, list[Any]]], other_names: Sequence[str] = ()) -> str | None:
    """Say where what was read differs from the truth, if it does; columns may also be called by other names."""
    names, columns = read
    right = _same_names(names, case.names) or bool(other_names and names == list(other_names))
    if not right:
        return f"names: truth {case.names}, read {names}"
    for name, true_name in zip(names, case.names, strict=True):
        truth, found = case.truth[true_name], columns[name]
        if len(truth) != len(found):
            return f"rows: truth {len(truth)}, read {len(found)}"
        for i, (true, each) in enumerate(zip(truth, found, strict=True)):
            if not _same(true, each, case.kinds[true_name]):
                group = _group(true, each)
                return f"{group}: column {name!r}, row {i + 1}: truth {true!r}, read {each!r}"
    return None


def _group(true: Cell, found: Any) -> str:
    """What kind of difference it is, in a few words."""
    if found is None or (isinstance(found, float) and math.isnan(found)):
        return "lost"
    if true is None:
        return "made up"
    if isinstance(true, float):
        return "number as text" if isinstance(found, str) else "another number"
    return "another text" if isinstance(found, str) else "text as number"


def _same_names(found: list[str], true: list[str]) -> bool:
    """Whether the names are the true ones; a mark before the first may be that of a comment."""
    found, true = [name.strip() for name in found], [name.strip() for name in true]
    return found == true or (true[0].startswith("#") and found == [true[0].lstrip("# "), *true[1:]])


def _same(true: Cell, found: Any, kind: str) -> bool:
    if isinstance(found, float) and math.isnan(found):
        found = None
    if isinstance(found, str) and not found.strip():
        found = None
    if true is None or true == "" or found is None:
        return found is None and true in (None, "")
    if kind == "number":
        return isinstance(found, float) and found == true
    if kind == "flag":
        return found == float(true) or str(found).strip().lower() == str(true).lower()
    return isinstance(found, str) and _lines(found) == _lines(str(true))


def _lines(text: str) -> str:
    return text.strip().replace("\r\n", "\n").replace("\r", "\n")


# ---------------------------------------------------------------------------------------------------- the reader tested


def _opened(path: Path, remembered: dict[str, Any] | None, options: Sequence[str]) -> Any:
    from mvset.app.cli.options import reading_options
    from mvset.app.tables.sources import table_files

    model = None if remembered is None else SimpleNamespace(estimator=SimpleNamespace(reading_=remembered))
    return table_files([str(path)], reading_options(list(options), None, model))[0]


def remembered_of(path: Path, options: Sequence[str] = ()) -> dict[str, Any]:
    """What a model remembers about how this table was read."""
    file = _opened(path, None, options)
    _ = file.schema
    return dict(file.remembered)


def read_table(
    path: Path, remembered: dict[str, Any] | None = None, names: Sequence[str] = (), options: Sequence[str] = ()
) -> tuple[list[str], dict[str, list[Any]]]:
    """Names and columns as mvset reads them: numbers as floats, all else as text, None for missing values.

    With `remembered` and the `names` of a model's columns of numbers, the table is read as one to be scored.
    """
    from mvset.app.tables.errors import TableError
    from mvset.app.tables.reading import TableReader

    file = _opened(path, remembered, options)
    schema = file.schema
    if pa.float64() not in schema.types:
        raise TableError("There is no column of numbers to fit to.")  # as in a fit
    if names:
        TableReader([file], list(names), missing="note")  # fails if the model cannot be used
    kinds = {each.name: pa.float64() if each.type == pa.float64() else pa.string() for each in schema}
    kinds |= dict.fromkeys(names, pa.float64())
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    for batch, _ in file.batches(pa.schema(list(kinds.items()))):
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            known = file.known(column) if column.type == pa.string() else column
            columns[name] += known.to_pylist()
    return schema.names, columns
