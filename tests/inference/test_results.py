import pytest

from mvset.inference.results import ColumnChange, DriftResult, MassInterval


def test_an_interval_prints_with_its_confidence():
    assert str(MassInterval(0.9, 0.85, 0.94, 0.99, 100, 80.0)) == "0.900 (0.850 to 0.940 with 99 % confidence)"


def result(**changes):
    facts = {
        "drifted": False,
        "is_testable": True,
        "n_rows": 100,
        "n_outside": 4,
        "share_outside": 0.04,
        "share_interval": (0.0, 1.0),
        "expected_share": 0.05,
        "expected_interval": (0.0, 1.0),
        "effective_rows": 100.0,
        "calibration_rows": 400,
        "effective_calibration_rows": 400.0,
        "share_p_value": 0.5,
        "distribution_p_value": 0.25,
        "columns_p_value": 0.125,
        "sums_p_value": 0.75,
        "changed_columns": (),
        "wandering_columns": (),
        "false_alarm_rate": 0.01,
    }
    return DriftResult(**facts | changes)


FLOW = ColumnChange("flow", 1e-9, (5.0, 5.5, 6.0), (1.0, 1.25, 2.0))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        ({}, "No sign of drift"),
        ({"n_outside": 9, "share_outside": 0.09}, "No sign of drift"),
        ({"drifted": True, "n_outside": 9, "share_outside": 0.09}, "Drift"),
        ({"drifted": True, "n_outside": 5, "share_outside": 0.05}, "Drift"),
        ({"drifted": True}, "Drift, or rows of the fit itself, which lie further inside"),
        ({"drifted": True, "changed_columns": (FLOW,)}, "Drift"),
        (
            {"is_testable": False, "effective_rows": 2.0, "effective_calibration_rows": 17.2},
            "It cannot be told whether there is drift, because the rows count for 2 independent rows and the 400 "
            "calibration rows for 17",
        ),
    ],
)
def test_a_report_begins_with_its_verdict(facts, verdict):
    report = result(**facts)
    share = f"{report.n_outside} of 100 rows lie outside ({report.share_outside:.2%}, normally 5.00%)"
    assert str(report).startswith(f"{verdict}. {share}. ")
    p_values = "0.5 by the share, 0.25 by the levels, 0.12 by the columns, 0.75 by the sums of columns"
    assert f"P-values: {p_values}." in str(report)
    assert bool(report) is report.drifted


def test_a_report_names_the_columns_that_changed():
    report = result(drifted=True, changed_columns=(FLOW,))
    assert "Column flow is 5.5 (median) and was 1.25; half of its values lie from 5 to 6, and lay from 1 to 2." in str(
        report
    )
    assert str(result(drifted=True, changed_columns=(FLOW,) * 5)).count("flow") == 3
    assert " 2 more columns changed." in str(result(drifted=True, changed_columns=(FLOW,) * 5))


def test_a_p_value_is_never_zero():
    assert "below 1e-12 by the columns, " in str(result(drifted=True, columns_p_value=0.0))
