import pytest

from mvset.app.tables.columns import split_names
from mvset.app.tables.errors import exclude_option, quoted


@pytest.mark.parametrize(
    ("names", "option"),
    [
        (["time", "pump"], "--exclude time,pump"),
        (["a b", "c"], "--exclude 'a b,c'"),
        (["a,b", "[c]"], "--exclude a,b --exclude '[c]'"),
        ([""], "--exclude ''"),
    ],
)
def test_the_option_can_be_pasted_into_a_shell(names, option):
    assert exclude_option(names) == option


def test_options_are_split_into_column_names():
    names = ["a,b", "c", "d"]
    assert split_names(["a,b", "c"], names) == ["a,b", "c"]
    assert split_names(["c,d", "d"], names) == ["c", "d"]


def test_names_are_quoted():
    assert quoted(["a", "b\nc"]) == r"'a', 'b\nc'"


def test_a_sentence_names_some_of_many_columns():
    assert quoted(["a", "b"]) == "'a', 'b'"
    assert quoted(map(str, range(50))).endswith(", '49'")
    assert quoted(map(str, range(51))).endswith(", '39' and 11 more")
