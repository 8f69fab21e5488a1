"""Steps 7 to 9 for all bandwidths: common sample points, a curve for each, the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mvset.bandwidth.choice import describes_masses, select_bandwidth, valid_bandwidths
from mvset.bandwidth.curves import BandwidthCurve, bandwidth_curve
from mvset.calibration.level_sets import KernelExpansion, LevelSets
from mvset.parallel import Map
from mvset.volume.importance import Membership
from mvset.volume.measure import VolumeSample
from mvset.volume.sampler import SUFFICIENT, VolumeSampler

_ROUGH = 0.1  # share of the points that find out for which set to draw all of them


@dataclass(frozen=True)
class Candidate:
    """One bandwidth's nested sets, and the share of its training rows inside the unshifted set."""

    level_sets: LevelSets[KernelExpansion]
    training_mass: float

    @property
    def sigma(self) -> float:
        """The bandwidth."""
        return self.level_sets.function.sigma

    def largest_set(self, masses: NDArray[np.float64], run: Map) -> Membership:
        """Which points lie in the set of the largest mass."""
        return lambda points: np.asarray(self.level_sets.function(points, run) >= self.level_sets.offset(masses[-1]))


@dataclass(frozen=True)
class Selection:
    """How the bandwidth was chosen.

    Attributes
    ----------
    criterion : {"given", "volume", "feature subsets", "middle"}
        "volume": the widest bandwidth whose sets are as small as the smallest, up to the standard error. "feature
        subsets": the same in the mean over random subsets of the columns, because too few effective points reached the
        sets to compare their volumes in all columns. "middle": the middle candidate, because no point reached some of
        the sets. "given": there was only one.
    reason : str
        The same in a sentence, with the numbers.
    volume_method : {"box", "importance"}
        How the sample points were drawn.
    n_points : int
        How many.
    effective_sample_size : float
        How many equally weighted points those in the largest set of the curve are worth.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.datasets import paper_mixture
    >>> selection = MinimumVolumeSet(random_state=0).fit(paper_mixture(10).sample(300, random_state=0)).selection_
    >>> selection.criterion, selection.volume_method, selection.effective_sample_size > 1000
    ('volume', 'importance', True)
    """

    criterion: str
    reason: str
    volume_method: str
    n_points: int
    effective_sample_size: float


@dataclass(frozen=True)
class Ranking:
    """The common points, the candidates' scores there and their curves, the index of the best, and why."""

    probe: VolumeSample
    scores: dict[float, NDArray[np.float64]]  # by bandwidth
    curves: list[BandwidthCurve]
    best: int
    selection: Selection


def fails_after_success(candidates: Sequence[Candidate], masses: NDArray[np.float64]) -> bool:
    """Whether the last candidate fails the condition on ν where an earlier one met it."""
    met = [describes_masses(candidate.training_mass, masses) for candidate in candidates]
    return any(met) and not met[-1]


def rank_bandwidths(
    candidates: Sequence[Candidate],
    masses: NDArray[np.float64],
    source: VolumeSampler,
    n_independent_splits: float,
    run: Map,
    previous: Ranking | None = None,
) -> Ranking:
    """Measure the sets of all candidates on common points and choose.

    The points are drawn for the largest set of the candidate that a first, rough comparison prefers. Those of a
    previous ranking of some of the candidates are used again as long as they are worth enough.
    """

    def ranked(probe: VolumeSample, known: dict[float, NDArray[np.float64]]) -> Ranking:
        new = {c.sigma: c.level_sets.function(probe.points, run) for c in candidates if c.sigma not in known}
        return _ranked(candidates, masses, probe, known | new, n_independent_splits)

    if previous is not None:
        ranking, rough, drawn_for = ranked(previous.probe, previous.scores), False, None
    else:
        valid = valid_bandwidths([candidate.training_mass for candidate in candidates], masses)
        drawn_for = candidates[valid[len(valid) // 2]]
        rough = source.adaptive and len(candidates) > 1
        ranking = ranked(source.draw(drawn_for.largest_set(masses, run), _ROUGH if rough else 1.0), {})
    best = candidates[ranking.best]
    too_few = ranking.selection.effective_sample_size < SUFFICIENT and source.method != "box"
    if rough or (too_few and best is not drawn_for):
        ranking = ranked(source.draw(best.largest_set(masses, run)), {})
    return ranking


def _ranked(
    candidates: Sequence[Candidate],
    masses: NDArray[np.float64],
    probe: VolumeSample,
    scores: dict[float, NDArray[np.float64]],
    n_independent_splits: float,
) -> Ranking:
    """Rank on given points, from the candidates' scores there."""
    curves = [bandwidth_curve(c.level_sets, masses, probe, scores[c.sigma], c.training_mass) for c in candidates]
    best = select_bandwidth(curves, n_independent_splits, unmeasured_are_small=probe.method == "box")
    criterion = "volume"
    if len(candidates) == 1:
        criterion = "given"
    elif np.isneginf(curves[best].mean_log_volume):
        criterion = "middle"
    size = float(curves[best].effective_sample_sizes[-1])
    reason = _REASONS[criterion].format(size=size, n_candidates=len(candidates))
    selection = Selection(criterion, reason, probe.method, len(probe.points), size)
    return Ranking(probe, scores, curves, best, selection)


_REASONS = {
    "given": "One bandwidth was given.",
    "volume": "Of {n_candidates} bandwidths, the widest whose sets are as small as the smallest, up to the standard "
    "error; effective sample size {size:.0f}.",
    "middle": "The middle of the bandwidths whose sets no sample point hit.",
}
