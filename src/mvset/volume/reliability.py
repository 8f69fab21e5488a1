"""Warnings about volumes that rest on too few effective sample points."""

from __future__ import annotations

from mvset.exceptions import VolumeWarning, warn
from mvset.volume.measure import VolumeSample
from mvset.volume.sampler import SUFFICIENT


def warn_if_unreliable(effective_sample_size: float, sample: VolumeSample, largest: str, option: str) -> None:
    """Warn if the effective sample size in the largest set is too small for its volume to be reliable."""
    if effective_sample_size < SUFFICIENT:
        message = unreliable(effective_sample_size, len(sample.points), sample.method, largest)
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
