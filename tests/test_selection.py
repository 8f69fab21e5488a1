from __future__ import annotations

import numpy as np

from mvset.curves import MassVolumeCurve
from mvset.selection import select_bandwidth

MASSES = np.array([0.9, 0.95])


def curve(sigma, area, hits=(50, 60), training_mass=0.6):
    zeros = np.zeros(2)
    return MassVolumeCurve(sigma, MASSES, zeros, zeros, zeros, np.array(hits), area, 0.1, training_mass)


def test_least_area_wins():
    assert select_bandwidth([curve(1, 3.0), curve(2, 1.0), curve(3, 2.0)]) == 1


def test_of_equal_areas_the_wider_wins_in_any_order():
    curves = [curve(1, 1.0), curve(2, 1.0), curve(3, 2.0)]
    assert curves[select_bandwidth(curves)].sigma == 2
    assert curves[::-1][select_bandwidth(curves[::-1])].sigma == 2


def test_a_bandwidth_that_fails_the_condition_on_nu_does_not_compete():
    assert select_bandwidth([curve(1, 0.5, training_mass=0.93), curve(2, 1.0, training_mass=0.9)]) == 1
    assert select_bandwidth([curve(1, 0.5, training_mass=0.93), curve(2, 0.0, hits=(0, 0))]) == 1


def test_unless_all_fail():
    assert select_bandwidth([curve(1, 0.5, training_mass=0.93), curve(2, 1.0, training_mass=0.99)]) == 0


def test_sets_that_no_point_hits_are_smaller_than_those_that_are_hit():
    none = {"hits": (0, 0), "area": 0.0}
    assert select_bandwidth([curve(1, **none), curve(2, **none), curve(3, **none), curve(4, 1.0)]) == 1
