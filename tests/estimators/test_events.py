import json
import warnings

import numpy as np
import pandas as pd
import pytest

from mvset import CalibratedSet, MinimumVolumeSet
from mvset.estimators.events import Beyond, Findings
from mvset.exceptions import CalibrationWarning
from mvset.inference.timeline import Times
from mvset.metrics.detectors import detector_by_name

NAMES = ["flow", "pressure", "heat"]


def rows(n, seed):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, 3)), columns=NAMES)


@pytest.fixture(scope="module")
def model():
    return MinimumVolumeSet(sigma=1.0, random_state=0).fit(rows(600, 0))


@pytest.fixture(scope="module")
def failures():
    """Two failures of 30 rows."""
    X = rows(2000, 1)
    X.loc[500:529, "pressure"] += 6.0
    X.loc[1400:1429, "heat"] -= 6.0
    return X


def test_failures_are_listed_with_their_columns(model, failures):
    found = model.events(failures)
    assert found.status == "unusual"
    first, second = found.events
    assert abs(first.start.row - 500) <= 3
    assert abs(first.end.row - 529) <= 3
    assert (first.columns[0].name, first.columns[0].direction) == ("pressure", "above")
    assert (second.columns[0].name, second.columns[0].direction) == ("heat", "below")
    assert first.columns[0].value == pytest.approx(6.0, abs=1.0)
    assert abs(first.columns[0].normal) < 3.5
    assert first.start.row <= first.peak.row <= first.end.row
    assert first.by_chance < 1e-6
    text = str(found)
    assert text.startswith("Unusual. There are 2 events. From row ")
    assert "lie outside (pressure " in text
    assert repr(found) == text


def test_events_as_a_frame_and_as_json(model, failures):
    found = model.events(failures, pd.date_range("2026-01-01", periods=2000, freq="min"))
    frame = found.to_frame()
    assert list(frame.columns) == ["start", "end", "peak", "n_rows", "n_outside", "by_chance", "columns"]
    assert frame["start"][0].startswith("2026-01-01 08:")
    assert len(model.events(rows(100, 2)).to_frame()) == 0
    assert json.loads(json.dumps(found.to_dict()))["events"][1]["columns"][0]["name"] == "heat"
    assert "(" not in str(found.without_values().events[0].columns[0])


def test_rows_are_taken_in_the_order_of_their_times(model, failures):
    order = np.random.default_rng(0).permutation(2000)
    by_row, by_time = model.events(failures), model.events(failures.iloc[order], order.astype(float))
    assert [each.times for each in by_time.events] == [(e.start.row, e.end.row) for e in by_row.events]
    assert by_time.events[0].start.row == np.flatnonzero(order == by_row.events[0].start.row)[0]


def test_normal_rows_have_nothing_unusual(model):
    found = [model.events(rows(300, 10 + seed)) for seed in range(40)]
    assert sum(each.status == "unusual" for each in found) <= 3
    assert sum(len(each.events) for each in found) <= 1
    text = str(next(each for each in found if each.status == "nothing unusual found"))
    assert text.startswith("Nothing unusual found. ")
    assert text.endswith("normally 4.83%).")


def test_too_few_rows_cannot_tell(model):
    found = model.events(rows(1, 3))
    assert found.status == "cannot tell"
    assert str(found).startswith(
        "Cannot tell, because the rows count for 1 independent row and the 600 calibration rows for "
    )


def test_single_rows_beyond_everything_are_reported(model):
    X = rows(400, 4)
    X.iloc[[100, 300]] = 30.0
    found = model.events(X)
    assert (found.n_beyond, found.first_beyond.row) == (2, 100)
    assert found.status == "cannot tell"
    assert "2 rows lie far beyond everything seen in the fit, the first of them row 100." in str(found)
    X.iloc[300] = 0.0
    assert "Row 100 lies far beyond" in str(model.events(X))


def test_drift_without_events(model):
    found = model.events(rows(300, 5) + np.array([0.5, 0.0, 0.0]))
    assert (found.status, found.events) == ("unusual", ())
    assert str(found).startswith("Unusual. Drift")
    assert "Column flow is 0." in str(found)


