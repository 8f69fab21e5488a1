import sys

import pytest

from faults.quick import CASES
from faults.run import KINDS, run_kind

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Forks, and looks into /proc.")


def test_some_cases():
    report = run_kind("quick", range(len(CASES)))
    assert report.failures == []
    assert report.n_cases == len(CASES)
    assert {outcome.split(":")[0] for outcome in report.outcomes} == set(KINDS)
