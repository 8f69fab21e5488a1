"""Warnings about volumes that rest on too few effective sample points."""

from __future__ import annotations

from mvset.exceptions import VolumeWarning, warn
from mvset.volume.measure import VolumeEstimate, VolumeSample
from mvset.volume.sampler import SUFFICIENT

_LARGE_ERROR = 0.1  # relative standard error: twice what a sufficient number of points gives


def warn_if_unreliable(volume: VolumeEstimate, sample: VolumeSample, largest: str, option: str) -> None:
    """Warn if the volume of the largest set rests on too few points, or if independent draws of them disagree."""
    if volume.effective_sample_size < SUFFICIENT:
        message = unreliable(volume.effective_sample_size, len(sample.points), sample.method, largest)
    elif volume.standard_error > _LARGE_ERROR * volume.value:
        message = (
            f"The volumes are unreliable: {sample.n_draws} independent draws of sample points ({sample.method}) "
            f"disagree about {largest}, by a standard error of {volume.standard_error / volume.value:.0%}. "
        )
    else:
        return
    warn(message + more_points(option, sample.method), VolumeWarning)


def unreliable(effective_sample_size: float, n_points: int, method: str, largest: str) -> str:
    """Sentence that says how many effective points there are."""
    return (
        f"The volumes are unreliable: of {n_points} sample points ({method}), the effective sample size in {largest} "
        f"is {effective_sample_size:.0f}; {SUFFICIENT} are needed. "
    )


def more_points(option: str, method: str) -> str:
    """Sentence that says what to do."""
    return f"Raise {option}" + (" or try 'auto'." if method == "box" else ".")
