from __future__ import annotations

import pytest

from mvset.files import written_aside


def test_the_whole_file_or_none(tmp_path):
    path = tmp_path / "out.csv"
    with written_aside(path) as aside:
        aside.write_text("half")
        assert not path.exists()
        assert aside.parent == tmp_path
    assert path.read_text() == "half"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_was_there_stays_when_something_goes_wrong(tmp_path, error):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def write():
        with written_aside(path) as aside:
            aside.write_text("new")
            raise error

    with pytest.raises(error):
        write()
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("out.csv", "old")]


def test_a_folder_in_its_place_is_named(tmp_path):
    with pytest.raises(IsADirectoryError, match="Is a directory"), written_aside(tmp_path):
        pass
