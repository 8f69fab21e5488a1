import pytest

from mvset.inference.results import DriftResult, MassInterval


def test_an_interval_prints_with_its_confidence():
    assert str(MassInterval(0.9, 0.85, 0.94, 0.99, 100, 80.0)) == "0.900 (0.850 to 0.940 with 99 % confidence)"


@pytest.mark.parametrize(
    ("drifted", "outside", "verdict"),
    [
        (False, 4, "no sign of drift."),
        (False, 9, "no sign of drift."),
        (True, 9, ": drift."),
        (True, 5, ": drift."),
        (True, 4, "drift, or rows of the fit itself, which lie further inside."),
    ],
)
def test_a_report_prints_its_verdict(drifted, outside, verdict):
    share = outside / 100
    report = DriftResult(drifted, 100, 100.0, outside, share, (0.0, 1.0), 0.05, (0.0, 1.0), 0.5, 0.25, 0.01)
    start = f"{outside} of 100 rows outside, {share:.2%} where 5.00% were expected (p = 0.5 by the share, 0.25 by the "
    assert str(report).startswith(start)
    assert str(report).endswith(verdict)
    assert bool(report) is drifted
