"""The text of labels, however they are stored."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mvset.rows.labels import distinct_labels, label_text, label_texts

KINDS = [int, float, str, Decimal, np.int8, np.uint64, np.float16, np.float32, np.float64, np.str_, pa.scalar]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_whole_number_has_no_decimals_whatever_its_type(kind):
    assert label_text(kind(7)) == "7"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-0.0, "0"),
        ("-0.0", "0"),
        ("+3.00", "3"),
        (2**60 + 1, "1152921504606846977"),
        ("007", "007"),
        ("007.0", "007.0"),
        ("1.10", "1.10"),
        ("1.0.0", "1.0.0"),
        (0.1, "0.1"),
        (np.float32(0.1), "0.1"),
        (float(np.float32(0.1)), "0.1"),
        (Decimal("0.10"), "0.1"),
        (Decimal("100"), "100"),
        (1e-7, "1e-07"),
        (np.float32(1e-7), "1e-07"),
        (float("inf"), "inf"),
        (True, "True"),
        (np.True_, "True"),
        ("true", "True"),
        ("FALSE", "False"),
        (" B\t", "B"),
        ("B C", "B C"),
        (np.str_(" B"), "B"),
        (date(2026, 1, 31), "2026-01-31"),
    ],
    ids=repr,
)
def test_text_of_a_label(value, text):
    assert label_text(value) == text


@pytest.mark.parametrize(
    "value",
    [
        *(None, float("nan"), np.float32("nan"), Decimal("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), np.ma.masked),
        *("", " \t", np.str_(" "), pa.scalar(None, pa.int64())),
    ],
    ids=repr,
)
def test_what_is_missing(value):
    assert label_text(value) is None


NUMBERS = [1.0, 2.0, None, 0.1, 1.0]


@pytest.mark.parametrize(
    "column",
    [
        NUMBERS,
        pa.array(NUMBERS),
        pa.array(NUMBERS, pa.float32()),
        pa.array(NUMBERS).dictionary_encode(),
        pa.chunked_array([NUMBERS[:2], NUMBERS[2:]]),
        pa.array(["1", " 2", "", "0.1", "1.0"]),
        pa.array(["1", "2 ", None, "0.1", "1"], pa.large_string()),
    ],
    ids=str,
)
def test_labels_of_a_column(column):
    assert label_texts(column).tolist() == ["1", "2", None, "0.1", "1"]


def test_a_column_without_rows_or_without_values():
    for column in ([], pa.array([], pa.string()), pa.chunked_array([], pa.string())):
        assert label_texts(column).tolist() == []
    assert label_texts(pa.nulls(2)).tolist() == [None, None]
    assert distinct_labels(pa.array(["a", "a"]))[0] == ["a"]  # and no None


def test_one_and_true_are_different_labels():
    assert label_texts([1, True, 1.0, "1"]).tolist() == ["1", "True", "1", "1"]
