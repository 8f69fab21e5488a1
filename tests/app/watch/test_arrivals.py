import os

import pytest

from mvset.app.watch.watcher import Arrivals, Version


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("mvset.app.watch.watcher.time.monotonic", lambda: now[0])
    return now


def test_a_file_is_complete_when_it_has_not_changed_for_long_enough(tmp_path, clock):
    arrivals, path = Arrivals(tmp_path, 2.0), tmp_path / "a.csv"
    assert arrivals.look({}) == ([], False)
    path.write_text("x\n")
    assert arrivals.look({}) == ([], True)
    clock[0] = 1.9
    path.write_text("x\n1\n")  # it grows
    assert arrivals.look({}) == ([], True)
    clock[0] = 3.0
    assert arrivals.look({}) == ([], True)
    os.utime(path, (5, 5))  # as large as before, and rewritten
    assert arrivals.look({}) == ([], True)
    clock[0] = 5.0
    assert arrivals.look({}) == (["a.csv"], False)
    assert arrivals.look({"a.csv": Version.of(path)}) == ([], False)


def test_a_file_that_comes_back_has_to_settle_again(tmp_path, clock):
    arrivals, path = Arrivals(tmp_path, 2.0), tmp_path / "a.csv"
    path.write_text("x\n")
    os.utime(path, (5, 5))
    arrivals.look({})
    path.unlink()
    clock[0] = 1.0
    assert arrivals.look({}) == ([], False)
    path.write_text("x\n")
    os.utime(path, (5, 5))
    clock[0] = 2.5
    assert arrivals.look({}) == ([], True)


def test_files_come_in_the_order_of_their_age_then_of_their_names(tmp_path, clock):
    for name, age in {"b.csv": 2, "a.csv": 2, "c.csv": 3, "day/d.csv": 1}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (100 - age, 100 - age))
    assert Arrivals(tmp_path, 0.0).look({}) == (["c.csv", "a.csv", "b.csv", "day/d.csv"], False)


def test_a_link_to_nothing_is_no_file(tmp_path, clock):
    (tmp_path / "a.csv").symlink_to("nowhere")
    assert Arrivals(tmp_path, 0.0).look({}) == ([], False)
