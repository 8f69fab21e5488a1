from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from mvset import MinimumVolumeSet
from mvset.row_sample import RowSample
from mvset.tables import formats
from mvset.tables.fitting import fit_table
from mvset.tables.sources import table_files


@pytest.fixture
def table(tmp_path):
    rows = np.random.default_rng(0).normal([40.0, 4.0], [2.0, 0.1], size=(300, 2))
    pa.parquet.write_table(pa.table({"flow": rows[:, 0], "pressure": rows[:, 1]}), tmp_path / "t.parquet")
    return rows, table_files([str(tmp_path)])


def estimator():
    return MinimumVolumeSet(sigma=0.8, metric="standard", random_state=0)


def test_the_model_is_that_of_the_same_rows_in_python(table):
    rows, files = table
    fitted = fit_table(files, estimator(), max_rows=1000, seed=0)
    expected = estimator().fit(rows)
    frame = pd.DataFrame(rows, columns=["flow", "pressure"])
    np.testing.assert_array_equal(fitted.model.score_samples(frame), expected.score_samples(rows))
    assert fitted.columns == list(fitted.model.feature_names_in_) == ["flow", "pressure"]
    assert (fitted.n_rows, fitted.n_used, fitted.n_dropped) == (300, 300, 0)


def test_a_sample_does_not_depend_on_batches(table, monkeypatch):
    rows, files = table
    sample = RowSample(100, seed=3)
    sample.add(rows)
    expected = estimator().fit(sample.rows()).support_vectors_
    for size in (1000, 7):
        monkeypatch.setattr(formats, "_BATCH", size)
        fitted = fit_table(files, estimator(), max_rows=100, seed=3)
        assert (fitted.n_rows, fitted.n_used) == (300, 100)
        np.testing.assert_array_equal(fitted.model[-1].support_vectors_, expected)


def test_reading_and_fitting_are_reported(table):
    _, files = table
    read, solved = [], []
    fit_table(
        files,
        MinimumVolumeSet(sigma=[0.6, 0.8], random_state=0),
        max_rows=1000,
        seed=0,
        on_read=read.append,
        on_fit=lambda done, total: solved.append((done, total)),
    )
    assert read[-1] == 1.0
    assert solved == [(0, 2), (1, 2)]  # as each begins
