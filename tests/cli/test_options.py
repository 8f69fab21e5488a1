from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize("written", ["0.8", "80", "80%", "80 %", "8e1", ".8"])
def test_a_mass_may_be_a_share_or_a_percentage(mvset, folder, written):
    result = json.loads(mvset("score", "model.mvset", "today.csv", "--mass", written, "--json").stdout)
    assert result["mass"] == 0.8


def test_a_percentage_is_converted_without_rounding(mvset, folder):
    assert 55.4 / 100 != 0.554
    assert json.loads(mvset("score", "model.mvset", "today.csv", "--mass", "55.4%", "--json").stdout)["mass"] == 0.554
