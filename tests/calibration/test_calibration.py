import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from mvset.calibration.calibration import COMPARABLE_FROM, Calibration
from mvset.calibration.dependence import Dependence, group_effects
from mvset.calibration.guarantees import Guarantee
from mvset.calibration.split_models import pooled_scores
from mvset.calibration.splits import Split, random_splits
from mvset.calibration.views import HeldOut
from mvset.calibration.ways import HeldOutRows
from mvset.inference.p_values import binomial_interval

MASSES = np.linspace(0.001, 0.999, 333)
MODES = ("cross", "conformal", "pac", "paper")


def crossed(splits, scores, groups=None, ordered=None):
    """Calibration of distinct rows that splits hold out."""
    rows = np.arange(1000.0)[:, np.newaxis]
    held_out = HeldOut(*pooled_scores(rows, splits, scores, None), scores)
    return (
        HeldOutRows(rows, np.arange(1000), splits, groups, Dependence(ordered)).cross_calibrated(held_out).calibration
    )


def conformal(scores, ordered=None, effects=None):
    plain = Calibration.from_scores(scores, Guarantee("conformal"))
    return plain.dependent(scores, Dependence(ordered), group_effects=effects)


def calibrated(mode, n=101, seed=0, ties=False):
    """Normal scores, with each row held out twice where there are splits."""
    rng = np.random.default_rng(seed)
    value = rng.normal(size=n).round(0 if ties else 12)
    if mode == "cross":
        splits = random_splits(n, 4, 0.5, np.random.RandomState(seed))
        scores = [value[split.held_out] + 0.1 * (not ties) * rng.normal(size=len(split.held_out)) for split in splits]
        return crossed(splits, scores)
    if mode == "paper":
        return Calibration.without_scores(np.sort(value)[::-1].copy())
    return Calibration.from_scores(value, Guarantee(mode))


@pytest.fixture(params=MODES)
def calibration(request):
    return calibrated(request.param)


# ---------------------------------------------------------------- the parts


def test_it_is_immutable_and_pickled_through_its_constructor(calibration):
    assert pickle.loads(pickle.dumps(calibration)) == calibration
    with pytest.raises(FrozenInstanceError):
        calibration.comparable_from = 0.1
    for name in ("offsets", "scores", "effects", "order_effects"):
        assert not getattr(calibration, name).flags.writeable


def test_scores_repeat_if_many_rows_have_them():
    scores = np.random.default_rng(0).uniform(0.1, 0.2, size=50_000).astype(np.float32).astype(float)
    assert len(np.unique(scores)) < len(scores) - 100  # some tie by rounding
    assert not len(conformal(scores).repeated_scores)
    scores[:60], scores[60:120] = 0.11, 0.19
    found = conformal(scores).repeated_scores
    np.testing.assert_array_equal(found, [0.11, 0.19])
    few = conformal(np.repeat([1.0, 2.0, 3.0], [2, 3, 4]))
    np.testing.assert_array_equal(few.repeated_scores, [2.0, 3.0])


