import re

import numpy as np
import pytest
from scipy import stats

from mvset import MinimumVolumeSet
from mvset.calibration.guarantees import Guarantee, reserved_rows
from mvset.calibration.splits import GroupSplitting, RandomSplitting, random_splits
from mvset.exceptions import TooFewRowsError

SPLITTING = RandomSplitting(10, 0.2)


@pytest.mark.parametrize("m", [1, 7, 100])
def test_the_paper_claims_the_share_held(m):
    np.testing.assert_allclose(Guarantee("paper").masses_by_rank(m), np.arange(1, m + 1) / m)


@pytest.mark.parametrize("mass", [0.5, 0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("m", [1, 7, 100, 1000])
def test_cross_takes_the_half_rank_nearest_to_the_mass_of_new_rows(m, mass):
    """The set of rank k = 1, 1½, 2, … m holds (k+1)/(m+2) of them."""
    claims = Guarantee("cross").masses_by_rank(2 * m - 1)
    chosen = min(len(claims) - 1, int(np.searchsorted(claims, mass - 1e-12)))
    held = (np.arange(1.0, m + 0.25, 0.5) + 1) / (m + 2)
    assert abs(held[chosen] - mass) == pytest.approx(np.abs(held - mass).min())


@pytest.mark.parametrize("mass", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("m", [19, 20, 99, 1000])
def test_conformal_takes_the_rank_of_the_literature(m, mass):
    """The first rank whose claim reaches the mass is ⌈(m+1)α⌉."""
    rank = 1 + int(np.searchsorted(Guarantee("conformal").masses_by_rank(m), mass - 1e-12))
    assert rank == int(np.ceil((m + 1) * mass - 1e-9))


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("mass", [0.5, 0.9, 0.95])
def test_pac_takes_the_first_rank_that_a_binomial_allows(mass, confidence):
    """The k best hold less than the mass only if at least k of m rows are in a set of that mass."""
    m = 200
    rank = 1 + int(np.searchsorted(Guarantee("pac", confidence).masses_by_rank(m), mass))
    failure = [stats.binom.sf(k - 1, m, mass) for k in (rank - 1, rank)]
    assert failure[1] <= 1 - confidence < failure[0]


@pytest.mark.parametrize("mode", ["conformal", "pac"])
@pytest.mark.parametrize("mass", [0.1, 0.5, 0.8, 0.95, 0.99, 0.999])
def test_least_rows_is_the_least(mode, mass):
    guarantee = Guarantee(mode, 0.9)
    needed = guarantee.min_rows(mass)
    assert guarantee.reaches(mass, needed)
    assert not guarantee.reaches(mass, needed - 1)
    assert guarantee.masses_by_rank(needed)[-1] == pytest.approx(max(mass, guarantee.masses_by_rank(needed)[-1]))


def test_known_numbers_of_rows():
    assert Guarantee("conformal").min_rows(0.95) == 19
    assert Guarantee("conformal").min_rows(0.999) == 999
    assert Guarantee("pac", 0.95).min_rows(0.95) == 59  # Wilks, 1941
    assert Guarantee("pac", 0.95).min_rows(0.99) == 299
    assert Guarantee("cross").min_rows(0.999) == 1


@pytest.mark.parametrize(
    ("guarantee", "sentence"),
    [
        (Guarantee("cross"), "No guarantee: on average over samples, the set contains 0.9 of new rows."),
        (Guarantee("conformal"), "If rows are exchangeable, a new row falls inside with probability at least 0.9."),
        (
            Guarantee("pac", 0.95),
            "If rows are independent, the set contains at least 0.9 of them, with 95 % confidence.",
        ),
        (
            Guarantee("pac", 0.999),
            "If rows are independent, the set contains at least 0.9 of them, with 99.9 % confidence.",
        ),
        (Guarantee("paper"), "No guarantee, and nothing is known about the mass on new rows."),
    ],
    ids=lambda value: getattr(value, "mode", ""),
)
def test_what_holds_is_stated_in_a_sentence(guarantee, sentence):
    assert guarantee.stated(0.9) == sentence


def test_a_model_states_what_was_guaranteed_in_the_end(split_model, conformal_model, moons):
    assert split_model.guarantee_ == Guarantee("cross").stated(0.95)
    assert conformal_model.guarantee_ == Guarantee("conformal").stated(0.95)
    pac = MinimumVolumeSet(0.8, calibration="pac", confidence=0.9, sigma=0.3, splits=3, random_state=0).fit(moons)
    assert pac.guarantee_ == "If rows are independent, the set contains at least 0.8 of them, with 90 % confidence."
    large = MinimumVolumeSet(sigma=0.3, splits=3, max_train_samples=50, random_state=0).fit(moons)
    assert large.guarantee_ == Guarantee("conformal").stated(0.95)  # most rows train nothing


@pytest.mark.parametrize(("mode", "confidence"), [("magic", 0.95), (None, 0.95), (["pac"], 0.95), ("pac", 2.0)])
def test_a_guarantee_that_does_not_exist_is_refused(mode, confidence):
    with pytest.raises(ValueError, match=rf"no calibration mode {re.escape(repr(mode))} with confidence {confidence}"):
        Guarantee(mode, confidence)


def test_a_mass_next_to_one_is_refused_at_once():
    guarantee = Guarantee("conformal")
    assert guarantee.min_rows(1 - 1e-9) == pytest.approx(1e9, rel=1e-6)
    assert not guarantee.reaches(1 - 1e-9, 300)
    for mode in ("conformal", "pac"):
        for n in (1, 7, 300):
            largest = Guarantee(mode).masses_by_rank(n)[-1]
            assert Guarantee(mode).reaches(largest, n)
            assert not Guarantee(mode).reaches(largest + 1e-9, n)


def drawn(guarantee, mass, n_rows, rule=SPLITTING, seed=0):
    return reserved_rows(guarantee, mass, rule, n_rows, np.random.RandomState(seed))


@pytest.mark.parametrize(
    ("mode", "mass"), [("pac", 0.1), ("pac", 0.5), ("pac", 0.95), ("pac", 0.99), ("conformal", 0.9)]
)
def test_the_number_of_rows_that_is_said_to_suffice_is_the_least(mode, mass):
    guarantee = Guarantee(mode, 0.9)
    with pytest.raises(TooFewRowsError, match=r"^2 rows are too few ") as error:
        drawn(guarantee, mass, 2)
    least = error.value.args[0].facts["needed"]
    kept, reserved = drawn(guarantee, mass, least)
    assert guarantee.reaches(mass, len(reserved))
    assert len(random_splits(len(kept), 1, 0.2, np.random.RandomState(0))) == 1
    with pytest.raises(TooFewRowsError, match=f"^{least - 1} rows are too few .* {least} in all"):
        drawn(guarantee, mass, least - 1)


def test_reserved_rows_are_a_random_half():
    kept, reserved = drawn(Guarantee("conformal"), 0.9, 101)
    np.testing.assert_array_equal(np.sort(np.concatenate([kept, reserved])), np.arange(101))
    assert len(reserved) == 51
    assert not np.array_equal(reserved, drawn(Guarantee("conformal"), 0.9, 101, seed=1)[1])


def test_groups_that_leave_too_few_rows_say_so():
    """Enough rows in all, but one group has nearly all of them."""
    groups = np.append(np.zeros(95, dtype=int), np.arange(1, 6))
    assert len(drawn(Guarantee("conformal"), 0.95, 100)[1]) == 50
    with pytest.raises(
        TooFewRowsError, match=r"of 100 rows are left to fit with and \d+ to calibrate with, because rows"
    ):
        drawn(Guarantee("conformal"), 0.95, 100, GroupSplitting(5, 0.2, groups))
