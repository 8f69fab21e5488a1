import errno
import os

import pytest

from mvset.files.atomic import atomic_write, remove_unfinished


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


def test_two_writers_of_one_process_number_do_not_share_a_temporary_file(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 1)  # as in two containers; two threads have the same one anyway
    with atomic_write(tmp_path / "out") as first, atomic_write(tmp_path / "out") as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("out", "first")]


def test_a_folder_that_is_lost_is_the_error_that_is_raised(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "the temporary file")

    monkeypatch.setattr(type(tmp_path), "unlink", fail)
    with pytest.raises(OSError, match="No space left") as error, atomic_write(tmp_path / "out"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert error.value.filename == str(tmp_path / "out")


def test_files_of_a_process_that_was_forked_are_its_own(tmp_path, monkeypatch):
    writing = atomic_write(tmp_path / "out")
    aside = writing.__enter__()
    aside.write_text("half")
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 1)
        remove_unfinished()
    assert aside.exists()
    writing.__exit__(None, None, None)
    assert (tmp_path / "out").read_text() == "half"
