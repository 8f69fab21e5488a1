import warnings

import numpy as np
import pytest

from mvset.exceptions import VolumeWarning
from mvset.volume.measure import VolumeEstimate, VolumeSample
from mvset.volume.reliability import warn_if_unreliable
from mvset.volume.sampler import SUFFICIENT

SAMPLE = VolumeSample(np.zeros((1000, 2)), np.zeros(1000), 1000, "importance", 4)


def volume(size, error):
    return VolumeEstimate(2.0, 2.0 * error, np.log(2.0), 900, size, "importance")


def test_few_effective_points_warn():
    expected = r"the effective sample size in the set is 399; 400 are needed\. Raise n\.$"
    with pytest.warns(VolumeWarning, match=expected):
        warn_if_unreliable(volume(SUFFICIENT - 0.6, 0.01), SAMPLE, "the set", "n")


def test_draws_that_disagree_warn():
    expected = (
        r"4 independent draws of sample points \(importance\) disagree about the set, by a standard error of 11%\. "
    )
    with pytest.warns(VolumeWarning, match=expected):
        warn_if_unreliable(volume(SUFFICIENT, 0.11), SAMPLE, "the set", "n")


def test_enough_points_that_agree_do_not_warn():
    with warnings.catch_warnings(action="error"):
        warn_if_unreliable(volume(SUFFICIENT, 0.1), SAMPLE, "the set", "n")
