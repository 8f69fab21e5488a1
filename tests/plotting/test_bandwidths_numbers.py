import warnings
from dataclasses import replace

import numpy as np

from mvset import MinimumVolumeSet
from mvset.paper.datasets import two_moons
from mvset.plotting.numbers import BandwidthComparison

SIGMAS = [0.1, 0.15, 0.2, 0.3, 0.5]


def test_volumes_are_relative_to_the_smallest_and_show_the_choice(moons):
    model = MinimumVolumeSet(sigma=[0.1, 0.2, 0.4, 0.8], splits=5, random_state=0).fit(moons)
    compared = BandwidthComparison.of(model.selection_)
    assert compared.values[compared.eligible].min() == 1.0
    chosen = compared.sigmas.tolist().index(model.sigma_)
    assert compared.values[chosen] <= 1.0 + compared.errors[chosen] + 1e-3  # exp(x) is 1 + x nearly
    mean_log = np.array([curve.mean_log_volume for curve in model.curves_])
    np.testing.assert_allclose(np.diff(np.log(compared.values)), np.diff(mean_log), atol=1e-4)  # too far to smooth


def test_what_cannot_be_drawn_is_left_out(moons):
    selection = MinimumVolumeSet(sigma=[0.1, 0.2, 0.6], splits=3, random_state=0).fit(moons).selection_
    partly = replace(selection, values=np.array([-np.inf, 1.0, np.inf]), eligible=np.array([False, True, True]))
    compared = BandwidthComparison.of(partly)
    assert compared.sigmas.tolist() == [0.2]
    assert compared.values.tolist() == [1.0]
    nothing = BandwidthComparison.of(replace(selection, values=np.full(3, -np.inf)))
    assert len(nothing.sigmas) == 0


def test_a_candidate_that_cannot_be_compared_is_not_drawn_below_the_choice():
    X = two_moons(300, random_state=0)
    X[0] = 1e6  # the box is hardly hit by the sets of narrow bandwidths
    with warnings.catch_warnings(action="ignore"):
        model = MinimumVolumeSet(splits=3, random_state=0).fit(X)
    compared = BandwidthComparison.of(model.selection_)
    assert compared.values[compared.eligible].min() == 1.0
    chosen = compared.sigmas.tolist().index(model.sigma_)
    assert compared.values[chosen] <= 1.0 + compared.errors[chosen] + 1e-3
