import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mvset import MinimumVolumeSet
from mvset.app.summaries.scan import TableScan, written_levels
from mvset.app.tables import formats
from mvset.app.tables.errors import TableError
from mvset.app.tables.reading import TableReader
from mvset.app.tables.scoring import score_table
from mvset.app.tables.sources import table_files
from mvset.estimators.fitted_model import FittedModel

NAMES = ["x0", "x1"]


@pytest.fixture(scope="module")
def model():
    rows = np.random.default_rng(0).normal(size=(400, 2))
    return FittedModel.of(make_pipeline(StandardScaler(), MinimumVolumeSet(sigma=0.8, random_state=0)).fit(rows))


@pytest.fixture
def new(tmp_path):
    rows = np.random.default_rng(1).normal(scale=1.5, size=(100, 2))
    pa.parquet.write_table(pa.table({"x1": rows[:, 1], "x0": rows[:, 0]}), tmp_path / "t.parquet")
    return rows


def scored(model, folder, out, **options):
    reader = TableReader(table_files([str(folder / "t.parquet")]), NAMES, missing="drop")
    survey = TableScan(model, 0.9)
    score_table(reader, survey, out=out, **options)
    return survey.result()


def test_results_and_survey_agree_with_the_model(model, new, tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_BATCH", 9)
    result = scored(model, tmp_path, tmp_path / "s.parquet")
    written = pa.parquet.read_table(tmp_path / "s.parquet")
    prepared = model.prepared(new)
    assert written["inside"].to_pylist() == (model.estimator.predict(prepared, 0.9) == 1).tolist()
    levels = written_levels(model.estimator.level(prepared), model.sets.calibration.n_rows)
    np.testing.assert_array_equal(written["level"], levels)
    assert result.drift == model.estimator.check_drift(prepared, mass=0.9, false_alarm_rate=0.01)
    assert result.drift.n_outside == written["inside"].to_pylist().count(False)
    progress: list[float] = []
    again = scored(model, tmp_path, tmp_path / "outside.csv", only_outside=True, on_progress=progress.append)
    assert again.drift == result.drift
    assert len(pa.csv.read_csv(tmp_path / "outside.csv")) == result.drift.n_outside
    assert progress[-1] == 1.0


def test_no_rows_give_no_file(model, new, tmp_path):
    pa.parquet.write_table(pa.table({"x0": [np.nan], "x1": [1.0]}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"t\.parquet has no rows to score\."):
        scored(model, tmp_path, tmp_path / "s.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
