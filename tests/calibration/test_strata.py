import pickle

import numpy as np
import pytest
from scipy.stats import norm

from mvset.calibration.calibration import Calibration
from mvset.calibration.dependence import Dependence
from mvset.calibration.guarantees import Guarantee
from mvset.calibration.strata import StratumCalibrations
from mvset.calibration.ways import Calibrated
from mvset.exceptions import UnseenStratumWarning

RNG = np.random.default_rng(0)
SIZES = {"large": 700, "low": 280, "small": 20}
GROUPS = np.repeat(np.array(list(SIZES), dtype=object), list(SIZES.values()))
SCORES = RNG.normal(size=1000) - 3.0 * (GROUPS == "low") - 1.5 * (GROUPS == "small")


def of(label):
    """Scores of a group."""
    return SCORES[np.array([group == label for group in GROUPS])]


def whole(mode="cross"):
    return Calibration.from_scores(SCORES, Guarantee(mode), 0.5 if mode == "cross" else 0.0)


def strata_of(calibration, scores=SCORES, groups=GROUPS, mass=0.95):
    return StratumCalibrations.of(Calibrated(calibration, scores, np.arange(len(scores))), groups, mass)


def grouped(mode="cross"):
    return strata_of(whole(mode))


def by_label(groups):
    return dict(zip(groups.labels, groups.calibrations, strict=True))


def test_the_labels_are_those_of_the_rows():
    groups = grouped()
    assert groups.labels == ["large", "low", "small"]
    np.testing.assert_array_equal(groups.codes(["low", "small", "low"], 3), [1, 2, 1])
    assert len(groups.levels) == 1000


def test_the_strata_are_those_of_the_rows_that_calibrate():
    rows = RNG.permutation(1000)[:600]
    table = np.full(2000, "trains", dtype=object)
    table[1000:] = GROUPS
    found = StratumCalibrations.of(Calibrated(whole(), SCORES[rows], 1000 + rows), table, 0.95)
    assert found == strata_of(whole(), SCORES[rows], GROUPS[rows])
    assert found.labels == ["large", "low", "small"]


@pytest.mark.parametrize("mass", [0.5, 0.9, 0.95])
def test_every_group_holds_its_own_mass(mass):
    for label, calibration in by_label(grouped()).items():
        if label != "small":
            share = np.mean(of(label) >= calibration.offset(mass))
            assert share == pytest.approx(mass, abs=0.05)
    share = np.mean(of("low") >= whole().offset(mass))
    assert share < mass - 0.1


def test_all_rows_have_the_weight_of_twenty_in_each_group():
    for label, calibration in by_label(grouped()).items():
        own = of(label)
        times, rest = divmod(len(calibration.scores), len(own) + 20)
        assert rest == 0
        shares, others = ((np.arange(n * times) + 0.5) / (n * times) for n in (len(own), 20))
        smooth = np.quantile(own, shares, method="weibull"), np.quantile(whole().scores, others)
        expected = np.concatenate(smooth)
        np.testing.assert_allclose(calibration.scores, np.sort(expected))
        assert calibration.effective_size(0.5) == pytest.approx((len(own) + 20) / whole().effects[0], rel=0.3)


def test_far_quantiles_of_small_equal_groups_are_those_of_all_rows():
    """Twenty groups of thirty rows, of one distribution: a mean over all groups and draws."""
    rng, masses = np.random.default_rng(7), []
    for _ in range(10):
        scores, groups = rng.normal(size=600), np.repeat([f"g{i:02}" for i in range(20)], 30)
        calibration = Calibration.from_scores(scores, Guarantee("cross"))
        found = StratumCalibrations.of(Calibrated(calibration, scores, np.arange(600)), groups, 0.99)
        masses += [norm.sf(each.offset(0.99)) for each in found.calibrations]
    assert np.mean(masses) == pytest.approx(0.99, abs=0.005)


