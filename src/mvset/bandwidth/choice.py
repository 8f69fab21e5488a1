"""One mass-volume curve per bandwidth → the bandwidth of the smallest sets."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mvset.bandwidth.curves import BandwidthCurve
from mvset.bandwidth.grid import COARSE, RATIO
from mvset.values import Array, ArrayValue, Flags

_MUCH_WIDER = 2.53  # two steps of the coarse grid
SAME_VOLUME = 0.005  # difference of log volumes that is too small for a wider search


@dataclass(frozen=True, eq=False)
class Selection(ArrayValue):
    """How the bandwidth was chosen.

    Attributes
    ----------
    criterion : {"given", "log volume", "bound", "middle"}
        What decided.

        - "log volume": the widest bandwidth whose mean log volume exceeds the least by no more than the standard error
          of the difference.
        - "bound": the widest whose upper bound on the volume is as small as the least, up to two percent of the side of
          a box. Volumes cannot be compared in so many columns.
        - "middle": the middle candidate, because no sample point fell into some of the sets.
        - "given": there was only one candidate.
    reason : str
        The same in a sentence, with the numbers.
    volume_method : {"box", "importance", "bound"}
        How the sample points were drawn; "bound" if there are none.
    n_points : int
        Number of sample points; zero with a bound.
    effective_sample_size : float
        Effective sample size in the largest set of the curve.
    sigmas : ndarray of shape (n_candidates,)
        The candidates, narrowest first.
    values : ndarray of shape (n_candidates,)
        The smoothed mean log volume of each, which decided. It is minus infinity if no sample point fell into some set
        of the candidate.
    errors : ndarray of shape (n_candidates,)
        Standard errors over splits of the difference to the least value.
    eligible : ndarray of bool of shape (n_candidates,)
        Whether each candidate meets the paper's condition on ν; the others do not compete.
    nus : ndarray of shape (n_candidates,)
        ν of each candidate.
    stopped_by_nu : bool
        Whether a narrower bandwidth may be better that fails the condition on ν.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.paper.datasets import paper_mixture
    >>> selection = MinimumVolumeSet(random_state=0).fit(paper_mixture(10).sample(300, random_state=0)).selection_
    >>> selection.criterion, selection.volume_method, selection.effective_sample_size > 1000
    ('log volume', 'importance', True)
    """

    criterion: str
    reason: str
    volume_method: str
    n_points: int
    effective_sample_size: float
    sigmas: Array = field(repr=False)
    values: Array = field(repr=False)
    errors: Array = field(repr=False)
    eligible: Flags = field(repr=False)
    nus: Array = field(repr=False)

    @property
    def stopped_by_nu(self) -> bool:
        """Whether the narrowest candidate that meets the condition on ν is the best, by more than the error."""
        if self.eligible.all() or self.eligible.sum() < 2:
            return False
        narrowest, beside = np.flatnonzero(self.eligible)[:2]
        best = np.min(self.values[self.eligible])
        finite = np.isfinite(self.values[[narrowest, beside]]).all()
        return bool(finite and self.values[narrowest] == best and self.values[beside] - best > self.errors[beside])


@dataclass(frozen=True, eq=False)
class FittedView(ArrayValue):
    """A view of the rows in one scaling: its bandwidth, and how that was chosen.

    Attributes
    ----------
    scaling : {"standard", "whiten"} or None
        The scaling.
    shrinkage : float
        Weight of no correlations in the correlations that "whiten" removes.
    sigma, nu : float
        Bandwidth, in units of the scaling, and ν.
    curves : list of BandwidthCurve
        The mass-volume curve of every bandwidth tried, narrowest first.
    selection : Selection
        How the bandwidth was chosen among them.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.paper.datasets import two_moons
    >>> model = MinimumVolumeSet(scaling="both", random_state=0).fit(two_moons(300, random_state=0))
    >>> [view.scaling for view in model.views_]
    ['standard', 'whiten']
    """

    scaling: str | None
    shrinkage: float
    sigma: float
    nu: float
    curves: list[BandwidthCurve] = field(repr=False)
    selection: Selection


@dataclass(frozen=True)
class Choice:
    """Index of the best candidate, and what decided: a value and a standard error per candidate."""

    best: int
    values: Array
    errors: Array


def parameter_penalty(n_parameters: float, n_rows: float) -> float:
    """What a log volume must fall by to pay for parameters: the Bayesian information criterion.

    Log volume at a given mass plays the part of minus the log likelihood per row.
    """
    return n_parameters * float(np.log(n_rows)) / (2.0 * n_rows)


def meets_nu_condition(training_mass: float, masses: Array) -> bool:
    """The paper's condition on ν: the unshifted set holds at most α-c of the training rows (Section II-B).

    Where it fails the solution function says nothing about masses this high.
    """
    return bool(training_mass <= masses[0])


def eligible_bandwidths(training_masses: Sequence[float], masses: Array) -> list[int]:
    """Indices of the candidates that meet the condition on ν; of all when none does."""
    met = [i for i, training_mass in enumerate(training_masses) if meets_nu_condition(training_mass, masses)]
    return met or list(range(len(training_masses)))


def widest_of_smallest(
    curves: Sequence[BandwidthCurve],
    n_independent_splits: float,
    unmeasured_are_small: bool,
    *,
    is_smooth: bool = False,
    is_coarse: bool = False,
) -> Choice:
    """The widest bandwidth whose sets are as small as the smallest, up to the standard error.

    Paper: Fig. 2, σ_opt. Differences:

    - the mean over the masses is of the logarithm of the volume: in many dimensions the largest mass alone would
      decide the mean of the volume;
    - it is smoothed over neighbouring bandwidths, whose sets differ by little but noise;
    - of all bandwidths whose mean exceeds the least by no more than the standard error of the difference, the widest is
      taken: the minimum is flat, and narrow bandwidths win by overfitting. This is the one-standard-error rule of
      Breiman et al., "Classification and Regression Trees", 1984; the standard error is taken over the splits. It is
      large where a split lacks an outlier, so we go no further than 2.5 times the best bandwidth.

    Bounds on volumes are smooth (`is_smooth`): the last two do not apply. On a coarse grid (`is_coarse`), whose best
    bandwidth will have new neighbours, the last one does not.

    Only bandwidths that meet the condition on ν compete: one so narrow that it fails can pass for small because the
    mean of its offsets, which then differ by orders of magnitude between splits, holds less than the mass.

    A set that no point of the box hits is small (`unmeasured_are_small`). Such sets cannot be ranked: the middle one
    is taken, and the caller warns. A set that no point of importance sampling hits is one that the sampler did not
    find: it does not compete.
    """
    eligible = eligible_bandwidths([curve.training_mass for curve in curves], curves[0].masses)
    ascending = sorted(eligible, key=lambda i: curves[i].sigma)
    unmeasured = [i for i in ascending if np.isneginf(curves[i].mean_log_volume)]
    values = np.array([curve.mean_log_volume for curve in curves])
    if unmeasured and (unmeasured_are_small or len(unmeasured) == len(ascending)):
        return Choice(unmeasured[len(unmeasured) // 2], values, np.zeros(len(curves)))
    compared = [i for i in ascending if i not in unmeasured]
    by_split = np.array([curve.split_log_volumes for curve in curves])
    sigmas = np.array([curves[i].sigma for i in compared])
    if not is_smooth:
        near = COARSE if is_coarse else RATIO
        smooth = _smoothed(sigmas, np.column_stack([values[compared], by_split[compared]]), near)
        values[compared], by_split[compared] = smooth[:, 0], smooth[:, 1:]
    least = min(reversed(compared), key=lambda i: values[i])  # of equal ones the widest
    errors = np.zeros(len(curves))
    errors[compared] = _standard_errors(by_split[compared] - by_split[least], n_independent_splits)
    best = least
    if not is_smooth and not is_coarse:
        for wider in compared[compared.index(least) + 1 :]:
            is_far = curves[wider].sigma > _MUCH_WIDER * curves[least].sigma
            if is_far or values[wider] - values[least] > errors[wider]:
                break
            best = wider
    return Choice(best, values, errors)


def _standard_errors(differences: Array, n_independent_splits: float) -> Array:
    """Standard error of the mean difference over splits (columns), for every candidate (rows)."""
    if differences.shape[1] < 2:
        return np.zeros(len(differences))
    return np.asarray(differences.std(axis=1, ddof=1) / np.sqrt(n_independent_splits))


def _smoothed(sigmas: Array, values: Array, ratio: float) -> Array:
    """Return values averaged with both neighbours, 1 : 2 : 1, where both are as near as on the automatic grid."""
    near = sigmas[1:] / sigmas[:-1] < ratio * (1.0 + 1e-9)
    inner = 1 + np.flatnonzero(near[:-1] & near[1:])
    smoothed = values.copy()
    smoothed[inner] = 0.25 * values[inner - 1] + 0.5 * values[inner] + 0.25 * values[inner + 1]
    return smoothed
