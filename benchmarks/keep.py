"""Run a script of this folder, and keep the tables that it prints: those in the documents are compared with them.

    python benchmarks/keep.py [--section SECTION] NAME [ARGUMENT ...]

Writes results/NAME.csv, or results/NAME-1.csv and so on if there are several tables. A script that takes hours can be
kept in sections, as results/NAME-SECTION.csv.
"""

import argparse
import csv
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def tables(text: str) -> list[list[list[str]]]:
    """The Markdown tables in a text: rows of cells, without the rule under the names."""
    found = []
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        rows = [[cell.strip(" *") for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        found.append([row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--section")
    parser.add_argument("name")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    stem = "-".join(filter(None, (options.name, options.section)))
    command = [sys.executable, str(FOLDER / f"{options.name}.py"), *options.arguments]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        sys.exit(process.returncode)
    found = tables("".join(lines))
    for i, table in enumerate(found, start=1):
        suffix = f"-{i}" if len(found) > 1 else ""
        with (FOLDER / "results" / f"{stem}{suffix}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(table)


if __name__ == "__main__":
    main()
