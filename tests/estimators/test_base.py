"""What every fitted estimator answers: nested sets, levels, p-values, intervals, bands and drift."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, false_discovery_control
from sklearn.exceptions import NotFittedError

from mvset import MinimumVolumeSet
from mvset.calibration.guarantees import Guarantee, reserved_rows
from mvset.calibration.splits import RandomSplitting
from mvset.paper.datasets import paper_mixture, two_moons
from mvset.volume.box import draw_box_sample

MASSES = (0.05, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
MIXTURE = paper_mixture()
X = MIXTURE.sample(600, random_state=0)
FRESH = MIXTURE.sample(20_000, random_state=1)
MODES = ("cross", "conformal", "pac")


@pytest.fixture(scope="module")
def fitted():
    X = two_moons(400, random_state=0)
    return MinimumVolumeSet(random_state=0).fit(X), X


@pytest.fixture(scope="module", params=MODES)
def model(request):
    return MinimumVolumeSet(mass=0.9, calibration=request.param, random_state=0).fit(X)


@pytest.fixture(scope="module")
def conformal():
    return MinimumVolumeSet(mass=0.9, calibration="conformal", random_state=0).fit(X)


# ---------------------------------------------------------------- sets and levels


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sets_are_nested(table):
    """Every pair of masses, on the rows and on points all over the box."""
    model = MinimumVolumeSet(splits=3, random_state=0).fit(table)
    points = np.vstack([table, draw_box_sample(2 * table, 2000, np.random.RandomState(1)).points])
    inside = {mass: model.predict(points, mass=mass) == 1 for mass in MASSES}
    for smaller, larger in itertools.combinations(MASSES, 2):
        assert not (inside[smaller] & ~inside[larger]).any()
        assert model.offset(smaller) >= model.offset(larger)
        assert model.volume(smaller).value <= model.volume(larger).value


@given(first=st.floats(0.001, 0.999), second=st.floats(0.001, 0.999))
@settings(max_examples=50, deadline=None)
def test_any_two_masses_are_nested_and_levels_tell_membership(fitted, first, second):
    model, X = fitted
    smaller, larger = sorted((first, second))
    inside_smaller, inside_larger = model.predict(X, mass=smaller) == 1, model.predict(X, mass=larger) == 1
    assert not (inside_smaller & ~inside_larger).any()
    np.testing.assert_array_equal(model.level(X) <= smaller, inside_smaller)


def test_decision_is_score_minus_offset_exactly(fitted):
    model, X = fitted
    np.testing.assert_array_equal(model.decision_function(X), model.score_samples(X) - model.offset_)
    np.testing.assert_array_equal(model.decision_function(X, mass=0.7), model.score_samples(X) - model.offset(0.7))
    np.testing.assert_array_equal(model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1))
    assert model.offset_ == model.offset(model.mass)
    assert model.volume_ == model.volume(model.mass)


def test_levels_are_monotone_in_the_score_and_defined_everywhere(fitted):
    model, X = fitted
    points = np.vstack([X, [[1e3, 1e3], [1e300, -1e300]]])
    order = np.argsort(model.score_samples(points))
    levels = model.level(points)
    assert (np.diff(levels[order]) <= 0).all()
    assert levels.min() >= 0
    np.testing.assert_array_equal(levels[-2:], 1.0)


def test_levels_of_new_rows_are_close_to_uniform():
    model = MinimumVolumeSet(random_state=0, sigma=0.8, nu=0.8).fit(MIXTURE.sample(2000, random_state=0))
    levels = model.level(FRESH)
    for mass in (0.3, 0.5, 0.8, 0.95):
        assert np.mean(levels <= mass) == pytest.approx(mass, abs=0.04)


# ---------------------------------------------------------------- inference about masses


@pytest.mark.parametrize("mode", ["conformal", "pac"])
def test_offsets_are_scores_of_reserved_rows_at_the_rank_promised(mode):
    model = MinimumVolumeSet(mass=0.9, calibration=mode, confidence=0.95, random_state=0).fit(X)
    scores = model.sets_.calibration.scores
    assert len(scores) == 300
    first_safe = next(k for k in range(300) if binom.sf(k - 1, 300, 0.9) <= 0.05)
    rank = {"conformal": 271, "pac": first_safe}[mode]  # ⌈301·0.9⌉
    assert model.offset_ == pytest.approx(scores[::-1][rank - 1], rel=1e-11)
    # Reserved rows are rows of X that the model was not fitted to.
    own = model.score_samples(X)
    assert np.isin(np.round(scores, 12), np.round(own, 12)).all()


def test_reserved_rows_are_seen_by_nothing_else():
    """Moving them changes offsets only: not the function, not the bandwidth."""
    rule, rng = RandomSplitting(10, 0.2), np.random.RandomState(0)
    _, reserved = reserved_rows(Guarantee("conformal"), 0.95, rule, len(X), rng)
    moved = X.copy()
    moved[reserved] += 0.3
    a, b = (MinimumVolumeSet(calibration="conformal", random_state=0).fit(rows) for rows in (X, moved))
    assert a.sigma_ == b.sigma_
    np.testing.assert_array_equal(a.score_samples(FRESH[:100]), b.score_samples(FRESH[:100]))
    assert a.offset_ != b.offset_


def test_promised_sets_are_nested_and_levels_tell_membership(model):
    masses = [mass for mass in (0.3, 0.5, 0.8, 0.9, 0.95, 0.98) if model.sets_.calibration.can_guarantee(mass)]
    levels = model.level(FRESH[:2000])
    for mass in masses:
        np.testing.assert_array_equal(levels <= mass, model.predict(FRESH[:2000], mass=mass) == 1)
    assert all(model.offset(a) >= model.offset(b) for a, b in itertools.pairwise(masses))


def test_stronger_promises_cost_volume():
    volumes = [MinimumVolumeSet(calibration=mode, random_state=0).fit(X).volume_.value for mode in ("conformal", "pac")]
    assert volumes[0] < volumes[1]


@pytest.mark.parametrize(
    ("mode", "n", "mass", "said"),
    [
        ("conformal", 200, 0.999, "that takes 999 rows reserved for calibration and some to fit, 1997 in all"),
        (
            "pac",
            100,
            0.95,
            "at 0.95 confidence: that takes 59 rows reserved for calibration and some to fit, 117 in all",
        ),
        ("conformal", 4, 0.5, "that takes 1 row reserved for calibration and some to fit, 6 in all"),
    ],
)
def test_too_few_rows_say_how_many_suffice(mode, n, mass, said):
    with pytest.raises(ValueError, match=f"{n} rows are too few to guarantee mass={mass}") as caught:
        MinimumVolumeSet(mass=mass, calibration=mode).fit(X[:n])
    assert said in str(caught.value)
    least = int(said.split("to fit, ")[1].split()[0])
    rows = MIXTURE.sample(least, random_state=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice about so few rows
        MinimumVolumeSet(mass=mass, calibration=mode, sigma=1.0, splits=1, random_state=0).fit(rows)
    with pytest.raises(ValueError, match="too few"):
        MinimumVolumeSet(mass=mass, calibration=mode, sigma=1.0).fit(rows[:-1])


def test_a_mass_beyond_the_promise_is_refused_later_too(conformal):
    with pytest.raises(
        ValueError, match=r"300 calibration rows cannot guarantee mass=0.999 .* takes 999.* at most mass=0.9966"
    ):
        conformal.predict(FRESH, mass=0.999)


def test_mass_interval_is_about_the_true_mass(model):
    interval = model.mass_interval_
    truth = np.mean(model.predict(FRESH) == 1)
    assert interval.low < truth < interval.high
    assert interval.n_rows == (600 if model.calibration == "cross" else 300)
    wider = model.mass_interval(confidence=0.999)
    assert wider.low < interval.low
    assert wider.high > interval.high
    bulk = model.mass_interval(0.5, confidence=0.999)
    assert bulk.low < np.mean(model.predict(FRESH, mass=0.5) == 1) < bulk.high
    with pytest.raises(ValueError, match="confidence must be a number"):
        model.mass_interval(confidence=95)


def test_the_guarantee_is_a_sentence(model):
    said = {
        "cross": "No guarantee: on average over samples, the set contains 0.9 of new rows.",
        "conformal": "If rows are exchangeable, a new row falls inside with probability at least 0.9.",
        "pac": "If rows are independent, the set contains at least 0.9 of them, with 95 % confidence.",
    }
    assert model.guarantee_ == said[model.calibration]


def test_rows_held_out_count_once():
    scores = [MinimumVolumeSet(sigma=1.0, splits=b, random_state=0).fit(X).sets_.calibration.scores for b in (1, 5, 20)]
    assert [len(each) for each in scores] == [120, 600, 600]


def test_p_values_are_ranks_never_zero_and_monotone(model):
    rows = np.vstack([FRESH[:500], [[100.0, 100.0]]])
    p_values, scores = model.p_value(rows), model.score_samples(rows)
    m = len(model.sets_.calibration.scores)
    expected = [(1 + np.sum(model.sets_.calibration.scores <= score)) / (m + 1) for score in scores]
    np.testing.assert_allclose(p_values, expected)
    assert p_values[-1] == 1 / (m + 1)
    assert (np.diff(p_values[np.argsort(scores)]) >= 0).all()


def test_p_values_are_valid(model):
    """One fit: the share below t is known to the spread of the calibration rows."""
    p_values = model.p_value(FRESH)
    m = len(model.sets_.calibration.scores)
    for t in (0.01, 0.05, 0.1, 0.2):
        assert np.mean(p_values <= t) < t + 4 * np.sqrt(t * (1 - t) / m)


def test_detect_is_benjamini_hochberg(conformal):
    batch = np.vstack([FRESH[:95], MIXTURE.sample(5, random_state=3) + 20])
    found = conformal.detect(batch, fdr=0.2)
    by_hand = np.sort(found.p_values)
    below = by_hand <= 0.2 * np.arange(1, 101) / 100
    threshold = by_hand[np.flatnonzero(below).max()] if below.any() else 0.0
    np.testing.assert_array_equal(found.flagged, found.p_values <= threshold)
    assert found.threshold == threshold
    assert found.flagged[95:].all()
    np.testing.assert_array_equal(found.flagged, false_discovery_control(found.p_values) <= 0.2)


def test_detect_may_flag_nothing(conformal):
    found = conformal.detect(np.full((3, 2), 2.5), fdr=0.01)
    assert not found.flagged.any()
    assert found.threshold == 0.0


@pytest.mark.slow
def test_band_holds_the_true_masses_and_widens_with_confidence(model):
    band = model.mass_band()
    truth = np.array([np.mean(model.predict(FRESH, mass=mass) == 1) for mass in band.masses])
    assert (band.lower <= truth).all()
    assert (truth <= band.upper).all()
    assert (np.diff(band.lower) >= 0).all()
    narrow = model.mass_band(band.masses, confidence=0.5)
    assert (narrow.lower >= band.lower).all()
    assert (narrow.upper <= band.upper).all()
    assert band.masses[0] == (0.5 if model.calibration == "cross" else 0.01)


def test_drift_of_a_batch(model):
    assert not model.check_drift(FRESH[:500])
    shifted = model.check_drift(FRESH[:500] + 1.0)
    assert shifted
    assert shifted.drifted
    assert shifted.share_outside > 2 * shifted.expected_share


def test_monitor_starts_from_reserved_rows_only(model):
    monitor = model.drift_monitor(random_state=0)
    sudden = [monitor.update(FRESH[i : i + 100] + 1.0) for i in range(0, 500, 100)]
    assert sudden[-1] == (model.calibration != "cross")
    later = model.drift_monitor(random_state=0)
    assert not any(later.update(FRESH[i : i + 100]) for i in range(0, 1000, 100))
    assert [later.update(FRESH[i : i + 100] + 1.0) for i in range(1000, 1500, 100)][-1]


def test_unfitted_says_so():
    for method in ("mass_interval", "mass_band", "drift_monitor"):
        with pytest.raises(NotFittedError):
            getattr(MinimumVolumeSet(), method)()


def test_survives_pickling(conformal):
    copy = pickle.loads(pickle.dumps(conformal))
    np.testing.assert_array_equal(copy.p_value(FRESH[:50]), conformal.p_value(FRESH[:50]))
    assert copy.mass_interval_ == conformal.mass_interval_


@pytest.mark.parametrize(("distribution", "seed"), [("normal", 2), ("normal", 10), ("gamma", 6), ("gamma", 11)])
def test_a_plateau_inside_the_sets_gives_no_false_alarms(distribution, seed):
    # One column, where the score is constant over most of the set, at another height in every split.
    rng = np.random.default_rng(seed)
    draw = {"normal": lambda n: rng.normal(size=(n, 1)), "gamma": lambda n: rng.gamma(2.0, size=(n, 1))}[distribution]
    model = MinimumVolumeSet(random_state=seed).fit(draw(1000))
    assert sum(model.check_drift(draw(500)).drifted for _ in range(10)) <= 1  # at a rate of 0.01
    assert model.check_drift(1.3 * draw(500)).drifted  # and real drift is still seen


def test_a_mass_that_held_out_rows_cannot_resolve_is_not_expected_to_hold_all():
    # Sixty rows held out cannot say what 0.99 is: the least of their scores holds all of them, and not all new rows.
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        with pytest.warns(UserWarning, match="cannot resolve"):
            model = MinimumVolumeSet(0.99, sigma=1.0, random_state=seed).fit(rng.normal(size=(60, 2)))
        report = model.check_drift(rng.normal(size=(300, 2)), false_alarm_rate=0.05)
        assert report.expected_interval[1] > 0.01
        alarms += report.drifted
    assert alarms <= 4  # binomial: more than that in one of four hundred
