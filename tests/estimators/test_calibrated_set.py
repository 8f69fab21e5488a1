import itertools
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyod.models.knn import KNN
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import IsolationForest
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mvset import CalibratedSet, MinimumVolumeSet
from mvset.calibration.splits import random_splits
from mvset.paper.datasets import paper_mixture

MIXTURE = paper_mixture(4)
X = MIXTURE.sample(500, random_state=0)
DETECTORS = {
    "forest": IsolationForest(n_estimators=50),
    "lof": LocalOutlierFactor(novelty=True),
    "gmm": GaussianMixture(2),
    "pipeline": make_pipeline(StandardScaler(), LocalOutlierFactor(novelty=True)),
    "pyod": make_pipeline(StandardScaler(), KNN()),
    "bounded kernel": KernelDensity(bandwidth=1.5, kernel="tophat"),
}


@pytest.mark.parametrize(
    "name", ["lof", *(pytest.param(each, marks=pytest.mark.slow) for each in DETECTORS if each != "lof")]
)
def test_mass_on_new_rows(name):
    """One fit on 1000 rows: the mass has a standard deviation of 0.0095, and the share of fresh rows one of 0.004."""
    fresh = MIXTURE.sample(5000, random_state=1)
    rows = MIXTURE.sample(1000, random_state=0)
    model = CalibratedSet(clone(DETECTORS[name]), mass=0.9, splits=5, n_volume_points=2000, random_state=0).fit(rows)
    share = np.mean(model.predict(fresh) == 1)
    assert share == pytest.approx(0.9, abs=0.03)
    np.testing.assert_array_equal(model.level(fresh[:500]) <= 0.9, model.predict(fresh[:500]) == 1)
    assert 0.5 < model.volume_.value / MIXTURE.volume(0.9).value < 3.0
    assert len(model.detectors_) == 5


def test_inference_from_the_scores_of_rows_held_out():
    rows, fresh = MIXTURE.sample(1000, random_state=0), MIXTURE.sample(20_000, random_state=1)
    model = CalibratedSet(GaussianMixture(2), mass=0.9, splits=5, random_state=0).fit(rows)
    assert model.mass_interval_.n_rows == 1000
    assert model.mass_interval_.low < np.mean(model.predict(fresh) == 1) < model.mass_interval_.high
    band = model.mass_band()
    assert band.masses[0] == 0.8
    truth = np.array([np.mean(model.predict(fresh, mass=mass) == 1) for mass in band.masses])
    assert ((band.lower <= truth) & (truth <= band.upper)).all()
    for t in (0.01, 0.05, 0.2):
        assert np.mean(model.p_value(fresh) <= t) == pytest.approx(t, abs=4 * np.sqrt(t * (1 - t) / 1000))
    batch = np.vstack([fresh[:95], fresh[:5] + 20.0])
    assert model.detect(batch, fdr=0.2).flagged[95:].all()
    assert not model.check_drift(fresh[:500]).drifted
    assert model.check_drift(fresh[:500] + 1.0).drifted
    monitor = model.drift_monitor(random_state=0)
    assert not any(monitor.update(fresh[i : i + 100]) for i in range(0, 1000, 100))
    assert [monitor.update(fresh[i : i + 100] + 1.0) for i in range(1000, 1500, 100)][-1]


def test_sets_are_nested():
    model = CalibratedSet(IsolationForest(n_estimators=20), splits=5, n_volume_points=2000, random_state=0).fit(X)
    for smaller, larger in itertools.combinations((0.1, 0.5, 0.9, 0.95, 0.99), 2):
        assert not ((model.predict(X, smaller) == 1) & (model.predict(X, larger) == -1)).any()
        assert model.volume(smaller).value <= model.volume(larger).value


def test_the_offset_is_that_of_the_rows_held_out():
    gmm = GaussianMixture(2, random_state=0)
    model = CalibratedSet(gmm, splits=1, n_volume_points=500, random_state=5).fit(X)
    held_out = X[random_splits(500, 1, 0.2, np.random.RandomState(5))[0].held_out]
    assert len(model.sets_.calibration.scores) == 100
    for mass in (0.5, 0.9, 0.95):
        assert np.mean(model.predict(held_out, mass) == 1) == pytest.approx(mass, abs=0.011)


@pytest.mark.slow
def test_the_true_family_has_the_smallest_sets():
    """A mixture of two Gaussians is what the rows come from; the forest's sets of the same mass are larger."""
    volumes = {name: CalibratedSet(clone(DETECTORS[name]), random_state=0).fit(X).volume_ for name in ("gmm", "forest")}
    ours = MinimumVolumeSet(random_state=0).fit(X).volume_
    assert volumes["gmm"].value < 1.1 * ours.value
    assert ours.value < volumes["forest"].value


@pytest.mark.slow
def test_same_seed_same_sets():
    detector = make_pipeline(StandardScaler(), IsolationForest(n_estimators=20))
    settings = {"splits": 3, "n_volume_points": 2000, "random_state": 0}
    first, *others = (CalibratedSet(detector, n_jobs=n, **settings).fit(X) for n in (1, 1, 2))
    for other in others:
        np.testing.assert_array_equal(first.score_samples(X), other.score_samples(X))
        assert first.volume_ == other.volume_


