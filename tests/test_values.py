from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from mvset import Detection, MassBand
from mvset.values import ArrayValue, checked_array


@dataclass(frozen=True, eq=False)
class Pair(ArrayValue):
    numbers: np.ndarray
    name: str = "a"

    def __post_init__(self):
        checked_array("Pair", "numbers", self.numbers, 1)


def test_values_are_equal_by_content():
    assert Pair(np.arange(3.0)) == Pair(np.arange(3.0))
    assert Pair(np.arange(3.0)) != Pair(np.arange(4.0))
    assert Pair(np.arange(3.0)) != Pair(np.arange(3.0), "b")
    assert Pair(np.arange(3.0)) != "a"
    band = MassBand(np.array([0.9]), np.array([np.nan]), np.array([0.95]), 0.95)
    assert band == copy.deepcopy(band)
    assert band != MassBand(np.array([0.9]), np.array([0.8]), np.array([0.95]), 0.95)
    assert Detection(np.array([True]), np.array([0.1]), 0.1, 0.2) != Detection(
        np.array([False]), np.array([0.1]), 0.1, 0.2
    )


def test_copies_pass_through_the_constructor():
    assert pickle.loads(pickle.dumps(Pair(np.arange(3.0)))) == Pair(np.arange(3.0))
    with pytest.raises(ValueError, match="finite"):
        object.__new__(Pair).__setstate__({"numbers": np.array([np.nan]), "name": "a"})
    with pytest.raises(TypeError):
        object.__new__(Pair).__setstate__({"numbers": np.arange(3.0), "surplus": 1})


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ([1.0], "got list"),
        (np.ones((2, 2)), r"shape \(2, 2\)"),
        (np.ones(2, np.float32), "float32"),
        (np.ones(3), "length 2; got 3"),
        (np.array([1.0, np.inf]), "finite"),
    ],
)
def test_what_is_wrong_is_said(value, match):
    with pytest.raises(ValueError, match=match):
        checked_array("Owner", "field", value, 1, length=2)


def test_checked_arrays_are_read_only_views():
    given = np.ones(2)
    with pytest.raises(ValueError, match="read-only"):
        checked_array("Owner", "field", given, 1)[0] = 2.0
    given[0] = 2.0  # what the caller holds is not touched
