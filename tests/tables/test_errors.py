from __future__ import annotations

import pytest

from mvset.tables.errors import excluding, listed
from mvset.tables.reading import split_names


@pytest.mark.parametrize(
    ("names", "option"),
    [
        (["time", "pump"], "--exclude time,pump"),
        (["a b", "c"], "--exclude 'a b,c'"),
        (["a,b", "[c]"], "--exclude a,b --exclude '[c]'"),
        ([""], "--exclude ''"),
    ],
)
def test_the_option_is_as_it_is_typed(names, option):
    assert excluding(names) == option


def test_the_option_names_what_it_shall():
    names = ["a,b", "c", "d"]
    assert split_names(["a,b", "c"], names) == ["a,b", "c"]
    assert split_names(["c,d", "d"], names) == ["c", "d"]


def test_names_are_quoted():
    assert listed(["a", "b\nc"]) == r"'a', 'b\nc'"