@pytest.mark.parametrize("mass", [0.5, 0.7])
def test_a_group_of_twenty_rows_lies_half_way(mass):
    """Of its own rows and of those of the whole, shares on both sides of the mass, with the mass as their mean."""
    offset = by_label(grouped())["small"].offset(mass)
    shares = [np.mean(scores >= offset) for scores in (SCORES, of("small"))]
    assert np.mean(shares) == pytest.approx(mass, abs=0.06)
    own = np.quantile(of("small"), 1 - mass)
    assert min(own, whole().offset(mass)) - 0.1 < offset < max(own, whole().offset(mass)) + 0.1


@pytest.mark.parametrize(("mode", "n_needed"), [("conformal", 19), ("pac", 59)])
def test_with_a_guarantee_a_group_has_its_own_rows_or_the_offsets_of_the_whole(mode, n_needed):
    for n in (n_needed - 1, n_needed):
        groups = np.where(np.arange(1000) < n, "few", "many").astype(object)
        found = by_label(strata_of(whole(mode), groups=groups))
        if n < n_needed:
            assert found["few"] == whole(mode)
        else:
            np.testing.assert_array_equal(found["few"].scores, np.sort(SCORES[:n]))
            assert found["few"].guarantee == Guarantee(mode)
        np.testing.assert_array_equal(found["many"].scores, np.sort(SCORES[n:]))


def test_design_effects_are_those_of_the_whole_at_the_same_mass():
    smooth = np.sin(np.arange(1000) / 10)
    calibration = Calibration.from_scores(smooth, Guarantee("conformal")).dependent(smooth, Dependence(True))
    assert calibration.order_effects.max() > 5
    found = by_label(strata_of(calibration, smooth, mass=0.9))
    for label in ("large", "low"):
        n = SIZES[label]
        ratio = (found[label].effective_size(0.8) / n) / (calibration.effective_size(0.8) / 1000)
        assert ratio == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("mode", ["cross", "conformal", "pac"])
def test_levels_are_those_of_the_calibration_rows_in_their_groups(mode):
    groups = grouped(mode)
    expected = [calibration.level(of(label)) for label, calibration in by_label(groups).items()]
    np.testing.assert_array_equal(groups.levels, np.sort(np.concatenate(expected)))


def test_groups_not_seen_are_named_and_counted_last():
    groups = grouped()
    with pytest.warns(UnseenStratumWarning, match="no rows of stratum 'new', 'other': they are compared"):
        np.testing.assert_array_equal(groups.codes(["new", "low", "other", "new"], 4), [3, 1, 3, 3])
    with pytest.warns(UnseenStratumWarning, match="'g0', 'g1', 'g2', 'g3', 'g4' and 3 more") as caught:
        groups.codes([f"g{i}" for i in range(8)], 8)
    assert caught[0].filename == __file__


def test_it_equals_its_copy():
    groups = grouped()
    assert pickle.loads(pickle.dumps(groups)) == groups
    assert groups != grouped("conformal")


@pytest.mark.parametrize(
    ("field", "damage"),
    [
        ("labels", lambda labels: [*labels[:2], labels[0]]),
        ("labels", lambda labels: [*labels[:2], 3]),
        ("labels", lambda labels: labels[:2]),
        ("calibrations", lambda calibrations: [*calibrations[:2], None]),
        ("levels", lambda levels: levels[:, np.newaxis]),
        ("levels", lambda levels: np.append(levels, np.nan)),
        ("levels", lambda levels: levels[::-1].copy()),
        ("levels", lambda levels: levels + 1.0),
    ],
)
def test_damaged_parts_are_refused(field, damage):
    parts = grouped().__getstate__()
    parts[field] = damage(parts[field])
    named = (
        r"^StratumCalibrations\.levels must" if field == "levels" else "^StratumCalibrations must have distinct labels"
    )
    with pytest.raises(ValueError, match=named):
        StratumCalibrations(**parts)
    with pytest.raises(ValueError, match=named):
        object.__new__(StratumCalibrations).__setstate__(parts)
