"""The choice of the bandwidth where volumes in all columns cannot be measured: by those in subsets of the columns.

N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?", 2016, averages over subsets in
this way to compare detectors.
"""

from dataclasses import replace

import numpy as np

from mvset.bandwidth.choice import widest_of_smallest
from mvset.bandwidth.search import SUBSET_SIZE, BandwidthSearch
from mvset.calibration.splits import subsample
from mvset.values import Indices
from mvset.volume.sampler import SUFFICIENT

_N_SUBSETS = 10
_ROWS = 500  # bandwidths are compared on so many rows, drawn anew for each subset
_SPLITS = 5
_SHARE = 4  # of the sample points, one in so many


def choose_on_feature_subsets(search: BandwidthSearch) -> None:
    """Let the mean log volume over column subsets choose among the candidates of the search."""
    subsets = [_search_on_subset(search).curves for _ in range(_N_SUBSETS)]
    averaged = [
        replace(
            curve,
            mean_log_volume=float(np.mean([curves[i].mean_log_volume for curves in subsets])),
            split_log_volumes=np.mean([curves[i].split_log_volumes for curves in subsets], axis=0),
        )
        for i, curve in enumerate(search.curves)
    ]
    search.choice = widest_of_smallest(averaged, search.n_independent_splits, False)
    search.criterion = "feature subsets"
    search.reason = (
        f"Of {len(search.candidates)} bandwidths, the widest whose sets are as small as the smallest in the mean over "
        f"{_N_SUBSETS} random subsets of {SUBSET_SIZE} columns: in all columns the effective sample size is "
        f"{search.effective_sample_size:.0f}, and {SUFFICIENT} are needed to compare volumes."
    )


def _search_on_subset(search: BandwidthSearch) -> BandwidthSearch:
    """The same candidates on few rows and columns, measured.

    Distances grow with the root of the number of columns, and with them the bandwidths compared.
    """
    rng, n_columns = search.task.rng, search.layout.n_columns
    sigmas, nus = np.array([(candidate.sigma, candidate.nu) for candidate in search.candidates]).T
    rows, splits = subsample(search.splits[:_SPLITS], len(search.X), _ROWS, rng)
    columns = _drawn_columns(search.layout.varying(search.X[rows]), search.layout.n_numeric, rng)
    encoded, layout = search.layout.selected(columns)
    part = np.ascontiguousarray(search.X[np.ix_(rows, encoded)])
    n_points = max(1, search.sampler.n_points // _SHARE)
    task = replace(search.task, X=part, layout=layout, splits=splits, n_points=n_points)
    on_subset = BandwidthSearch(task, search.scaling)
    for nu in np.unique(nus):
        on_subset.solve(np.sqrt(SUBSET_SIZE / n_columns) * sigmas[nus == nu], nu)
    on_subset.measure()
    return on_subset


def _drawn_columns(varying: Indices, n_numeric: int, rng: np.random.RandomState) -> Indices:
    """Some of the columns that vary; one of them at least is numeric, so that there is a volume."""
    columns = rng.permutation(varying)
    first = int(np.argmax(columns < n_numeric))
    columns[0], columns[first] = columns[first], columns[0]
    return columns[:SUBSET_SIZE]
