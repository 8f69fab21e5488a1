"""The exact guarantees about mass, held against the truth in many draws of each case. Slow: `make test-all`."""

import numpy as np
import pytest

from simulations import DISTRIBUTIONS, broken_guarantees, simulate

N_DRAWS = 200


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["conformal", "pac"])
@pytest.mark.parametrize("name", list(DISTRIBUTIONS)[:5])
def test_guarantees_are_kept(name, mode):
    assert broken_guarantees(simulate(DISTRIBUTIONS[name], 200, N_DRAWS, mode), mode, N_DRAWS) == []


@pytest.mark.parametrize("mode", ["conformal", "pac"])
def test_broken_guarantees_are_noticed(mode, monkeypatch):
    """A few draws, tampered with."""
    monkeypatch.setattr("simulations.N_FRESH", 5000)
    found = simulate(DISTRIBUTIONS["Gaussian"], 200, 20, mode, n_jobs=1, sigma=1.0, splits=3)
    assert broken_guarantees(found, mode, 20) == []
    lied = found | {
        ("mass", 0.8): np.full(20, 0.7),
        "p": np.full(20, 0.06),
        "monitor": np.ones(20),
        "band": np.zeros(20),
    }
    said = [text.split()[0] for text in broken_guarantees(lied, mode, 20)]
    assert said == [{"conformal": "coverage", "pac": "failures"}[mode], "p", "monitor", "band"]
