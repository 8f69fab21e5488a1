"""Tables in many dialects: every cell is read as it was meant, or the table is refused."""

import tempfile
from pathlib import Path

import numpy as np

from fuzz.written_tables import Case, difference, draw_case, read_table
from mvset.app.tables.errors import TableError


def warm_up() -> None:
    """Import and start every writer, and the reader."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(40):
            check(draw_case(np.random.default_rng(seed), Path(folder)))


def check(case: Case) -> tuple[str, str]:
    """Read a table; the outcome, and the sentence of a refusal or the difference to the truth."""
    try:
        read = read_table(case.path, options=case.options)
    except TableError as error:
        return f"refused: {case.kind}", str(error)
    differs = difference(case, read)
    return ("right", "") if differs is None else ("wrong", differs)


def run_case(seed: int, folder: Path) -> str:
    """Write and read one table."""
    return run_and_say(seed, folder)[0]


def run_and_say(seed: int, folder: Path) -> tuple[str, str, str]:
    """Return the outcome, the sentence of a refusal, and the kind of case."""
    case = draw_case(np.random.default_rng(seed), folder)
    outcome, said = check(case)
    assert outcome != "wrong", f"{said}\n{case.shown()}"
    return outcome, said, case.kind
