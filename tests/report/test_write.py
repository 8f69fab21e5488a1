from __future__ import annotations

import numpy as np
import pytest

from mvset import MinimumVolumeSet, write_report
from mvset.datasets import two_moons


def test_a_hundred_thousand_rows_make_a_small_file(tmp_path):
    model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(500, random_state=0))
    write_report(model, two_moons(100_000, random_state=1), tmp_path / "report.html", title="moons")
    page = (tmp_path / "report.html").read_text()
    assert (tmp_path / "report.html").stat().st_size < 8e6
    assert "Drawn is a random sample of 1500 of 100000 rows" in page


def test_frames_are_checked_by_name(model, rows, tmp_path):
    write_report(model, rows, tmp_path / "report.html")
    with pytest.raises(ValueError, match="feature names"):
        write_report(model, rows[rows.columns[::-1]], tmp_path / "other.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("mass", [0.0, 1.0, "a"])
def test_a_mass_that_is_none(model, rows, tmp_path, mass):
    with pytest.raises(ValueError, match="mass must be a number strictly between 0 and 1"):
        write_report(model, rows, tmp_path / "report.html", mass=mass)


def test_missing_values_are_named(model, rows, tmp_path):
    holed = rows.copy()
    holed.iloc[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        write_report(model, holed, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_the_same_report_twice(model, rows, tmp_path):
    for name in ("a.html", "b.html"):
        write_report(model, rows, tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
