"""Who tells better how a text table is written: mvset, or the CSV sniffer of DuckDB? On tables with a known truth.

The tables are those of the fuzz tests. A question is asked of the tables that have an answer to it; a table that cannot
be read is a refusal of all questions. DuckDB is told the encoding if it is not UTF-8, and what mvset is told of missing
values. It does not guess the decimal mark, but takes a point. The numbers are asked for four times: with DuckDB's own
guess; with the true decimal mark; with this, the mark between thousands and mvset's words for missing values; and so
again, where a column of numbers that is left as text is a refusal: only other values are wrong. Shares in percent.

    python benchmarks/sniffers.py [--cases 3000] [--seed 0]
"""

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from fuzz.written_tables import _opened, _same, _same_names, draw_case, read_table
from mvset.app.tables.errors import TableError
from mvset.app.tables.numbers import MISSING
from text_table import print_head, print_row

NUMBERS = ("numbers", "numbers, told the decimal mark", "numbers, told all marks", "numbers, or text")
QUESTIONS = ("separator", "header or none", "names", "rows of data", "decimal mark", *NUMBERS)
OUTCOMES = ("right", "refused", "wrong")
WORDS = sorted({*MISSING, *map(str.upper, MISSING), "NaN", "Null", "None"})


def our_answers(case):
    """For each question, a function that answers it."""
    file = _opened(case.path, None, case.options)

    def separator():
        return file.dialect.separator if len(file.dialect.names) > 1 else None

    def n_rows():
        batches = file.batches(pa.schema([(name, pa.string()) for name in file.schema.names]))
        return sum(batch.num_rows for batch, _ in batches)

    def header():  # names may stand in a comment
        return file.dialect.header or file.dialect.names[0] != "column1"

    def numbers():
        return list(read_table(case.path, options=case.options)[1].values())

    return separator, header, lambda: file.schema.names, n_rows, lambda: file.dialect.numbers.decimal, *[numbers] * 4


def their_answers(case, database):
    """For each question, a function that answers it."""
    encoding = {"cp1252": "latin-1", "utf-16": "utf-16"}.get(case.dialect.encoding[:6])
    marks = [option.removeprefix("na=") for option in case.options if option.startswith("na=")]

    def ask(function, **told):
        if case.path.suffix in (".bz2", ".xz"):
            raise duckdb.Error("DuckDB cannot unpack it.")
        options = {"sample_size": -1, "encoding": encoding, "nullstr": ["", *marks] if marks else None} | told
        given = ", ".join(f"{name}={value!r}" for name, value in options.items() if value)
        answer = database.execute(f"FROM {function}('{case.path}', {given})")
        return [each[0] for each in answer.description], answer.fetchall()

    def sniffed():
        names, (values,) = ask("sniff_csv")
        return dict(zip(names, values, strict=True))

    def separator():
        return sniffed()["Delimiter"].replace("\\t", "\t") if len(sniffed()["Columns"]) > 1 else None

    def numbers(**told):
        columns = zip(*ask("read_csv", **told)[1], strict=True)
        return [[float(cell) if type(cell) is int else cell for cell in column] for column in columns]

    told = {"decimal_separator": case.dialect.decimal, "thousands": case.dialect.thousands, "nullstr": WORDS + marks}
    of_file = (lambda: ask("read_csv")[0], lambda: len(ask("read_csv")[1]), lambda: sniffed() and ".")
    of_numbers = (numbers, partial(numbers, decimal_separator=case.dialect.decimal), *[partial(numbers, **told)] * 2)
    return separator, lambda: sniffed()["HasHeader"], *of_file, *of_numbers


def outcome(case, question, answer):
    """Right, refused or wrong; None if the table has no answer. A separator at the end may make one more column."""
    true, at = case.dialect, [case.names.index(name) for name in case.number_names]
    widths, n_rows = {len(case.names), len(case.names) + ("trailing separator" in true.oddities)}, len(case.cells)
    if question == "decimal mark" and not any(true.decimal in row[j] for row in case.cells for j in at):
        return None
    if (question == "names" and not true.header) or (question in NUMBERS and not at):
        return None
    try:
        found = answer()
    except (TableError, duckdb.Error):
        return "refused"
    if question == "names":  # one that is empty may be anything
        names = [name if known else "" for name, known in zip(found, case.names, strict=False)]
        return "right" if len(found) in widths and _same_names(names, case.names) else "wrong"
    if question not in NUMBERS:
        separator = true.separator if max(widths) > 1 else None
        truth = dict(zip(QUESTIONS, (separator, true.header, None, n_rows, true.decimal), strict=False))
        return "right" if found == truth[question] else "wrong"
    if len(found) not in widths or len(found[0]) != n_rows:
        return "wrong"
    pairs = [(case.truth[case.names[j]], found[j]) for j in at if not any(isinstance(cell, str) for cell in found[j])]
    if not all(_same(a, b, "number") for column in pairs for a, b in zip(*column, strict=True)):
        return "wrong"
    return "right" if len(pairs) == len(at) else "refused" if question == NUMBERS[-1] else "wrong"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    database, counts = duckdb.connect(config={"threads": 1}), Counter()
    for seed in range(given.seed, given.seed + given.cases):
        with tempfile.TemporaryDirectory() as folder:
            case = draw_case(np.random.default_rng(seed), Path(folder))
            for reader, answers in enumerate((our_answers(case), their_answers(case, database))):
                for question, answer in zip(QUESTIONS, answers, strict=True):
                    counts[question, case.kind, reader, outcome(case, question, answer)] += 1
    print_head("question", "kind", "tables", *(f"{who}: {' / '.join(OUTCOMES)}" for who in ("mvset", "DuckDB")))
    for question in QUESTIONS:
        for kind in ("standard", "unusual", "ambiguous"):
            of_both = [[counts[question, kind, reader, each] for each in OUTCOMES] for reader in (0, 1)]
            n = max(1, sum(of_both[0]))
            print_row(question, kind, n, *(" / ".join(f"{100 * each / n:.1f}" for each in one) for one in of_both))


if __name__ == "__main__":
    main()
