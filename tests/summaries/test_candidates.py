from __future__ import annotations

from dataclasses import replace

import numpy as np

from mvset import MinimumVolumeSet
from mvset.summaries.candidates import Candidates


def test_columns_are_those_of_the_curves(moons):
    curves = MinimumVolumeSet(sigma=[0.2, 0.3], n_splits=3, random_state=0).fit(moons).curves_
    tried = Candidates.of(curves)
    assert tried.sigmas.tolist() == [0.2, 0.3]
    assert tried.areas.tolist() == [curve.area for curve in curves]
    assert tried.errors.tolist() == [curve.area_error for curve in curves]
    assert tried.valid.tolist() == [True, True]


def test_what_cannot_be_drawn_is_left_out(moons):
    curve = MinimumVolumeSet(sigma=0.3, n_splits=3, random_state=0).fit(moons).curves_[0]
    tried = Candidates.of([replace(curve, area=np.inf), curve, replace(curve, area=0.0, training_mass=1.0)])
    assert tried.valid.tolist() == [True, True, False]
    assert tried.measured().areas.tolist() == [curve.area]
    assert len(Candidates.of([]).measured().sigmas) == 0