@pytest.mark.parametrize(
    ("field", "damage", "problem"),
    [
        ("guarantee", lambda guarantee: guarantee.mode, r"\.guarantee is of the wrong type"),
        ("offsets", lambda a: a[::-1].copy(), r"\.offsets must descend"),
        ("offsets", lambda a: a[:-1].copy(), r"\.effects must have length"),
        ("offsets", lambda a: a.astype(np.float32), r"\.offsets must be a float64 array"),
        ("offsets", lambda a: a[:, np.newaxis], r"\.offsets must be a float64 array of 1"),
        ("offsets", lambda a: np.where(np.arange(len(a)) == 3, np.nan, a), r"\.offsets must be finite"),
        ("offsets", lambda a: np.where(np.arange(len(a)) == 0, np.inf, a), r"\.offsets must be finite"),
        ("scores", lambda a: a[::-1].copy(), r"\.scores must ascend"),
        ("scores", lambda a: np.append(a, np.inf), r"\.scores must be finite"),
        ("scores", lambda a: np.append(np.nan, a), r"\.scores must be finite"),
        ("scores", lambda a: a[:-1].copy(), r"\.counts must have length"),
        ("scores", lambda a: a.astype(str), r"\.scores must be a float64 array"),
        ("scores", lambda a: a.tolist(), r"\.scores must be a float64 array"),
        ("effects", lambda a: np.full_like(a, 0.99), r"\.effects and \.order_effects must be at least one"),
        ("effects", lambda a: np.append(a, 1.0), r"\.effects must have length"),
        ("effects", lambda a: np.where(np.arange(len(a)) == 3, np.nan, a), r"\.effects must be finite"),
        ("order_effects", lambda a: np.full_like(a, 0.99), r"\.effects and \.order_effects must be at least one"),
        ("order_effects", lambda a: np.append(a, 1.0), r"\.order_effects must have length"),
        ("order_effects", lambda a: np.where(np.arange(len(a)) == 3, np.inf, a), r"\.order_effects must be finite"),
        ("comparable_from", lambda mass: 1.0, r"\.comparable_from must be a mass"),
        ("comparable_from", lambda mass: -0.1, r"\.comparable_from must be a mass"),
        ("comparable_from", lambda mass: np.nan, r"\.comparable_from must be a mass"),
        ("counts", lambda a: a - 1.0, r"\.counts must be numbers of rows"),
        ("counts", lambda a: a + 0.5, r"\.counts must be numbers of rows"),
        ("counts", lambda a: a + 1.0, r"\.counts must be one for the scores that are kept"),
        ("exact_up_to", lambda score: np.nan, r"\.exact_up_to must be a score"),
        ("exact_up_to", lambda score: None, r"\.exact_up_to must be a score"),
    ],
)
@pytest.mark.parametrize("mode", ["cross", "conformal", "pac"])
def test_damaged_parts_are_refused(mode, field, damage, problem):
    parts = calibrated(mode).__getstate__()
    parts[field] = damage(parts[field])
    with pytest.raises(ValueError, match=f"^Calibration{problem}"):
        Calibration(**parts)
    with pytest.raises(ValueError, match=f"^Calibration{problem}"):
        object.__new__(Calibration).__setstate__(parts)


@pytest.mark.parametrize("mode", ["cross", "conformal"])
def test_every_score_has_its_offset(mode):
    parts = calibrated(mode).__getstate__()
    fewer = {name: parts[name][:-1].copy() for name in ("offsets", "effects", "order_effects")}
    with pytest.raises(ValueError, match=r"^Calibration must have an offset for each score; has "):
        Calibration(**parts | fewer)
    none = {name: parts[name][:0].copy() for name in ("offsets", "effects", "order_effects", "scores", "counts")}
    with pytest.raises(ValueError, match=r"^Calibration\.offsets must descend .* at least one"):
        Calibration(**parts | none)


# ---------------------------------------------------------------- offsets and levels


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [1, 2, 20, 101])
@pytest.mark.parametrize("mode", MODES)
def test_levels_tell_membership_in_the_set_of_every_mass(mode, n, ties):
    calibration = calibrated(mode, max(n, 4) if mode == "cross" else n, ties=ties)
    offsets = calibration.offsets
    scores = np.concatenate([offsets, np.nextafter(offsets, -np.inf), offsets + 0.01, [-100.0, 100.0]])
    levels = calibration.level(scores)
    for mass in calibration.guaranteed(np.concatenate([MASSES, calibration.rank_masses[calibration.rank_masses < 1]])):
        np.testing.assert_array_equal(levels <= mass, scores >= calibration.offset(mass))


def test_sets_are_nested(calibration):
    offsets = [calibration.offset(mass) for mass in calibration.guaranteed(MASSES)]
    assert (np.diff(offsets) <= 0).all()
    scores = np.sort(calibration.offsets)
    assert (np.diff(calibration.level(scores)) <= 0).all()


@pytest.mark.parametrize("n", [20, 101, 1000])
def test_cross_mode_takes_the_half_rank_nearest_to_the_mass(n):
    """The set of rank k holds (k+1)/(n+2) of new rows."""
    scores = np.random.default_rng(0).normal(size=n)
    calibration = crossed([Split(np.arange(0), np.arange(n))], [scores])
    for mass in MASSES:
        rank = np.clip(np.round(2 * ((n + 2) * mass - 1)) / 2, 1, n)
        around = [np.sort(scores)[-int(k)] for k in (np.floor(rank), np.ceil(rank))]
        assert calibration.offset(mass) == pytest.approx(np.mean(around), rel=1e-9, abs=1e-12)
        assert calibration.share_inside(mass) == pytest.approx(np.floor(rank) / n)


def test_cross_mode_holds_the_mass_of_new_rows():
    """Uniform scores of one model: the mass of {score >= offset} is 1 - offset, with a mean of 0.9 within a rank."""
    draws = np.random.default_rng(0).uniform(size=(4000, 60))
    splits = [Split(np.arange(0), np.arange(60))]
    masses = [1 - crossed(splits, [draw], ordered=False).offset(0.9) for draw in draws]
    assert np.mean(masses) == pytest.approx(0.9, abs=0.5 / 60 + 4 * np.std(masses) / np.sqrt(4000))


