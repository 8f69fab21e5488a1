import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import mvset as library
from mvset.metrics.detectors import detector_by_name

FIT = ("fit", "normal.csv", "--exclude", "id", "--out", "m.mvset", "--detector")
NAMES = ("gaussian", "iforest", "lof", "knn")


@pytest.mark.parametrize("name", NAMES)
def test_another_score_has_the_same_machinery(mvset, folder, name):
    """Flow and pressure are correlated: drifted rows break that, and have answers, reasons and a verdict."""
    done = mvset(*FIT, name)
    assert done.exit_code == 0, done.stderr
    assert f"detector  {' → '.join(repr(step) for _, step in detector_by_name(name).steps)}" in done.stdout
    model = library.load("m.mvset")
    assert type(model) is library.CalibratedSet
    assert list(model.feature_names_in_) == ["flow", "pressure"]
    rows = pa.csv.read_csv("drifted.csv").select(["flow", "pressure"]).to_pandas()
    assert "verdict   Unusual" in mvset("score", "m.mvset", "drifted.csv", "--out", "scores.parquet").stdout
    scores = pa.parquet.read_table("scores.parquet")
    np.testing.assert_allclose(scores["score"], model.score_samples(rows), rtol=1e-12)
    np.testing.assert_array_equal(scores["inside"], model.predict(rows) == 1)
    assert set(scores["top_feature"].to_pylist()) == {None, "flow", "pressure"}
    assert mvset("report", "m.mvset", "today.csv").exit_code == 0
    Path("incoming").mkdir()
    Path("drifted.csv").rename("incoming/drifted.csv")
    assert "Unusual" in mvset("watch", "m.mvset", "incoming", "--out-dir", "out", "--once").stdout
    detector = json.loads(mvset("info", "m.mvset", "--json").stdout)["detector"]
    assert f"detector  {detector}\n" in done.stdout


def test_rows_in_time_order_are_held_out_in_blocks(mvset, folder):
    table = pa.csv.read_csv("normal.csv").append_column("t", pa.array(range(400)))
    pa.csv.write_csv(table, "times.csv")
    assert mvset("fit", "times.csv", "--exclude", "id", "--time", "t", "--detector", "knn", "--out", "t").exit_code == 0
    assert library.load("t").time_order


def test_groups_are_held_out_together(mvset, folder):
    pa.csv.write_csv(pa.csv.read_csv("normal.csv").append_column("m", pa.array(np.arange(400) // 40)), "machines.csv")
    done = mvset("fit", "machines.csv", "--exclude", "id", "--group", "m", "--detector", "gaussian", "--out", "m")
    assert done.exit_code == 0
    rows = pa.csv.read_csv("normal.csv").select(["flow", "pressure"]).to_pandas()
    alone = library.CalibratedSet(detector_by_name("gaussian"), random_state=0)
    alone.fit(rows.to_numpy(), groups=np.arange(400) // 40)
    np.testing.assert_allclose(library.load("m").score_samples(rows), alone.score_samples(rows.to_numpy()))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--scaling", "whiten"), "--scaling does not work with --detector lof: leave one of them out."),
        (("--calibration", "pac"), "--calibration does not work with --detector lof: leave one of them out."),
        (("--strata", "id"), "--strata does not work with --detector lof: leave one of them out."),
        (("--categories", "flow"), "--categories does not work with --detector lof: leave one of them out."),
        (("--missing", "impute"), "--missing impute does not work with --detector lof: use --missing drop."),
    ],
)
def test_what_other_detectors_do_not_have_is_refused(refused, options, said):
    assert said in refused(*FIT, "lof", *options, code=2)


def test_columns_of_text_are_named(refused, folder):
    modes = pa.array(["a", "b"] * 200)
    pa.csv.write_csv(pa.csv.read_csv("normal.csv").append_column("mode", modes), "modes.csv")
    said = refused("fit", "modes.csv", "--exclude", "id", "--out", "m.mvset", "--detector", "iforest")
    assert said == "The detector takes numbers only. Column mode is text: exclude with --exclude mode."


def test_a_graph_is_of_minimum_volume_sets_only(mvset, refused, folder):
    mvset(*FIT, "gaussian")
    assert "A MinimumVolumeSet is needed" in refused("export", "m.mvset", "--onnx", "m.onnx")
