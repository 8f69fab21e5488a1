import sys

import pytest

from fuzz.runner import TARGETS, run
from fuzz.toy import WAYS

CASES = 60


@pytest.mark.parametrize("target", [target for target in TARGETS if not target.startswith("dialect")])
def test_some_cases(target):
    report = run(target, range(CASES), seconds=60.0)
    assert report.failures == []
    assert report.n_cases == CASES
    assert len(report.outcomes) > 1


@pytest.mark.parametrize(("target", "cases"), [("dialects", 300), ("dialect_pairs", 150)])
def test_tables_in_many_dialects(target, cases):
    report = run(target, range(cases), seconds=60.0)
    assert report.failures == []
    assert report.n_cases == cases
    assert report.outcomes["refused: standard"] <= 0.05 * cases


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_the_runner_counts_every_way_to_fail():
    report = run("toy", range(7), seconds=2.0, megabytes=256)
    assert report.outcomes == {"passes": 2}
    expected = {"raises": "KeyError: 'toy'", "crashes": "exit status -6", "hangs": "took more than 2 s"}
    expected |= {"takes memory": "MemoryError", "exits": "exit status 0"}
    assert [seed for seed, _ in report.failures] == [seed for seed in range(7) if seed % len(WAYS)]
    for seed, what in report.failures:
        assert expected[WAYS[seed % len(WAYS)]] in what


def test_the_runner_stops_after_enough_failures():
    assert [seed for seed, _ in run("toy", range(1, 8), max_failures=1).failures] == [1]


def test_a_target_that_cannot_start():
    with pytest.raises(RuntimeError, match=r"No module named 'fuzz\.nothing'"):
        run("nothing", range(1))