@pytest.mark.parametrize("mass", [0.5, 0.9, 0.95])
def test_conformal_offsets_are_scores_of_the_rank_promised(mass):
    scores = np.random.default_rng(0).normal(size=300)
    calibration = conformal(scores)
    rank = int(np.ceil(301 * mass - 1e-9))
    assert calibration.offset(mass) == pytest.approx(np.sort(scores)[-rank], rel=1e-11)
    assert calibration.share_inside(mass) == rank / 300


def test_a_mass_that_the_rows_cannot_guarantee_is_refused():
    calibration = calibrated("conformal", 19)
    assert calibration.offset(0.95) == pytest.approx(calibration.scores[0])
    assert not calibration.can_guarantee(0.951)
    with pytest.raises(ValueError, match=r"19 calibration rows cannot .* mass=0.96 .* takes 24.* at most mass=0.95"):
        calibration.offset(0.96)
    np.testing.assert_array_equal(calibration.guaranteed([0.5, 0.95, 0.99]), [0.5, 0.95])


@pytest.mark.parametrize("mass", [0.0, 1.0, -0.5, np.nan, "0.9"])
def test_masses_lie_between_zero_and_one(calibration, mass):
    with pytest.raises(ValueError, match="mass must be"):
        calibration.offset(mass)


# ---------------------------------------------------------------- where it comes from


def test_each_row_counts_once_with_its_mean_score():
    splits = [Split(np.array([3, 4]), np.array([0, 1, 2])), Split(np.array([0, 3]), np.array([1, 2, 4]))]
    calibration = crossed(splits, [np.array([1.0, 2.0, 3.0]), np.array([4.0, 3.0, 0.5])])
    np.testing.assert_array_equal(calibration.scores, [0.5, 1.0, 3.0, 3.0])
    assert calibration.guarantee.mode == "cross"
    assert calibration.comparable_from == COMPARABLE_FROM == 0.5


def test_reserved_rows_are_comparable_at_every_mass():
    calibration = calibrated("conformal")
    assert calibration.comparable_from == 0.0
    np.testing.assert_allclose(calibration.comparable_masses, np.arange(1, 100) / 100)
    np.testing.assert_allclose(calibrated("cross").comparable_masses, np.arange(50, 100) / 100)


def test_offsets_of_training_rows_say_nothing_about_new_ones():
    calibration = calibrated("paper")
    assert not calibration.is_calibrated
    for call in (
        lambda: calibration.p_value([0.0]),
        lambda: calibration.mass_interval(0.9),
        lambda: calibration.mass_band(),
        lambda: calibration.drift_counter(0.9),
    ):
        with pytest.raises(ValueError, match="keeps no calibration scores"):
            call()


def test_the_order_of_rows_counts_if_they_depend_on_it_or_if_told():
    rng = np.random.default_rng(0)
    independent, smooth = rng.normal(size=500), np.sin(np.arange(500) / 15) + 0.1 * rng.normal(size=500)
    assert conformal(independent).decorrelation == 1
    assert conformal(smooth).decorrelation > 10
    assert conformal(smooth, ordered=False).decorrelation == 1
    dependent = conformal(smooth, ordered=True)
    assert dependent.decorrelation == np.ceil(2 * dependent.order_effects.max())
    splits = [Split(np.arange(0), np.arange(500))]
    assert crossed(splits, [smooth]).decorrelation > 10
    assert crossed(splits, [independent]).decorrelation == 1


# ---------------------------------------------------------------- inference


def test_effective_size_is_the_number_of_rows_by_both_effects():
    plain = calibrated("conformal", 200)
    assert plain.effective_size(0.9) == 200
    effects = np.linspace(1.0, 4.0, 200)
    calibration = replace(plain, effects=effects, order_effects=np.full(200, 2.0))
    rank = int(np.ceil(201 * 0.9))
    assert calibration.effective_size(0.9) == pytest.approx(200 / effects[rank - 1] / 2)


def test_rows_of_a_group_count_for_less():
    scores = np.repeat(np.random.default_rng(0).normal(size=50), 8)
    groups = np.repeat(np.arange(50), 8)
    plain = conformal(scores, ordered=False)
    reserved = conformal(scores, ordered=False, effects=group_effects(scores, groups, plain.offsets))
    assert plain.effective_size(0.8) == 400
    assert reserved.effective_size(0.8) == pytest.approx(50, rel=0.05)
    held_out = [Split(np.arange(100), np.arange(100, 400))]
    pooled = crossed(held_out, [scores[100:]], groups=groups, ordered=False)
    assert pooled.effective_size(0.8) == pytest.approx(300 / 8, rel=0.1)


