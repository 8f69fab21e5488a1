"""Every promise about mass, held against the truth in a thousand draws of each case. Slow: `make test-all`."""

from __future__ import annotations

import numpy as np
import pytest

from simulations import DISTRIBUTIONS, SIZES, broken_promises, simulate

N_DRAWS = 1000


@pytest.mark.slow
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_promises_are_kept(name, n):
    assert broken_promises(simulate(name, n, N_DRAWS), N_DRAWS) == []


def test_broken_promises_are_noticed(monkeypatch):
    """A few draws, tampered with."""
    monkeypatch.setattr("simulations.N_FRESH", 10_000)
    found = simulate("Gaussian", 200, 20, n_jobs=1)
    assert broken_promises(found, 20) == []
    lied = dict(found)
    lied["conformal", "mass", 0.9] = np.full(20, 0.85)
    lied["pac", "mass", 0.8] = np.full(20, 0.7)
    lied["conformal", "band"] = np.zeros(20)
    lied["conformal", "drift"] = np.ones(20)
    lied["conformal", "p"] = np.full(20, 0.06)
    said = [text.split()[0] for text in broken_promises(lied, 20)]
    assert said == ["pac", "conformal", "p", "conformal", "band"]
