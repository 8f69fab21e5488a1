"""Training rows → the score function: the scaling, ν and bandwidth with the smallest sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mvset.bandwidth.candidates import SearchTask
from mvset.bandwidth.feature_subsets import choose_on_feature_subsets
from mvset.bandwidth.grid import bandwidth_grid
from mvset.bandwidth.race import ALL_COLUMNS, race
from mvset.bandwidth.search import BandwidthSearch
from mvset.calibration.plan import Division
from mvset.calibration.split_models import SplitModels
from mvset.parallel import Map
from mvset.rows.layout import ColumnLayout
from mvset.rows.validation import candidate_sigmas, check_extent, column_ranges
from mvset.svm.dual import Solver
from mvset.svm.scaling import SCALINGS, ScalingName
from mvset.values import Array

TOLERANCE = 1e-3  # of the solver on the optimality conditions, on the scale of scikit-learn's OneClassSVM
_NUS = (0.4, 0.7, 0.9)  # the paper's, and larger ones for narrower bandwidths
_NU_ROWS = 200  # fewer rows do not tell whether a narrower bandwidth is better, or only seems so
_WIDER = 1.6  # upper end of the full search, as a multiple of the race's best bandwidth


@dataclass(frozen=True)
class Shape:
    """The models of all splits at the bandwidth chosen, the search that chose it, and the race of the scalings."""

    models: SplitModels
    search: BandwidthSearch
    scaling_comparison: dict[str, float]


@dataclass(frozen=True)
class ShapeOptions:
    """The parameters of an estimator that decide the shape of the sets."""

    nu: Literal["auto"] | float
    sigma: Any
    scaling: Literal["auto"] | ScalingName | None
    masses: Array
    n_volume_points: int

    @property
    def given_sigmas(self) -> Array | None:
        """The bandwidths to compare, if the user gives them."""
        return None if isinstance(self.sigma, str) else candidate_sigmas(self.sigma)

    def nus(self, n_rows: int) -> Sequence[float]:
        """The first ν to try, and larger ones for bandwidths that need them."""
        if not isinstance(self.nu, str):
            return (self.nu,)
        return _NUS if self.given_sigmas is None and n_rows >= _NU_ROWS else _NUS[:1]


def best_shape(
    division: Division, layout: ColumnLayout, options: ShapeOptions, rng: np.random.RandomState, run: Map = map
) -> Shape:
    """Find scaling, ν and bandwidth of the smallest sets, and solve every split there."""
    X, nus = division.training, options.nus(len(division.training))
    check_extent(*column_ranges(X[:, : layout.n_numeric]), len(X))
    solver, splits = Solver(nus[0], TOLERANCE), division.splits[: division.n_search_splits]
    task = SearchTask(X, layout, splits, options.masses, solver, options.n_volume_points, rng, run)
    given = options.given_sigmas
    scaling, widest, comparison = _chosen_scaling(options, task)

    def searched(scaling: ScalingName | None, widest: float) -> BandwidthSearch:
        search = BandwidthSearch(task, scaling, nus[1:], division.rows_per_parameter)
        sigmas = bandwidth_grid(search.mapped, rng, widest) if given is None else given
        search.search(sigmas, extensible=given is None)
        return search

    search = searched(scaling, widest)
    # A race on some columns at a time does not see everything: where volumes can be measured in all of them, the
    # winner must also win there.
    raced = bool(comparison) and scaling != SCALINGS[0]
    if raced and layout.n_numeric > ALL_COLUMNS and not search.sample_is_too_small:
        first = searched(SCALINGS[0], np.inf)
        if not first.sample_is_too_small and first.penalised_log_volume <= search.penalised_log_volume:
            search = first
    if search.sample_is_too_small:
        choose_on_feature_subsets(search)
    return Shape(search.solved(division.splits), search, comparison)


def _chosen_scaling(options: ShapeOptions, task: SearchTask) -> tuple[ScalingName | None, float, dict[str, float]]:
    """The scaling, as given or by volume; the widest bandwidth to try first; and the comparison of the scalings.

    Bandwidths that are given are in the units of the columns: no scaling is then chosen.
    """
    if options.scaling != "auto":
        return options.scaling, np.inf, {}
    if options.given_sigmas is not None:
        return None, np.inf, {}
    results = race(SCALINGS, task)
    if not results:
        return SCALINGS[0], np.inf, {}
    best = min(SCALINGS, key=lambda scaling: results[scaling].log_volume)
    widest, layout = _WIDER * results[best].sigma, task.layout
    if layout.sizes:  # distances, and with them bandwidths, grow with the root of the number of columns
        n_varying = np.count_nonzero(np.ptp(task.X[:, : layout.n_numeric], axis=0))
        widest *= float(np.sqrt(len(layout.varying(task.X)) / n_varying))
    return best, widest, {scaling: result.log_volume for scaling, result in results.items()}