def test_pickle():
    forest = IsolationForest(n_estimators=20)
    model = CalibratedSet(forest, splits=2, n_volume_points=2000, random_state=0).fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).level(X), model.level(X))


def test_too_few_rows_held_out_warn_here():
    with pytest.warns(UserWarning, match=r"100 held-out rows cannot resolve mass=0.995.* 199 are needed") as caught:
        CalibratedSet(GaussianMixture(), mass=0.995, random_state=0).fit(X[:100])
    assert caught[0].filename == __file__


def test_a_detector_without_scores_is_named():
    with pytest.raises(TypeError, match=r"LocalOutlierFactor\(\) gives no scores"):
        CalibratedSet(LocalOutlierFactor(), random_state=0).fit(X)


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks([CalibratedSet(GaussianMixture(), splits=2, n_volume_points=50, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_volumes_of_too_few_points_warn_here():
    rows = paper_mixture(9).sample(300, random_state=0)
    said = r"in the set of mass 0\.99 is \d+; \d+ are needed\. Raise n_volume_points\.$"
    with pytest.warns(UserWarning, match=said) as caught:
        CalibratedSet(GaussianMixture(2), splits=2, n_volume_points=20, random_state=0).fit(rows)
    assert caught[0].filename == __file__


@pytest.mark.slow
def test_a_noisy_detector_holds_its_mass():
    """Ten trees each: the quantiles of single forests would hold 0.97 of new rows, those of means 0.955."""
    rng = np.random.default_rng(0)
    masses = []
    settings = {"splits": 20, "n_volume_points": 1000}
    for seed in range(10):
        forest = IsolationForest(n_estimators=10, max_samples=64)
        model = CalibratedSet(forest, random_state=seed, **settings).fit(rng.normal(size=(1000, 2)))
        masses.append(np.mean(model.predict(rng.normal(size=(4000, 2))) == 1))
    assert np.mean(masses) == pytest.approx(0.953, abs=0.01)


def test_frames_reach_the_detector():
    frame = pd.DataFrame(X, columns=list("abcd"))
    columns = ColumnTransformer([("scaled", StandardScaler(), ["a", "b", "c", "d"])])
    detector = make_pipeline(columns, GaussianMixture(2))
    model = CalibratedSet(detector, splits=2, n_volume_points=500, random_state=0).fit(frame)
    assert model.predict(frame).shape == (500,)
    assert pickle.loads(pickle.dumps(model)).volume_ == model.volume_


def test_the_seed_of_a_detector_is_its_own():
    forest = IsolationForest(n_estimators=5, random_state=7)
    model = CalibratedSet(forest, splits=2, n_volume_points=2000, random_state=0).fit(X)
    assert {detector.random_state for detector in model.detectors_} == {7}


def test_a_constant_column_warns_here():
    rows = np.insert(X, 1, 3.0, axis=1)
    with pytest.warns(UserWarning, match="constant in column 1: volumes are measured across the other") as caught:
        CalibratedSet(IsolationForest(n_estimators=10), splits=2, random_state=0).fit(rows)
    assert caught[0].filename == __file__


def correlated_rows(n, seed):
    """Ten sensors of three quantities, with noise."""
    mixing = np.random.default_rng(9).normal(size=(3, 10))
    draw = np.random.default_rng(seed)
    return draw.normal(size=(n, 3)) @ mixing + 0.1 * draw.normal(size=(n, 10))


@pytest.mark.parametrize("detector", [GaussianMixture(), IsolationForest(n_estimators=10)])
def test_the_sensor_that_breaks_the_correlations_explains_a_row(detector):
    model = CalibratedSet(detector, splits=2, random_state=0).fit(correlated_rows(500, 0))
    faulty = correlated_rows(100, 1)
    faulty[:, 4] += 1.5
    contributions = model.explain(faulty)
    top = np.abs(contributions).argmax(axis=1)
    assert np.mean(top == 4) > 0.95
    assert (contributions[top == 4, 4] > 0).all()
    assert (model.predict(model.examples_) == 1).all()


def test_examples_are_at_most_a_thousand_training_rows():
    model = CalibratedSet(GaussianMixture(), splits=2, random_state=0).fit(MIXTURE.sample(1500, random_state=0))
    assert 900 < len(model.examples_) <= 1000
    assert {tuple(row) for row in model.examples_} <= {tuple(row) for row in MIXTURE.sample(1500, random_state=0)}


def test_few_rows_of_many_columns_are_explained():
    rows = np.random.default_rng(0).normal(size=(12, 20))
    model = CalibratedSet(IsolationForest(n_estimators=5), mass=0.8, splits=2, random_state=0).fit(rows)
    new = np.zeros((1, 20))
    new[0, 3] = 50.0
    assert np.abs(model.explain(new)).argmax() == 3


def test_a_stream_is_fitted_like_an_array_of_its_rows():
    frame = pd.DataFrame(X, columns=list("abcd"))
    stream = pa.Table.from_pandas(frame).to_reader(max_chunksize=100)
    model, expected = (CalibratedSet(GaussianMixture(), splits=2, random_state=0).fit(each) for each in (stream, X))
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(model.score_samples(frame), expected.score_samples(X))
