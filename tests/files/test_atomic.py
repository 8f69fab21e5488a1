from __future__ import annotations

import os

import pytest

from mvset.files.atomic import atomic_write


def test_the_whole_file_or_none(tmp_path):
    path = tmp_path / "out.csv"
    with atomic_write(path) as aside:
        aside.write_text("half")
        assert not path.exists()
        assert aside.parent == tmp_path
    assert path.read_text() == "half"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_the_old_file_stays_on_failure(tmp_path, error):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def write():
        with atomic_write(path) as aside:
            aside.write_text("new")
            raise error

    with pytest.raises(error):
        write()
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("out.csv", "old")]


def test_a_folder_of_this_name_is_an_error(tmp_path):
    with pytest.raises(IsADirectoryError, match="Is a directory"), atomic_write(tmp_path):
        pass


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_write(tmp_path / "link") as aside:
        aside.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="Not a regular file"), atomic_write(tmp_path / "pipe"):
        pass
    assert (tmp_path / "pipe").is_fifo()


def test_errors_name_the_file_that_the_caller_knows(tmp_path):
    with pytest.raises(FileNotFoundError) as error, atomic_write(tmp_path / "none" / "out.csv") as aside:
        aside.write_text("x")
    assert error.value.filename == str(tmp_path / "none" / "out.csv")
