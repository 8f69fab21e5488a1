"""Temporary files of tables that cannot be read in batches."""

import csv
import json
import sys
import zipfile
from datetime import date, datetime, time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mvset.app.tables.errors import TableError
from mvset.app.tables.spooling import remove_spooled, spool_json, spool_members, spool_path, spool_rows

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


def cells(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(TEXT, st.integers(), st.floats(allow_nan=False)), min_size=1, max_size=6))
def test_rows_are_read_back_exactly(rows):
    path = spool_rows(["a", "b", "c"], rows)
    header, *found = cells(path)
    path.unlink()
    assert header == ["a", "b", "c"]
    assert [(text, int(whole), float(number)) for text, whole, number in found] == rows


def test_other_values_become_text():
    values = [None, True, date(2026, 1, 2), datetime(2026, 1, 2, 3), time(4, 5), {"ä": 1}, [1, 2], b"\x00\xff"]
    expected = ["", "true", "2026-01-02", "2026-01-02T03:00:00", "04:05:00", '{"ä": 1}', "[1, 2]", "0x00ff"]
    assert cells(spool_rows(None, [values])) == [expected]


@settings(max_examples=40, deadline=None)
@given(objects=st.lists(st.dictionaries(st.sampled_from("abc"), TEXT, min_size=1), min_size=1, max_size=5))
def test_arrays_of_objects_are_read_back(objects):
    path = spool_json(json.dumps(objects), "t.json")
    header, *found = cells(path)
    path.unlink()
    assert header == list(dict.fromkeys(name for each in objects for name in each))
    assert found == [[each.get(name, "") for name in header] for each in objects]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("[1", "cannot be read"),
        ('{"a": 1}', "must be an array of objects"),
        ("[1, 2]", "must be an array of objects"),
    ],
)
def test_other_json_is_refused(text, said):
    with pytest.raises(TableError, match=rf"^t\.json .*{said}"):
        spool_json(text, "t.json")


def test_members_of_an_archive_cannot_leave_it(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("../../evil.csv", "x\n1\n")
        archive.writestr("/etc/evil.csv", "x\n2\n")
    found = dict(spool_members(tmp_path / "a.zip", "a.zip", lambda _: True))
    assert sorted(path.read_text() for path in found.values()) == ["x\n1\n", "x\n2\n"]
    assert {path.parent for path in found.values()} == {spool_path("").parent}


def test_temporary_files_can_be_removed():
    path = spool_path(".csv")
    assert path.suffix == ".csv"
    assert path.stat().st_mode & 0o077 == 0  # nobody else may read it
    remove_spooled()
    assert not path.parent.exists()
    assert spool_path("").parent != path.parent


@pytest.mark.skipif(sys.platform == "win32", reason="Files have no limit there.")
def test_a_full_disk_is_not_the_fault_of_the_table(tmp_path):
    import resource

    source = tmp_path / "a.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("a.csv", "x" * 100_000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for spool in (lambda: spool_rows(["x"], [["y" * 100_000]]), lambda: list(spool_members(source, "a.zip", bool))):
        folder = str(spool_path("").parent)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        try:
            with pytest.raises(OSError, match="File too large") as error:
                spool()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert error.value.filename == folder
    remove_spooled()
