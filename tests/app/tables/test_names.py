"""The odds that a row has names: like no other row of its columns, and like names."""

import numpy as np
import pytest

from mvset.app.tables.dialect import guess
from mvset.app.tables.errors import TableError
from mvset.app.tables.names import Column, odds_of_names
from mvset.app.tables.numbers import PLAIN
from mvset.app.tables.options import ReadingOptions

NAMES, DATA = 20.0, 0.004  # as in header.py
KINDS = {
    "decimals": [f"{0.37 * i % 5 + 0.03:.2f}" for i in range(30)],
    "counts": [str(7 * i % 50 + 3) for i in range(30)],
    "site": ["ABC"[i * i % 3] for i in range(30)],
    "id": [f"ID-{i}" for i in range(30)],
    "day": [f"2026-01-{i + 1:02d}" for i in range(30)],
    "index": [str(i) for i in range(30)],
}


def odds(row, kinds, quoted=False):
    """Odds of names of a row, written as words, above columns of these kinds."""
    columns = [Column(KINDS[kind], kind in ("decimals", "counts", "index"), PLAIN) for kind in kinds.split()]
    cells = [cell.replace("_", "") for cell in row.split()]
    return odds_of_names(cells, [quoted] * len(cells), columns)


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        ("flow", "decimals"),
        ("when flow 2019", "day decimals counts"),
        ("2019 2020", "decimals decimals"),
        ("0 1 2 3", "counts counts counts counts"),
        ("_ 0 1", "index decimals decimals"),
        ("name A", "id decimals"),
    ],
)
def test_names(row, kinds):
    assert odds(row, kinds) > NAMES


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        ("0.55", "decimals"),
        ("17 4", "counts counts"),
        ("A 12", "site counts"),
        ("ID-77 0.5", "id decimals"),
        ("2026-02-01 0.5", "day decimals"),
        ("-1.5 -2.5 -3.5", "decimals decimals decimals"),
        ("7 7", "decimals decimals"),
    ],
)
def test_data(row, kinds):
    assert odds(row, kinds) < DATA


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        ("0 1", "counts counts"),
        ("5", "decimals"),
        ("D 0.5", "site decimals"),
        ("<0.1 0.5", "decimals decimals"),
        ("400.5 401.0 401.5 402.0", "decimals decimals decimals decimals"),
    ],
)
def test_both(row, kinds):
    assert DATA < odds(row, kinds) < NAMES


def test_numbers_in_quotation_marks_above_others_are_words():
    assert odds("400.5", "decimals") < NAMES < odds("400.5", "decimals", quoted=True)
    assert guess('"400.5","401"\n1.5,2.5\n1.25,2.25\n1.75,2\n', ReadingOptions()).names == ("400.5", "401")


@pytest.mark.parametrize("seed", range(20))
def test_a_table_loses_no_row_to_its_header(seed):
    rng = np.random.default_rng(seed)
    draws = [
        lambda n: rng.integers(0, 5, n),
        lambda n: rng.normal(size=n).round(2),
        lambda n: rng.integers(0, 10**6, n),
    ]
    columns = [draws[rng.integers(3)](50).tolist() for _ in range(rng.integers(2, 6))]
    text = "".join(",".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))
    try:
        found = guess(text, ReadingOptions())
    except TableError:
        return  # such as 1,2,3 in the first row
    assert (found.header, found.first) == (False, 0)
