import numpy as np
import pytest

from mvset.bandwidth.candidates import SearchTask
from mvset.bandwidth.curves import mass_grid
from mvset.bandwidth.feature_subsets import _drawn_columns, _search_on_subset, choose_on_feature_subsets
from mvset.bandwidth.search import BandwidthSearch
from mvset.calibration.splits import random_splits
from mvset.paper.datasets import paper_mixture
from mvset.rows.layout import ColumnLayout
from mvset.svm.dual import Solver


@pytest.fixture(scope="module")
def search():
    X = paper_mixture(20).sample(600, random_state=0)
    rng = np.random.RandomState(0)
    splits, masses = random_splits(600, 6, 0.2, rng), mass_grid(0.9, 0.04, 5)
    found = BandwidthSearch(SearchTask(X, ColumnLayout(20), splits, masses, Solver(0.4, 1e-3), 400, rng))
    found.solve(np.array([2.0, 4.0]), 0.4)
    found.solve(np.array([1.5]), 0.7)
    found.measure()
    return found


def test_a_subset_has_few_rows_and_columns_and_the_same_candidates(search):
    on_subset = _search_on_subset(search)
    assert on_subset.X.shape == (500, 5)
    assert len(on_subset.splits) == 5
    assert on_subset.sampler.n_points == 100
    np.testing.assert_allclose([c.sigma for c in on_subset.candidates], np.array([1.5, 2.0, 4.0]) / 2)
    assert [c.nu for c in on_subset.candidates] == [0.7, 0.4, 0.4]
    assert len(on_subset.curves) == 3


def test_the_mean_over_ten_subsets_decides(search, monkeypatch):
    subsets = []
    monkeypatch.setattr(
        "mvset.bandwidth.feature_subsets._search_on_subset",
        lambda each: subsets.append(_search_on_subset(each)) or subsets[-1],
    )
    choose_on_feature_subsets(search)
    assert len(subsets) == 10
    means = np.mean([[curve.mean_log_volume for curve in each.curves] for each in subsets], axis=0)
    np.testing.assert_allclose(search.choice.values, means)
    assert search.criterion == "feature subsets"
    assert search.reason.startswith("Of 3 bandwidths, the widest")


def test_columns_that_are_drawn_have_a_number_among_them():
    rng = np.random.RandomState(0)
    varying = np.array([1, 4, 5, 6, 7, 8, 9])  # the last five are categories
    drawn = [_drawn_columns(varying, 5, rng) for _ in range(200)]
    assert all(len(set(columns)) == 5 and set(columns) <= set(varying) for columns in drawn)
    assert all(columns[0] in (1, 4) for columns in drawn)
    assert len({tuple(sorted(columns)) for columns in drawn}) == 20
