"""Pairs of tables: the second is read as a model that was fitted to the first reads it."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from fuzz import dialects
from fuzz.written_tables import (
    Case,
    difference,
    draw_dialect,
    draw_table,
    fitting_dialect,
    read_table,
    remembered_of,
    with_other_decimal,
    write,
)
from mvset.app.tables.errors import TableError

warm_up = dialects.warm_up


def draw_pair(rng: np.random.Generator, folder: Path) -> tuple[Case, Case, bool]:
    """Two tables with the same columns; whether they are written in the same dialect."""
    specs, first = draw_table(rng)
    how = rng.uniform()
    second = first
    if how > 0.7:
        wanted = str(rng.choice(["standard", "unusual"], p=[0.8, 0.2]))
        drawn = draw_dialect(rng, specs, wanted)
        header = first.header if rng.uniform() < 0.85 else drawn.header
        second = replace(fitting_dialect(specs, drawn), header=header, index=first.index)
    elif how > 0.5:
        second = fitting_dialect(specs, with_other_decimal(first))
    one = write(rng, specs, first, folder, "first")
    two = write(rng, specs, second, folder, "second")
    if _hopeless(one, two):
        two = write(rng, specs, first, folder, "second")
    return one, two, two.dialect == one.dialect


def _hopeless(one: Case, two: Case) -> bool:
    """Whether the second table looks as if written like the first, and means something else."""
    first, second = one.dialect, two.dialect
    marks = first.decimal == second.thousands or first.thousands == second.decimal
    return (two.unclear_numbers and marks) or (two.kind == "ambiguous" and first.header != second.header)


def run_case(seed: int, folder: Path) -> str:
    """Write two tables, remember how the first is read, and read the second."""
    return run_and_say(seed, folder)[0]


def run_and_say(seed: int, folder: Path) -> tuple[str, str, str]:
    """Return the outcome, the sentence of a refusal, and the kind of case."""
    one, two, alike = draw_pair(np.random.default_rng([seed, 1]), folder)  # other tables than in fuzz.dialects
    kind = two.kind if alike else "other dialect"
    outcome, said = dialects.check(one)
    assert outcome != "wrong", f"first table: {said}\n{one.shown()}"
    if outcome != "right":
        return "first refused", said, kind
    options = () if alike else two.options
    try:
        remembered = remembered_of(one.path, one.options)
        names = one.number_names
        read = read_table(two.path, remembered, names, options)
        if missing := set(one.names) - set(read[0]):
            raise TableError(f"The model needs {sorted(missing)}.")
    except TableError as error:
        return f"refused: {kind}", str(error), kind
    differs = difference(two, read, () if two.dialect.header else one.names)
    assert differs is None, f"second table: {differs}\n{one.shown()}\n{two.shown()}\n  remembered: {remembered}"
    return "right", "", kind
