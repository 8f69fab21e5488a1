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


def test_a_set_without_hits_does_not():
    assert select_bandwidth([curve(1, 0.0, hits=(0, 0)), curve(2, 1.0)]) == 1
    assert select_bandwidth([curve(1, 0.5, hits=(0, 20)), curve(2, 1.0)]) == 1


def test_a_bandwidth_that_fails_the_condition_on_nu_does_not():
    assert select_bandwidth([curve(1, 0.5, training_mass=0.93), curve(2, 1.0, training_mass=0.9)]) == 1


def test_unless_all_fail():
    assert select_bandwidth([curve(1, 0.5, training_mass=0.93), curve(2, 1.0, training_mass=0.99)]) == 0


def test_without_any_measured_volume_the_most_hits_win():
    assert select_bandwidth([curve(1, 0.0, hits=(0, 0)), curve(2, 0.0, hits=(0, 3)), curve(3, 0, hits=(0, 1))]) == 1
    assert select_bandwidth([curve(1, 0.0, hits=(0, 0)), curve(2, 0.0, hits=(0, 0))]) == 1