def test_splits_that_disagree_count_for_less():
    rng = np.random.default_rng(0)
    splits = random_splits(300, 10, 0.5, np.random.RandomState(0))
    value = rng.normal(size=300)
    sizes = []
    for noise in (0.0, 0.5, 5.0):
        scores = [value[split.held_out] + noise * rng.normal(size=150) for split in splits]
        sizes.append(crossed(splits, scores, ordered=False).effective_size(0.9))
    assert sizes[0] == pytest.approx(300)
    assert sizes[0] > sizes[1] > sizes[2] >= 90


def test_the_interval_is_binomial_and_wider_with_fewer_effective_rows():
    plain = calibrated("conformal", 200)
    interval = plain.mass_interval(0.9, 0.95)
    assert (interval.low, interval.high) == pytest.approx(binomial_interval(181, 200, 0.95))
    assert (interval.estimate, interval.n_rows, interval.effective_rows) == (181 / 200, 200, 200)
    before = interval
    for effect in (1.5, 3.0, 30.0):
        wider = replace(plain, effects=np.full(200, effect)).mass_interval(0.9, 0.95)
        assert wider.low < before.low < 0.9 < before.high < wider.high
        assert wider.effective_rows == pytest.approx(200 / effect)
        assert wider.estimate == interval.estimate
        before = wider


def test_the_band_holds_the_shares_and_is_wider_with_fewer_effective_rows(calibration):
    if not calibration.is_calibrated:
        return
    band = calibration.mass_band()
    shares = [calibration.share_inside(mass) for mass in band.masses]
    assert (band.lower <= shares).all()
    assert (shares <= band.upper).all()
    doubled = replace(calibration, effects=2 * calibration.effects).mass_band()
    assert np.mean(doubled.upper - doubled.lower) > np.mean(band.upper - band.lower)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("height", [0.0, 1e-9, 1e9, -1e9])
def test_a_score_lies_below_all_offsets(mode, height):
    calibration = calibrated(mode)
    moved = replace(calibration, offsets=calibration.offsets + height, scores=calibration.scores + height)
    assert moved.below_all < moved.offsets[-1]
    assert moved.level(moved.below_all) == 1.0


@pytest.mark.parametrize(("least", "below"), [(0.5, -0.5), (-0.5, -1.5), (-50.0, -100.0), (3.0, 0.0)])
def test_a_score_lies_below_the_least_offset_by_one_or_its_size(least, below):
    assert Calibration.without_scores(np.array([200.0, 100.0, least])).below_all == below


def test_one_calibration_row_answers():
    calibration = conformal(np.array([1.0]))
    counter = calibration.drift_counter(0.5)
    counter.update(np.array([0.5, 2.0]))
    assert not counter.report().drifted
    assert crossed([Split(np.arange(1), np.array([1]))], [np.array([1.0])]).drift_counter(0.5) is not None


def test_p_values_are_ranks():
    calibration = calibrated("cross")
    p_values = calibration.p_value([-np.inf, np.inf, calibration.scores[4]])
    np.testing.assert_allclose(p_values, np.array([1, 102, 6]) / 102)


def test_drift_is_judged_by_effective_rows():
    scores = np.random.default_rng(1).normal(size=300) - 0.3
    plain = calibrated("conformal", 300)
    reports = []
    for calibration in (plain, replace(plain, order_effects=np.full(300, 10.0))):
        counter = calibration.drift_counter(0.9)
        counter.update(scores)
        reports.append(counter.report())
    assert [report.effective_rows for report in reports] == [300, 30]
    assert reports[0].share_p_value < reports[1].share_p_value
    assert reports[0].distribution_p_value < reports[1].distribution_p_value
    assert reports[0].share_outside == reports[1].share_outside
    assert reports[0].expected_share == reports[1].expected_share
    widths = [report.share_interval[1] - report.share_interval[0] for report in reports]
    assert widths[0] < widths[1]


@pytest.mark.parametrize("mode", ["cross", "conformal", "pac"])
@pytest.mark.parametrize("n", [4, 9])
def test_a_handful_of_rows_still_answers(mode, n):
    calibration = calibrated(mode, n)
    counter = calibration.drift_counter(0.4)
    counter.update(np.array([0.0, 1.0]))
    assert counter.report().n_rows == 2
    assert 0 <= calibration.mass_interval(0.4).low < calibration.mass_interval(0.4).high <= 1
    assert len(calibration.mass_band().masses) > 0
