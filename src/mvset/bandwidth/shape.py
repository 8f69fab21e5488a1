"""Training rows → the score function: the scalings, ν and bandwidths with the smallest sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata

from mvset.bandwidth.candidates import SearchTask
from mvset.bandwidth.choice import parameter_penalty
from mvset.bandwidth.grid import bandwidth_grid
from mvset.bandwidth.search import BandwidthSearch
from mvset.bandwidth.shrinkage import least_shrinkage
from mvset.calibration.plan import Division
from mvset.calibration.splits import TEST_SIZE, BlockSplitting, limited, random_splits
from mvset.calibration.views import Views, common_scales, unscaled
from mvset.parallel import Map
from mvset.rows.layout import ColumnLayout
from mvset.rows.validation import candidate_sigmas, check_extent, column_ranges
from mvset.svm.dual import Solver
from mvset.svm.expansion import NO_KERNEL
from mvset.svm.scaling import ScalingName
from mvset.svm.score import Score
from mvset.values import Array, Flags
from mvset.volume.measure import VolumeSample
from mvset.volume.sampler import MEASURED_COLUMNS, SUFFICIENT, effective_sample_size

ScalingOption = Literal["auto", "both"] | ScalingName | None
TOLERANCE = 1e-3  # of the solver on the optimality conditions, on the scale of scikit-learn's OneClassSVM
_NUS = (0.4, 0.7, 0.9, 1.0)  # the paper's, and larger ones for narrower bandwidths; one is a kernel density estimate
_RACE_ROWS, _RACE_SPLITS = 1000, 5  # of large tables, which show whether one scaling has smaller sets
_NEAR = np.log(2.6)  # logarithm of the ratio of bandwidths: two on either side
_BLOCK_SPLITS = 5  # of ten blocks, two held out in each: every row once


@dataclass(frozen=True)
class Shape:
    """The models of all splits in one or two scalings, the searches that chose them, and how they compare."""

    views: Views
    searches: Sequence[BandwidthSearch]
    sample: VolumeSample | None  # on which bandwidths were compared, if volumes decided
    scaling_comparison: dict[str, float]

    def volume_sample(self, score: Score, offsets: Array, run: Map) -> VolumeSample:
        """Return the sample on which bandwidths were compared, or draw one for the largest set of these offsets.

        If a bound chose the bandwidth, there are no points unless they measure the set.
        """
        enough = self.searches[0].effective_sample_size >= SUFFICIENT
        if self.sample is not None and len(self.searches) == 1 and enough:
            return self.sample
        # The function of a candidate is close to the function of its view, and costs less than all splits.
        by_view = np.array([(offsets - view.shift) / view.slope for view in score.views])
        bounded = np.flatnonzero((by_view > NO_KERNEL).all(axis=0))  # sets that are not all of space
        largest = by_view[:, bounded[np.argmin(offsets[bounded])] if len(bounded) else -1]

        def target(points: Array) -> Flags:
            inside = [
                each.best.logs(points, run) >= offset for each, offset in zip(self.searches, largest, strict=True)
            ]
            return np.asarray(np.all(inside, axis=0))

        sampler = self.searches[0].sampler
        if self.sample is None:
            return sampler.draw_if_sufficient(target)
        return self.sample if effective_sample_size(self.sample, target) >= SUFFICIENT else sampler.draw(target)


@dataclass(frozen=True)
class ShapeOptions:
    """The parameters of an estimator that decide the shape of the sets."""

    nu: Literal["auto"] | float
    sigma: Any
    scaling: ScalingOption
    masses: Array
    n_volume_points: int

    @property
    def given_sigmas(self) -> Array | None:
        """The bandwidths to compare, if the user gives them."""
        return None if isinstance(self.sigma, str) else candidate_sigmas(self.sigma)

    @property
    def nus(self) -> Sequence[float]:
        """The first ν to try, and larger ones for bandwidths that need them."""
        if not isinstance(self.nu, str):
            return (self.nu,)
        return _NUS if self.given_sigmas is None else _NUS[:1]


def best_shape(
    division: Division, layout: ColumnLayout, options: ShapeOptions, rng: np.random.RandomState, run: Map = map
) -> Shape:
    """Find scaling, ν and bandwidth of the smallest sets, and solve every split there."""
    X = division.training
    check_extent(*column_ranges(X[:, : layout.n_numeric]), len(X))
    solver, splits = Solver(options.nus[0], TOLERANCE), division.splits[: division.n_search_splits]
    task = SearchTask(X, layout, splits, options.masses, solver, options.n_volume_points, rng, run)
    scalings = _scalings(options, task)
    comparison, around = _raced(scalings, task, division, options)
    searches = _searched(list(around) or scalings, task, division, options, around)
    if options.scaling == "auto" and len(searches) == 2:
        searches, comparison = _distinguished(*searches)
    for each in searches:
        each.refine()
    sample = None if searches[0].is_bounded else searches[0].sample
    return Shape(_solved(searches, division, layout, rng, run), searches, sample, comparison)


def _raced(
    scalings: Sequence[ScalingName | None], task: SearchTask, division: Division, options: ShapeOptions
) -> tuple[dict[str, float], dict[ScalingName | None, float]]:
    """How scalings compare on a thousand rows of a large table, and the bandwidths of those that may be best.

    There are none if the table is small, if volumes do not decide, or if rows depend on each other.
    """
    X = task.X[:, : task.layout.n_numeric]
    is_measured = np.count_nonzero(np.ptp(X, axis=0)) <= MEASURED_COLUMNS
    if options.scaling != "auto" or len(scalings) == 1 or not is_measured:
        return {}, {}
    if not division.is_random or len(X) <= 2 * _RACE_ROWS:
        return {}, {}
    rows = np.sort(task.rng.permutation(len(X))[:_RACE_ROWS])
    splits = random_splits(_RACE_ROWS, _RACE_SPLITS, TEST_SIZE, task.rng)
    smaller = replace(task, X=task.X[rows], splits=splits)
    kept, comparison = _distinguished(*_searched(scalings, smaller, division, options))
    return comparison, {each.scaling: each.best.sigma for each in kept}


def _searched(
    scalings: Sequence[ScalingName | None],
    task: SearchTask,
    division: Division,
    options: ShapeOptions,
    around: Mapping[ScalingName | None, float] = MappingProxyType({}),
) -> list[BandwidthSearch]:
    """The search for the bandwidth in each scaling, on common sample points: around some value, if it is known."""
    X, given = task.X[:, : task.layout.n_numeric], options.given_sigmas
    searches: list[BandwidthSearch] = []
    for name in scalings:
        shrinkage = least_shrinkage(X, task.splits, options.masses) if name == "whiten" else 0.0
        sample = searches[0].sample if searches else None
        search = BandwidthSearch(task, name, options.nus[1:], division.rows_per_parameter, shrinkage, sample)
        sigmas = bandwidth_grid(search.mapped, task.rng) if given is None else given
        if name in around:
            distances = np.abs(np.log(sigmas / around[name]))
            sigmas = sigmas[distances <= max(_NEAR, distances.min())]
        search.search(sigmas, extensible=given is None)
        searches.append(search)
    return searches


def _solved(
    searches: Sequence[BandwidthSearch],
    division: Division,
    layout: ColumnLayout,
    rng: np.random.RandomState,
    run: Map,
) -> Views:
    """The models of all splits in each scaling; two views are brought to one scale.

    For that contiguous blocks of rows are held out, unless rows were split in another way than at random. Blocks do as
    well where rows are exchangeable. Where neighbouring rows depend on each other, scores of rows held out at random
    are higher than scores of new rows, and more so in one view than in the other.
    """
    views = unscaled([each.solved(division.splits) for each in searches], division.splits)
    if len(searches) == 1:
        return views
    aligning = views
    if division.is_random:
        n_rows, most = len(division.training), max(len(split.train) for split in division.splits)
        blocks = BlockSplitting(_BLOCK_SPLITS, TEST_SIZE, gap=0).splits(np.arange(n_rows), rng)
        blocks = limited(blocks, n_rows, most, rng)
        models = [replace(each.solved(blocks, anew=True), precision="mixed") for each in searches]  # of rough use
        aligning = unscaled(models, blocks)
    return replace(views, scales=common_scales(aligning, layout, run))


def _scalings(options: ShapeOptions, task: SearchTask) -> Sequence[ScalingName | None]:
    """The scalings to search in, as given or all.

    Bandwidths that are given are in the units of the columns: "auto" then takes no scaling. It leaves out whitening
    where rows are no more than columns, and where correlations are no larger than chance makes them, by the Bayesian
    information criterion.
    """
    if options.scaling not in ("auto", "both"):
        return [options.scaling]  # type: ignore[list-item]
    if options.scaling == "auto" and options.given_sigmas is not None:
        return [None]
    X = task.X[:, : task.layout.n_numeric]
    X = X[:, np.ptp(X, axis=0) > 0]
    n_rows, n_columns = X.shape
    if n_columns < 2 or (options.scaling == "auto" and n_rows <= n_columns):
        return ["standard"]
    if options.scaling == "both":
        return ["standard", "whiten"]
    ranks = np.corrcoef(rankdata(X, axis=0), rowvar=False)  # in which outliers count little
    sign, log_determinant = np.linalg.slogdet(ranks)
    gain = -0.5 * log_determinant if sign > 0 else np.inf
    by_chance = parameter_penalty(0.5 * n_columns * (n_columns - 1), n_rows)
    return ["standard", "whiten"] if gain > by_chance else ["standard"]


def _distinguished(first: BandwidthSearch, second: BandwidthSearch) -> tuple[list[BandwidthSearch], dict[str, float]]:
    """The scaling with the smaller sets if measured volumes tell, by more than their error and a penalty; else both.

    Log volume at a given mass plays the part of minus the log likelihood per row. The penalty for parameters
    comes from the Bayesian information criterion.
    """
    if first.is_bounded or second.is_bounded:
        return [first, second], {}
    ours, theirs = first.best_curve, second.best_curve
    n_rows = float(np.mean([len(split.train) for split in first.splits]))
    penalty = parameter_penalty(second.n_parameters - first.n_parameters, n_rows)
    difference = theirs.mean_log_volume - ours.mean_log_volume
    by_split = theirs.split_log_volumes - ours.split_log_volumes
    error = float(by_split.std(ddof=1) / np.sqrt(first.n_independent_splits)) if len(by_split) > 1 else np.inf
    names = [str(first.scaling), str(second.scaling)]
    comparison = dict(zip(names, [0.0, float(difference + penalty)], strict=True))
    if abs(difference) <= penalty + error:
        return [first, second], comparison
    return [first if difference > 0 else second], comparison