def test_a_detector_has_events_too():
    detector = CalibratedSet(detector_by_name("knn"), random_state=0).fit(rows(300, 6).to_numpy())
    X = rows(300, 7).to_numpy().copy()
    X[200:215, 1] = 8.0
    (event,) = detector.events(X).events
    assert event.columns[0].name == "x1"


def test_categories_and_missing_values():
    rng = np.random.default_rng(8)

    def table(n):
        return pd.DataFrame({"flow": rng.normal(size=n), "valve": pd.Categorical(rng.choice(["open", "shut"], n))})

    model = MinimumVolumeSet(sigma=1.0, random_state=0, missing="impute").fit(table(500))
    X = table(400)
    X["valve"] = X["valve"].astype(object)
    X.loc[50:70, "valve"] = "stuck"
    X.loc[0, "flow"] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (event,) = model.events(X).events
    assert str(event.columns[0]).startswith("valve a value not seen before, normal would be ")


def test_strata_have_their_own_levels():
    rng = np.random.default_rng(9)
    widths = np.repeat([1.0, 5.0], 300)
    X = rng.normal(size=(600, 2)) * widths[:, np.newaxis]
    sites = np.repeat(["a", "b"], 300)
    model = MinimumVolumeSet(sigma=1.0, random_state=0).fit(X, strata=sites)
    wide = rng.normal(size=(200, 2)) * 5.0
    assert model.events(wide, strata=np.repeat("b", 200)).events == ()
    assert model.events(wide, strata=np.repeat("a", 200)).status == "unusual"


@pytest.mark.parametrize(
    ("times", "problem"),
    [
        (np.arange(3.0), "one for each row"),
        (["a"] * 5, "one for each row|could not convert"),
        (np.array(["NaT"] * 5, dtype="datetime64[s]"), "no value for 5 rows, the first of them row 0"),
        (np.array([0.0, 1.0, np.nan, 3.0, 4.0]), "no value for 1 row, the first of them row 2"),
    ],
)
def test_times_that_are_none_are_refused(model, times, problem):
    with pytest.raises(ValueError, match=problem):
        model.events(rows(5, 0), times)


def test_times_of_any_kind():
    days = pd.date_range("2026-03-01", periods=3, tz="Europe/Paris")
    utc = Times.of(days.tz_localize(None).to_numpy(), 3)
    assert utc.kind == "date"
    zoned = Times.of(pd.Series(days), 3)
    assert zoned.kind == "date UTC"
    np.testing.assert_array_equal(utc.values - zoned.values, 3.6e9)
    assert Times.of(list(days.tz_localize(None).to_pydatetime()), 3).values.tolist() == utc.values.tolist()
    assert Times.of([1, 2, 3], 3).kind == "number"


def test_rows_beyond_are_counted_in_parts(model):
    scores = np.array([0.0, -1e9, 0.0, -1e9, -1e9])
    whole, first, second = (Beyond.of(model.sets_.calibration) for _ in range(3))
    places = np.arange(5)
    whole.add(scores, places, None)
    second.add(scores[2:], places[2:], None)
    first.add(scores[:2], places[:2], None)
    second.merge(first)
    assert second == whole
    assert (whole.n_rows, whole.first) == (3, (1.0, 1))


def test_flagging_nothing_because_rows_are_too_few_is_said(model):
    X = rows(1000, 11)
    X.iloc[500] = 30.0
    with pytest.warns(
        CalibrationWarning,
        match=r"600 calibration rows are too few to flag any row, .* below 0\.0017\.",
    ):
        assert not model.detect(X, fdr=0.1).flagged.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.detect(X.iloc[450:500], fdr=0.1)


def test_a_mass_beyond_what_independent_rows_resolve_is_said():
    series = np.zeros((1500, 2))
    for i, step in enumerate(np.random.default_rng(12).normal(size=(1500, 2))):
        series[i] = 0.9 * series[i - 1] + step
    with pytest.warns(CalibrationWarning, match="1500 held-out rows count for .*, too few to resolve mass=0.998"):
        MinimumVolumeSet(mass=0.998, sigma=2.0, splits=5, time_order=True, random_state=0).fit(series)


def test_findings_are_typed(model):
    assert isinstance(model.events(rows(50, 0)), Findings)
