"""Parts of a model that a file or a pickle may hold, with one thing wrong in each."""

import copy
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import mvset
from mvset.calibration.guarantees import Guarantee
from mvset.metrics.detectors import InputFormat
from mvset.svm.scaling import Scaling

FOLDER = Path(__file__).parent / "fixtures"


@cache
def loaded(name):
    return mvset.load(FOLDER / f"{name}.mvset")


def sets(name):
    return loaded(name).sets_


def view(name, number=0):
    return sets(name).function.views[number]


def with_view(name, number=0, /, **changes):
    """The score with a view that has other parts."""
    views = list(sets(name).function.views)
    views[number] = replace(views[number], **changes)
    return replace(sets(name).function, views=views)


def other(array, value):
    """The array with another first value."""
    changed = array.copy()
    changed.flat[0] = value
    return changed


def rebuilt(model, /, **attributes):
    """An estimator or monitor with other attributes, as a file or a pickle would have them."""
    new = copy.copy(model)
    new.__setstate__({**model.__dict__, **attributes})


WRONG = {
    "weights of another sum": lambda: with_view("plain", weights=2.0 * view("plain").weights),
    "weights of another sum, with scalings": lambda: with_view("scaling", weights=0.5 * view("scaling").weights),
    "weights of another sum, with categories": lambda: with_view(
        "categories", weights=0.5 * view("categories").weights
    ),
    "weights of another sum, in the second view": lambda: with_view(
        "two_views", 1, weights=0.5 * view("two_views", 1).weights
    ),
    "a negative weight": lambda: with_view("plain", weights=other(view("plain").weights, -0.1)),
    "a negative weight, with scalings": lambda: with_view("scaling", weights=other(view("scaling").weights, -0.1)),
    "a weight of NaN": lambda: with_view("plain", weights=other(view("plain").weights, np.nan)),
    "weights of fewer centres in the second view": lambda: with_view(
        "two_views", 1, weights=np.full((2, 3), 1.0 / 6.0)
    ),
    "an infinite scale": lambda: replace(
        view("scaling").scalings[0], scales=other(view("scaling").scalings[0].scales, np.inf)
    ),
    "a bandwidth of text": lambda: with_view("plain", sigma="0.5"),
    "no bandwidth": lambda: with_view("scaling", sigma=0.0),
    "no bandwidth in the second view": lambda: with_view("two_views", 1, sigma=0.0),
    "another precision": lambda: with_view("scaling", precision="half"),
    "an infinite shift": lambda: with_view("two_views", 1, shift=-np.inf),
    "a shift of text": lambda: with_view("two_views", 1, shift="0.5"),
    "a slope of NaN": lambda: with_view("two_views", 1, slope=np.nan),
    "a slope of zero": lambda: with_view("two_views", 1, slope=0.0),
    "no view": lambda: replace(sets("two_views").function, views=[]),
    "a view of another type": lambda: replace(sets("two_views").function, views=[view("two_views"), None]),
    "a scaling of other columns": lambda: with_view(
        "two_views", 1, scalings=[Scaling(np.ones(3), np.eye(3))] * len(view("two_views", 1).scalings)
    ),
    "a density without bandwidth": lambda: replace(sets("plugin_density").function, sigma=np.nan),
    "a density without rows": lambda: replace(
        sets("plugin_density").function, centres=np.empty((0, 2)), weights=np.empty(0)
    ),
    "a constant column beyond the last": lambda: replace(
        sets("plain"), constants=replace(sets("plain").constants, columns=np.array([2.0]), values=np.zeros(1))
    ),
    "scores of text": lambda: replace(sets("plain").calibration, scores=sets("plain").calibration.scores.astype(str)),
    "scores that count twice": lambda: replace(
        sets("plain").calibration, counts=other(sets("plain").calibration.counts, 2.0)
    ),
    "low scores of a summary that count twice": lambda: replace(
        sets("large_table").calibration, counts=other(sets("large_table").calibration.counts, 2.0)
    ),
    "a least mass of text": lambda: replace(sets("plain").calibration, comparable_from="0.5"),
    "levels beyond one": lambda: replace(
        sets("groups").strata, levels=np.append(sets("groups").strata.levels[1:], 1.5)
    ),
    "levels that descend": lambda: replace(sets("groups").strata, levels=sets("groups").strata.levels[::-1].copy()),
    "an infinite volume": lambda: replace(
        sets("plain").volume_sample, log_weights=other(sets("plain").volume_sample.log_weights, np.inf)
    ),
    "points of one dimension": lambda: replace(sets("plain").volume_sample, points=np.empty(0)),
    "too few points": lambda: replace(sets("plain").volume_sample, points=np.zeros((1, 2))),
    "a code that is none": lambda: replace(
        sets("categories").function.encoding,
        imputation=replace(
            sets("imputation").function.encoding.imputation,
            donors=np.array([[0.0, 0.0, 3.0]]),
            scales=np.array([1.0, 1.0, 0.0]),
            indicators=np.empty(0),
        ),
    ),
    "a number of columns of text": lambda: replace(sets("imputation").function.encoding, n_columns="2"),
    "categories that come in some way": lambda: replace(sets("categories").function.encoding.categories, by_code="no"),
    "a mode that does not exist": lambda: Guarantee().__setstate__({"mode": "sure"}),
    "a confidence of text": lambda: replace(sets("plain").guarantee, confidence="0.9"),
    "a library that is not one of tables": lambda: InputFormat().__setstate__(
        {"library": "antigravity", "columns": ()}
    ),
    "a mean of no scores": lambda: replace(sets("calibrated_set").function, detectors=[]),
    "sets of another type": lambda: rebuilt(loaded("plain"), sets_={}),
    "more columns than the score has": lambda: rebuilt(loaded("plain"), n_features_in_=5),
    "columns of text": lambda: rebuilt(loaded("calibrated_set"), n_features_in_="2"),
    "too few names": lambda: rebuilt(loaded("scaling"), feature_names_in_=np.array(["a"], dtype=object)),
    "a function of another type": lambda: rebuilt(loaded("one_class_svm"), _function=len),
    "an offset of NaN": lambda: rebuilt(loaded("one_class_svm"), offset_=np.array([np.nan])),
    "other columns than the centres": lambda: rebuilt(loaded("one_class_svm"), n_features_in_=1),
    "watched scores of NaN": lambda: rebuilt(
        loaded("drift_monitor"), _steps=other(loaded("drift_monitor")._steps, np.nan)
    ),
    "watched scores that descend": lambda: rebuilt(
        loaded("drift_monitor"), _steps=loaded("drift_monitor")._steps[::-1].copy()
    ),
    "too few counts": lambda: rebuilt(loaded("drift_monitor"), _counts=loaded("drift_monitor")._counts[1:]),
    "a negative count": lambda: rebuilt(loaded("drift_monitor"), _counts=other(loaded("drift_monitor")._counts, -1)),
    "a monitor of nothing": lambda: rebuilt(loaded("drift_monitor"), model=None),
    "bets of another type": lambda: rebuilt(loaded("drift_monitor"), _bets=None),
    "a negative number of rows": lambda: rebuilt(loaded("drift_monitor"), n_rows_=-1),
    "no decorrelation": lambda: rebuilt(loaded("drift_monitor"), _decorrelation=0),
    "evidence of NaN": lambda: rebuilt(loaded("drift_monitor"), log_martingale_=np.nan),
    "a summary up to NaN": lambda: rebuilt(loaded("drift_monitor"), _exact_up_to=np.nan),
    "no random numbers": lambda: rebuilt(loaded("drift_monitor"), _rng=0),
    "a false-alarm rate of text": lambda: rebuilt(loaded("drift_monitor"), false_alarm_rate="0.01"),
    "a capital of NaN": lambda: replace(
        loaded("drift_monitor")._bets, log_capitals=other(loaded("drift_monitor")._bets.log_capitals, np.nan)
    ),
    "histograms of nine bins": lambda: replace(
        loaded("drift_monitor")._bets, histograms=loaded("drift_monitor")._bets.histograms[:, 1:]
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_part_with_this_wrong_is_refused(what):
    with pytest.raises(ValueError, match=r"must|wrong|sizes|needs|codes|points|no score|calibration mode"):
        WRONG[what]()


@pytest.mark.parametrize("name", ["plain", "one_class_svm", "drift_monitor", "calibrated_set", "plugin_density"])
def test_a_part_with_nothing_wrong_is_rebuilt(name):
    rebuilt(loaded(name))
    if hasattr(loaded(name), "sets_"):
        assert replace(sets(name).calibration) == sets(name).calibration


@pytest.mark.parametrize(
    "parameters",
    [{}, {"scaling": None}, {"scaling": "whiten"}, {"scaling": "both"}, {"calibration": "conformal"}],
)
def test_weights_of_a_fit_sum_to_one(parameters):
    """Whatever the heights of the splits: they are weighted with mean one."""
    X = mvset.paper.datasets.two_moons(200, random_state=0)
    model = mvset.MinimumVolumeSet(sigma=0.3, splits=7, random_state=0, **parameters).fit(X)
    for each in model.sets_.function.views:
        assert each.weights.sum() == pytest.approx(1.0, abs=1e-12)
