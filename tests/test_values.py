import copy
import pickle
from dataclasses import dataclass, field
from threading import Barrier, Thread

import numpy as np
import pytest

from mvset.results import Detection, MassBand
from mvset.values import ArrayValue, array_rule, cached_property, checked_array


@dataclass(frozen=True, eq=False)
class Pair(ArrayValue):
    numbers: np.ndarray = field(metadata=array_rule(1))
    limits: np.ndarray = field(
        default_factory=lambda: np.array([0.0, np.inf]),
        metadata=array_rule(1, length=lambda self: min(2, len(self.numbers)), infinite=True),
    )
    name: str = "a"

    def _check(self):
        self._require(self.name, ".name must not be empty.")


def test_values_are_equal_by_content():
    assert Pair(np.arange(3.0)) == Pair(np.arange(3.0))
    assert Pair(np.arange(3.0)) != Pair(np.arange(4.0))
    assert Pair(np.arange(3.0)) != Pair(np.arange(3.0), name="b")
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
    ("changes", "match"),
    [
        ({"numbers": np.arange(3)}, r"Pair\.numbers must be a float64 array of 1 dimension\(s\); got int64"),
        ({"numbers": np.array([0.0, np.inf])}, r"Pair\.numbers must be finite"),
        ({"limits": np.arange(3.0)}, r"Pair\.limits must have length 2; got 3"),
        ({"limits": np.array([0.0, np.nan])}, r"Pair\.limits must be free of NaN"),
        ({"name": ""}, r"Pair\.name must not be empty"),
    ],
)
def test_declared_parts_are_checked(changes, match):
    assert Pair(np.arange(3.0)).limits[1] == np.inf
    with pytest.raises(ValueError, match=match):
        Pair(**{"numbers": np.arange(3.0)} | changes)


def test_declared_arrays_are_read_only_copies():
    given = np.arange(3.0)
    pair = Pair(given)
    with pytest.raises(ValueError, match="read-only"):
        pair.numbers[0] = 2.0
    given[0] = 2.0  # what the caller holds is not touched
    assert pair.numbers[0] == 0.0


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


# ---------------------------------------------------------------- properties


def test_a_property_is_computed_once():
    class Counted:
        n = 0

        @cached_property
        def value(self):
            """A value."""
            self.n += 1
            return object()

    counted = Counted()
    assert counted.value is counted.value
    assert counted.n == 1
    assert Counted.value.__doc__ == "A value."


def test_threads_with_other_instances_do_not_wait():
    both = Barrier(2)

    class Waiting:
        @cached_property
        def value(self):
            return both.wait(timeout=30.0)  # for the other thread, which is here at the same time

    waiting = [Waiting(), Waiting()]
    threads = [Thread(target=lambda each=each: each.value, daemon=True) for each in waiting]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not both.broken
    assert sorted(each.value for each in waiting) == [0, 1]
