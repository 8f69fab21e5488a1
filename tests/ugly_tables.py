"""Ugly files: tables as people have them, and what `mvset fit` must make of each."""

import bz2
import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

N = 60  # rows of most files
NAMES = ["temperature", "pressure", "flow"]


@dataclass(frozen=True)
class Case:
    """A file, or several, with options of `mvset fit` and what must come out: rows and columns, or a sentence."""

    files: tuple[str, ...]  # below the folder; `{folder}` in options and a database address is replaced likewise
    options: tuple[str, ...] = ()
    rows: int | None = None  # rows used
    columns: tuple[str, ...] = ()  # numeric features
    categories: tuple[str, ...] = ()  # features that are text
    left_out: tuple[str, ...] = ()  # columns noticed and not used, such as dates
    error: str | None = None  # fragment of the error sentence
    stdin: bool = False  # whether the file is piped into `mvset fit -`

    @property
    def name(self) -> str:
        """A name for the test."""
        return " ".join([*self.files, *self.options, *(["(stdin)"] if self.stdin else [])])


def values(n: int = N, seed: int = 0) -> np.ndarray:
    """Temperatures, pressures and flows."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(20, 2, n), rng.normal(1.5, 0.1, n), rng.normal(300, 30, n)]).round(4)


def cells(n: int = N) -> list[list[str]]:
    """The same as text."""
    return [[f"{value:.4f}" for value in row] for row in values(n)]


def text(
    rows: Iterable[Sequence[str]], header: Sequence[str] | None = NAMES, separator: str = ",", end: str = "\n"
) -> str:
    """Rows as lines of text."""
    lines = [*([header] if header else []), *rows]
    return "".join(separator.join(line) + end for line in lines)


def with_column(name: str, column: Sequence[str], first: bool = False) -> str:
    """A CSV file with one more column."""
    pairs = zip(cells(), column, strict=True)
    if first:
        return text([[extra, *row] for row, extra in pairs], [name, *NAMES])
    return text([[*row, extra] for row, extra in pairs], [*NAMES, name])


def with_cells(changes: dict[tuple[int, int], str], separator: str = ",") -> str:
    """A CSV file in which some cells, by row and column counted from 0, are replaced."""
    rows = cells()
    for (i, j), cell in changes.items():
        rows[i][j] = cell
    return text(rows, separator=separator)


def write_ugly_files(folder: Path) -> list[Case]:
    """Write all files into a folder; returns the cases."""
    folder.mkdir(parents=True, exist_ok=True)
    cases: list[Case] = []

    def add(
        name: str,
        content: str | bytes,
        *options: str,
        rows: int = N,
        columns: Sequence[str] = NAMES,
        categories: Sequence[str] = (),
        left_out: Sequence[str] = (),
        error: str | None = None,
    ) -> None:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        again(name, *options, rows=rows, columns=columns, categories=categories, left_out=left_out, error=error)

    def again(
        name: str | tuple[str, ...],
        *options: str,
        rows: int = N,
        columns: Sequence[str] = NAMES,
        categories: Sequence[str] = (),
        left_out: Sequence[str] = (),
        error: str | None = None,
        stdin: bool = False,
    ) -> None:
        files = (name,) if isinstance(name, str) else name
        if error is not None:
            cases.append(Case(files, options, error=error, stdin=stdin))
        else:
            cases.append(Case(files, options, rows, tuple(columns), tuple(categories), tuple(left_out), stdin=stdin))

    plain = text(cells())
    numbered = ["column1", "column2", "column3"]

    # --- header or none
    add("no_header.csv", text(cells(), None), columns=numbered)
    again("no_header.csv", "--read", "header=no", columns=numbered)
    add("no_header_integers.csv", "".join(f"{i % 7},{i % 5},{i % 3}\n" for i in range(N)), columns=numbered)
    add("no_header_one_column.csv", "".join(f"{row[0]}\n" for row in cells()), columns=numbered[:1])
    add(
        "no_header_with_text.csv",
        text([[*row, "ab"[i % 2]] for i, row in enumerate(cells())], None),
        columns=numbered,
        categories=["column4"],
    )
    add(
        "years_as_header.csv",
        text(cells(), ["2021", "2022", "2023"]),
        "--read",
        "header=yes",
        columns=["2021", "2022", "2023"],
    )
    add("one_column.csv", text([row[:1] for row in cells()], NAMES[:1]), columns=NAMES[:1])
    add("one_column_no_name.txt", "".join(f"{row[0]}\n" for row in cells()), columns=numbered[:1])
    add("only_text.csv", "colour,shape\n" + "red,round\nblue,flat\n" * 30, error="no column of numbers")
    add("header_only.csv", text([]), error="has no rows")
    add("header_without_newline.csv", ",".join(NAMES), error="has no rows")
    add("empty.csv", "", error="has no rows")
    add("blank.csv", "\n\n\n", error="has no rows")
    add("duplicate_names.csv", text(cells(), ["a", "b", "a"]), error="more than one column called 'a'")
    add(
        "unnamed_column.csv",
        text([[str(i), *row] for i, row in enumerate(cells())], ["", *NAMES]),
        left_out=["the column without a name"],
    )
    again("unnamed_column.csv", "--exclude", "")
    add("unnamed_numbers.csv", text([[row[0], *row] for row in cells()], ["", *NAMES]), error="without a name")
    add("all_names_missing.csv", text(cells(), ["", "", ""]), error="missing or infinite values in 'column1' (1)")
    add(
        "names_with_spaces.csv",
        text(cells(), [" temperature (°C)", "pressure [bar] ", "flow, l/h"]).replace("flow, l/h", '"flow, l/h"'),
        columns=["temperature (°C)", "pressure [bar]", "flow, l/h"],
    )
    add("names_differ_in_case.csv", text(cells(), ["t", "T", "p"]), columns=["t", "T", "p"])

    # --- separators
    add("semicolons.csv", text(cells(), separator=";"))
    add("tabs.txt", text(cells(), separator="\t"))
    add("pipes.txt", text(cells(), separator="|"))
    add("pipes_with_spaces.txt", text(cells(), separator=" | "))
    add("one_space.dat", text(cells(), separator=" "))
    add("several_spaces.dat", "".join("".join(f"{cell:>14}" for cell in row) + "\n" for row in [NAMES, *cells()]))
    add(
        "several_spaces_no_header.dat",
        "".join("".join(f"{cell:>14}" for cell in row) + "\n" for row in cells()),
        columns=numbered,
    )
    add("trailing_spaces.dat", "".join("  ".join(row) + "  \n" for row in cells()), columns=numbered)
    add("colons.txt", text(cells(), separator=":"), "--read", "separator=:")
    add("trailing_separators.csv", text([[*row, ""] for row in cells()], [*NAMES, ""]))
    add("trailing_separators_not_in_header.csv", text([[*row, ""] for row in cells()]))
    add("spaces_after_commas.csv", text(cells(), separator=", "))
    add(
        "names_in_quotes.csv", text([[f'"{cell}"' for cell in row] for row in cells()], [f'"{name}"' for name in NAMES])
    )
    add("single_quotes.csv", text(cells(), [f"'{name}'" for name in NAMES]), columns=[f"'{name}'" for name in NAMES])
    add("separator_line_of_excel.csv", "sep=;\n" + text(cells(), separator=";"))

    # --- lines that are not rows
    add("comments.csv", "# plant 7\n# exported 2026-01-01, by hand\n" + plain)
    add("comments_between.csv", text([*cells()[:30], ["# pump changed"], *cells()[30:]]))
    again("comments_between.csv", "--read", "comment=#")
    add(
        "comments_at_line_ends.csv",
        text([[*row[:2], row[2] + "  # ok"] for row in cells()]),
        columns=NAMES[:2],
        left_out=NAMES[2:],
    )
    add("percent_comments.dat", "% matlab\n" + text(cells(), separator=" "), "--read", "comment=%")
    add("header_is_a_comment.dat", "# " + text(cells(), separator=" "), columns=NAMES)
    add("units_below_header.csv", text([["°C", "bar", "l/h"], *cells()]))
    add("units_and_types_below_header.csv", text([["°C", "bar", "l/h"], ["float", "float", "float"], *cells()]))
    add("title_above_header.csv", "Daily report of plant 7\n\n" + plain)
    add("title_with_commas.csv", "Report, plant 7, line 3\n" + plain, "--read", "skip-rows=1")
    add("footer.csv", plain + "Total rows: 60\n", error="row 61")
    add("empty_lines.csv", plain.replace("\n", "\n\n"))
    add("repeated_header.csv", plain + plain, error="has 'temperature' in row 61")

    # --- line ends, quotes, ragged rows
    add("crlf.csv", text(cells(), end="\r\n"))
    add("cr.csv", text(cells(), end="\r"))
    add("mixed_line_ends.csv", text(cells()[:30], end="\r\n") + text(cells()[30:], None))
    add("no_newline_at_end.csv", plain.rstrip("\n"))
    add(
        "quoted_newlines.csv",
        with_column("note", [f'"line {i % 3}\nand ""more"", yes"' for i in range(N)]),
        categories=["note"],
    )
    add(
        "unclosed_quote.csv",
        with_column("note", ['"open' if i == 20 else "ok" for i in range(N)]),
        error="a quotation mark is not closed",
    )
    add("inches.csv", with_column("size", [f'{5 + i % 2}" pipe' for i in range(N)]), categories=["size"])
    add("short_row.csv", text([row[:2] if i == 16 else row for i, row in enumerate(cells())]), error="row 17")
    add("long_row.csv", text([[*row, "9"] if i == 16 else row for i, row in enumerate(cells())]), error="row 17")
    add("nul_bytes.csv", with_cells({(16, 1): "\0"}), error="row 17")

    # --- values
    add("err.csv", with_cells({(16, 1): "ERR"}), error="Column 'pressure' of {folder}/err.csv has 'ERR' in row 17")
    again("err.csv", "--read", "na=ERR", "--missing", "drop", rows=N - 1)
    add("dash.csv", with_cells({(3, 0): "-", (5, 2): "-"}), error="has '-' in row 4")
    again("dash.csv", "--read", "na=-", "--missing", "drop", rows=N - 2)
    add(
        "not_available.csv",
        with_cells({(3, 0): "N/A", (4, 0): "NA", (5, 1): "", (6, 2): "null", (7, 1): "NaN"}),
        "--missing",
        "drop",
        rows=N - 5,
    )
    again("not_available.csv", error="missing")
    again("not_available.csv", "--missing", "impute")
    add(
        "minus_999.csv",
        with_cells({(i, 1): "-999" for i in range(5)}),
        "--read",
        "na=-999",
        "--missing",
        "drop",
        rows=N - 5,
    )
    add("mostly_err.csv", with_cells({(i, 1): "ERR" for i in range(40)}), error="has 'ERR' in row 1,")
    add(
        "thousands.csv",
        with_column("volume", [f'"{1234.5 + 1000 * i:,.2f}"' for i in range(N)]),
        columns=[*NAMES, "volume"],
    )
    add(
        "thousands_semicolons.csv",
        text([[*row[:2], f"{1234.5 + 1000 * i:,.2f}"] for i, row in enumerate(cells())], separator=";"),
    )
    add("decimal_commas.csv", text([[cell.replace(".", ",") for cell in row] for row in cells()], separator=";"))
    add("decimal_commas_tabs.txt", text([[cell.replace(".", ",") for cell in row] for row in cells()], separator="\t"))
    add(
        "decimal_commas_and_points.csv",
        text(
            [[row[0].replace(".", ","), row[1].replace(".", ","), f"{i + 1}.234,5"] for i, row in enumerate(cells())],
            separator=";",
        ),
    )
    add("percent.csv", with_column("load", [f"{50 + i % 7}%" for i in range(N)]), columns=[*NAMES, "load"])
    add("currency.csv", with_column("price", [f"${10 + i % 7}.50" for i in range(N)]), error="'$10.50'")
    add("units_in_cells.csv", with_column("speed", [f"{10 + i % 7} km/h" for i in range(N)]), "--exclude", "speed")
    add("scientific.csv", text([[f"{float(cell):.3E}" for cell in row] for row in cells()]))
    add(
        "infinite.csv", with_cells({(3, 0): "inf", (4, 1): "-Infinity", (5, 2): "nan"}), "--missing", "drop", rows=N - 3
    )
    add("leading_zeros.csv", with_column("batch", [f"{i % 4:04d}" for i in range(N)]), "--keep", "batch", columns=NAMES)
    add("plus_signs.csv", text([["+" + cell for cell in row] for row in cells()]))
    add("hexadecimal.csv", with_cells({(16, 1): "0x10"}), error="has '0x10' in row 17")
    add("unicode_minus.csv", text([["\u2212" + cell for cell in row] for row in cells()]))
    add("huge_integers.csv", with_column("serial", [str(2**63 + 10**16 * i) for i in range(N)]), "--exclude", "serial")
    add(
        "late_text.csv",
        "x,y\n" + "1,2\n3,5\n" * 100_000 + "2,oops\n",
        error="Column 'y' of {folder}/late_text.csv has 'oops' in row 200001",
    )
    add("late_fraction.csv", "x,y\n" + "1,2\n3,5\n" * 100_000 + "2,0.5\n", rows=200_001, columns=["x", "y"])
    add(
        "late_value.csv",
        "x,y\n" + "1,\n3,\n" * 100_000 + "2,0.5\n2,0.7\n1,0.1\n",
        "--missing",
        "drop",
        rows=3,
        columns=["x", "y"],
    )
    add("late_header.csv", "x,y\n" + "1,2\n3,5\n" * 100_000 + "x,y\n", error="row 200001")

    # --- columns
    add(
        "text_column.csv",
        with_column("grade", [["good", "fair", "poor"][i % 3] for i in range(N)]),
        categories=["grade"],
    )
    again("text_column.csv", "--where", "grade = 'good'", "--exclude", "grade", rows=N // 3)
    again("text_column.csv", "--where", "grade = (SELECT content FROM read_text('/etc/passwd'))", error="--where")
    again("text_column.csv", "--where", "1 = 1; COPY (SELECT 1) TO '{folder}/stolen.csv'", error="--where")
    again("text_column.csv", "--where", "quality > 3", error="no column 'quality'")
    again("text_column.csv", "--where", "temperature > ", error="--where")
    again("text_column.csv", "--where", "temperature > 1000", error="no rows")
    add(
        "dates.csv",
        with_column("time", [f"2026-01-{1 + i // 24:02d} {i % 24:02d}:00:00" for i in range(N)], first=True),
        left_out=["time"],
    )
    again("dates.csv", "--time", "time")
    add(
        "german_dates.csv",
        with_column("Zeit", [f"{1 + i // 24:02d}.01.2026 {i % 24:02d}:00" for i in range(N)], first=True),
        left_out=["Zeit"],
    )
    add(
        "iso_dates_with_zone.csv",
        with_column("time", [f"2026-01-01T{i // 60:02d}:{i % 60:02d}:00.5Z" for i in range(N)]),
        left_out=["time"],
    )
    add("booleans.csv", with_column("open", [["true", "false"][i % 2] for i in range(N)]), categories=["open"])
    add("yes_no.csv", with_column("open", [["yes", "no"][i % 2] for i in range(N)]), categories=["open"])
    add("constant.csv", with_column("unit", ["7"] * N), columns=[*NAMES, "unit"])
    add("empty_column.csv", with_column("spare", [""] * N), "--exclude", "spare")
    add("id_column.csv", with_column("id", [str(100_000 + i) for i in range(N)], first=True), "--exclude", "id")
    add(
        "uuid_column.csv",
        with_column("id", [f"{i:08x}-0000-4000-8000-000000000000" for i in range(N)], first=True),
        left_out=["id"],
    )
    wide = np.random.default_rng(1).normal(size=(N, 300)).round(3)
    add(
        "very_wide.csv",
        text([[str(v) for v in row] for row in wide], [f"x{j}" for j in range(300)]),
        columns=[f"x{j}" for j in range(300)],
    )
    add(
        "long_cell.csv",
        with_column("note", ["x" * 3_000_000 if i == 9 else "y" for i in range(N)]),
        "--exclude",
        "note",
    )
    add("formula.csv", with_column("note", ["=1+1", "@SUM(A1)"] * 30), categories=["note"])

    # --- encodings
    unit = text(cells(), ["température", "pressure", "flow"])
    french = ["température", "pressure", "flow"]
    add("utf8_bom.csv", plain.encode("utf-8-sig"))
    add("utf16_bom.csv", unit.encode("utf-16"), columns=french)
    add("utf16_big_endian_bom.csv", b"\xfe\xff" + unit.encode("utf-16-be"), columns=french)
    add("utf16_no_bom.csv", unit.encode("utf-16-le"), columns=french)
    again("utf16_no_bom.csv", "--read", "encoding=utf-16-le", columns=french)
    add("utf32_bom.csv", unit.encode("utf-32"), columns=french)
    add("latin1.csv", unit.encode("latin-1"), columns=french)
    again("latin1.csv", "--read", "encoding=latin-1", columns=french)
    add(
        "windows_1252.csv",
        with_column("grade", ["€", "œ"] * 30).encode("cp1252"),
        "--read",
        "encoding=cp1252",
        categories=["grade"],
    )
    again("windows_1252.csv", "--read", "encoding=klingon", error="--read encoding")
    add(
        "latin1_far_down.csv",
        b"x,y,note\n" + b"1,2,a\n3,5,b\n" * 100_000 + "2,3,ä\n".encode("latin-1"),
        error="--read encoding",
    )
    add(
        "shift_jis.csv",
        with_column("状態", ["正常", "異常"] * 30).encode("shift_jis"),
        "--read",
        "encoding=shift_jis",
        categories=["状態"],
    )

    # --- compressed
    add("table.csv.gz", gzip.compress(plain.encode()))
    add("table.csv.bz2", bz2.compress(plain.encode()))
    add("table.csv.zst", pa.Codec("zstd").compress(plain.encode(), asbytes=True))
    add(
        "two_members.csv.gz",
        gzip.compress(text(cells()[:30]).encode()) + gzip.compress(text(cells()[30:], None).encode()),
    )
    add("truncated.csv.gz", gzip.compress(text(cells(N)).encode())[:-40], error="cannot be read")
    add("not_gzip.csv.gz", plain)
    add("gzip_without_the_ending.csv", gzip.compress(plain.encode()))
    add("one_member.zip", zipped({"table.csv": plain}))
    add("folder_in_zip.zip", zipped({"data/": "", "data/table.csv": plain, "__MACOSX/data/._table.csv": "junk"}))
    add("two_tables.zip", zipped({"a.csv": text(cells()[:30]), "b.csv": text(cells()[30:])}))
    add("no_table.zip", zipped({"readme.md": "hello"}), error="no table")
    add("empty.zip", zipped({}), error="no table")
    add("truncated.zip", zipped({"table.csv": plain})[:-30], error="cannot be read")
    add("bomb.zip", zipped({"table.csv": "0" * 300_000_000}), error="cannot be read")

    # --- endings that lie
    table = pa.table({name: values()[:, j] for j, name in enumerate(NAMES)})
    sink = io.BytesIO()
    pa.parquet.write_table(table, sink)
    parquet = sink.getvalue()
    add("csv_inside.parquet", plain)
    add("parquet_inside.csv", parquet)
    add("csv_inside.xlsx", plain)
    add("no_ending", plain)
    again("no_ending", "--read", "format=csv")
    add("UPPER.CSV", plain)
    add("junk.csv", np.random.default_rng(2).bytes(5_000), error="cannot be read")
    add("png.csv", b"\x89PNG\r\n\x1a\n" + np.random.default_rng(3).bytes(2_000), error="cannot be read")
    add("web_page.csv", "<!DOCTYPE html><html><body>Please log in, then try again</body></html>\n", error="web page")
    add("truncated.parquet", parquet[: len(parquet) // 2], error="cannot be read")
    add("empty.parquet", b"", error="empty.parquet cannot be read")
    pa.feather.write_feather(table, folder / "table.feather")
    again("table.feather")
    kinds = pa.table(
        {
            "x": pa.array(range(N), pa.int64()),
            "y": values()[:, 0].astype("f4"),
            "ok": [True, False] * 30,
            "when": pa.array([10**15 * i for i in range(N)], pa.timestamp("us")),
            "kind": pa.array(["a", "b"] * 30).dictionary_encode(),
        }
    )
    pa.parquet.write_table(kinds, folder / "kinds.parquet")
    again("kinds.parquet", columns=["y"], categories=["ok", "kind"], left_out=["when"])

    # --- JSON
    objects = [dict(zip(NAMES, row, strict=True)) for row in values().tolist()]
    add("array.json", json.dumps(objects))
    add("array_pretty.json", json.dumps(objects, indent=2))
    add("lines.ndjson", "".join(json.dumps(each) + "\n" for each in objects))
    add("lines.json", "".join(json.dumps(each) + "\n" for each in objects))
    add(
        "lines_order_differs.jsonl",
        "".join(json.dumps(dict(reversed(each.items())) if i % 2 else each) + "\n" for i, each in enumerate(objects)),
    )
    add(
        "lines_with_gaps.jsonl",
        "".join(
            json.dumps({k: v for k, v in each.items() if i or k != "flow"}) + "\n" for i, each in enumerate(objects)
        ),
        "--missing",
        "drop",
        rows=N - 1,
    )
    add(
        "late_field.jsonl",
        '{"x": 1, "y": 2}\n{"x": 2, "y": 4}\n' * 100_000 + '{"x": 1, "y": 2, "z": 3}\n',
        error="'z' (200000)",
    )
    add(
        "late_string.jsonl",
        '{"x": 1, "y": 2}\n{"x": 2, "y": 4}\n' * 100_000 + '{"x": 1, "y": "oops"}\n',
        error="Column 'y'",
    )
    add(
        "nan.json",
        json.dumps([{**each, "flow": float("nan")} if i == 3 else each for i, each in enumerate(objects)]),
        "--missing",
        "drop",
        rows=N - 1,
    )
    add("nested.json", json.dumps([{**each, "site": {"name": "a"}} for each in objects]), categories=["site"])
    again("nested.json", "--exclude", "site")
    add(
        "columns.json",
        json.dumps({name: values()[:, j].tolist() for j, name in enumerate(NAMES)}),
        error="array of objects",
    )
    add("array_of_arrays.json", json.dumps(values().tolist()), error="array of objects")
    add("half.json", json.dumps(objects)[:-20], error="cannot be read")
    add("scalar.json", "42", error="array of objects")

    # --- Excel
    add("table.xlsx", workbook({"Sheet1": [NAMES, *values().tolist()]}))
    add(
        "two_sheets.xlsx",
        workbook({"Cover": [["Plant 7"]], "Data": [NAMES, *values().tolist()]}),
        "--read",
        "sheet=Data",
    )
    add("title_above.xlsx", workbook({"Data": [["Plant 7"], [], NAMES, *values().tolist()]}), "--read", "skip-rows=2")
    add(
        "cells_with_errors.xlsx",
        workbook(
            {
                "Data": [
                    NAMES,
                    *[["#DIV/0!" if i == 16 else row[0], *row[1:]] for i, row in enumerate(values().tolist())],
                ]
            }
        ),
        error="missing",
    )  # calamine gives an empty cell for an error
    again("cells_with_errors.xlsx", "--missing", "drop", rows=N - 1)
    add("numbers_as_text.xlsx", workbook({"Data": [NAMES, *cells()]}))
    add(
        "empty_cells.xlsx",
        workbook(
            {"Data": [NAMES, *[[None if i == 16 else row[0], *row[1:]] for i, row in enumerate(values().tolist())]]}
        ),
        "--missing",
        "drop",
        rows=N - 1,
    )
    add(
        "merged_header.xlsx",
        workbook({"Data": [["inlet", None, "outlet"], NAMES, *values().tolist()]}, merge="A1:B1"),
        "--read",
        "skip-rows=1",
    )
    add("empty.xlsx", workbook({"Data": []}), error="has no rows")
    add("truncated.xlsx", workbook({"Data": [NAMES]})[:-200], error="cannot be read")
    add("zip_inside.xlsx", zipped({"readme.md": "hello"}), error="cannot be read")

    # --- SQLite
    write_sqlite(folder / "plant.db")
    again("plant.db", columns=NAMES)  # a single table
    again(
        "plant.db", "--query", "SELECT temperature, flow FROM readings WHERE flow > 0", columns=["temperature", "flow"]
    )
    again(
        "sqlite:///{folder}/plant.db",
        "--query",
        "SELECT temperature, flow FROM readings",
        columns=["temperature", "flow"],
    )
    again("plant.db", "--query", "SELECT speed FROM readings", error="no such column")
    again("plant.db", "--query", "DELETE FROM readings", error="--query")
    again("plant.db", "--query", "SELECT mixed, flow FROM typed", error="'mixed'")
    add("not_a_database.db", plain, "--query", "SELECT 1", error="is not a database")
    add("sqlite_inside.csv", (folder / "plant.db").read_bytes())

    # --- several files, folders, pipes
    add("part1.csv", text(cells()[:30]), rows=30)
    add("part2.csv", text([row[::-1] for row in cells()[30:]], NAMES[::-1]), rows=30, columns=NAMES[::-1])
    again(("part1.csv", "part2.csv"))
    add("part3.csv", text([row[:2] for row in cells()[30:]], NAMES[:2]), rows=30, columns=NAMES[:2])
    again(("part1.csv", "part3.csv"), error="has no column 'flow'")
    add("part4.csv", text(cells()[30:], separator=";"), rows=30)
    again(("part1.csv", "part4.csv"))
    again(("part1.csv", "part1.csv"), error="given twice")
    again(("part1.csv", "table.feather"), rows=N + 30)
    again("part*.csv", error="has no column 'flow'")
    again("nowhere.csv", error="There is no file")
    again("part1.csv", rows=30, stdin=True)
    again("no_header.csv", columns=numbered, stdin=True)
    again("table.csv.gz", stdin=True)
    return cases


def zipped(members: dict[str, str]) -> bytes:
    """A zip archive."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return sink.getvalue()


def workbook(sheets: dict[str, list[list[object]]], merge: str | None = None) -> bytes:
    """An Excel workbook; text such as #DIV/0! becomes an error cell."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        if merge:
            sheet.merge_cells(merge)
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def write_sqlite(path: Path) -> None:
    """A database with a table, and a view whose column `mixed` has numbers and text."""
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE readings (temperature REAL, pressure REAL, flow REAL)")
        database.executemany("INSERT INTO readings VALUES (?, ?, ?)", values().tolist())
        database.execute(
            "CREATE VIEW typed AS SELECT flow, CASE WHEN rowid = 17 THEN 'ERR' ELSE pressure END AS mixed FROM readings"
        )
    database.close()


if __name__ == "__main__":
    import sys

    written = write_ugly_files(Path(sys.argv[1]))
    print(f"{len(written)} cases, {len({file for case in written for file in case.files})} files")
