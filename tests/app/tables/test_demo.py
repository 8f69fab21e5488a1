import csv
import errno
import os

import numpy as np
import pytest

from mvset.app.tables.demo import COLUMNS, pump_readings, write_tables


def test_tables_as_a_logger_writes_them(tmp_path):
    normal, today = write_tables(tmp_path / "deep")
    with normal.open(newline="") as text:
        rows = list(csv.DictReader(text))
    assert list(rows[0]) == ["time", "load", *COLUMNS]
    assert len(rows) == 1500
    assert rows[1]["time"] == "2026-03-01T00:10:00"
    np.testing.assert_allclose([float(rows[7][name]) for name in COLUMNS], pump_readings(1500, seed=0)[7], atol=5e-4)
    assert len(today.read_text().splitlines()) == 401


def test_a_worn_bearing_shakes_and_runs_hot():
    good, worn = pump_readings(400, seed=1), pump_readings(400, worn_from=360, seed=1)
    np.testing.assert_array_equal(good[:360], worn[:360])
    np.testing.assert_array_equal(good[:, :2], worn[:, :2])
    np.testing.assert_allclose(worn[380:, 2:] - good[380:, 2:], np.tile([5.0, 0.9], (20, 1)))


def test_tables_are_written_as_a_whole(tmp_path, monkeypatch):
    write_tables(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_tables(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
