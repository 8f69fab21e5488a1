import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold, ShuffleSplit, TimeSeriesSplit

from mvset.calibration.splits import (
    BlockSplitting,
    CustomSplitting,
    GroupSplitting,
    RandomSplitting,
    Split,
    limited,
    max_train_rows,
    random_splits,
    splitting,
    subsample,
    trained_rows,
    warn_if_unresolved,
    within,
)
from mvset.exceptions import CalibrationWarning


@pytest.mark.parametrize(("n", "n_splits", "test_size"), [(500, 10, 0.2), (506, 25, 0.2), (7, 4, 0.3), (100, 3, 0.75)])
def test_splits_partition_the_rows_in_equal_sizes(n, n_splits, test_size):
    splits = random_splits(n, n_splits, test_size, np.random.RandomState(0))
    assert len(splits) == n_splits
    for split in splits:
        assert len(split.held_out) == np.ceil(test_size * n)
        np.testing.assert_array_equal(np.union1d(split.train, split.held_out), np.arange(n))
        assert len(split.train) + len(split.held_out) == n


@pytest.mark.parametrize("n_splits", [1, 5, 10, 13])
def test_rows_are_held_out_equally_often(n_splits):
    splits = random_splits(503, n_splits, 0.2, np.random.RandomState(0))
    times = np.bincount(np.concatenate([split.held_out for split in splits]), minlength=503)
    assert times.max() - times.min() <= 1


def test_each_split_is_a_uniform_draw():
    """Chance of row 0 in the third of three splits, which straddles two rounds: 0.4 ± 4 standard errors."""
    hits = [0 in random_splits(10, 3, 0.4, np.random.RandomState(seed))[2].held_out for seed in range(3000)]
    assert abs(np.mean(hits) - 0.4) < 4 * np.sqrt(0.4 * 0.6 / 3000)


def test_same_seed_same_splits():
    first, second = (random_splits(50, 4, 0.2, np.random.RandomState(3)) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.held_out, b.held_out)


@pytest.mark.parametrize(("n", "test_size"), [(2, 0.2), (10, 0.95)])
def test_too_few_rows(n, test_size):
    with pytest.raises(ValueError, match=rf"^{n} rows leave"):
        random_splits(n, 3, test_size, np.random.RandomState(0))


# ---------------------------------------------------------------- groups


GROUPS = np.random.default_rng(0).integers(23, size=400)


@pytest.mark.parametrize("n_splits", [1, 5, 13])
def test_no_group_is_on_both_sides(n_splits):
    splits = GroupSplitting(n_splits, 0.2, GROUPS).splits(np.arange(400), np.random.RandomState(0))
    assert len(splits) == n_splits
    for split in splits:
        assert not np.isin(GROUPS[split.train], GROUPS[split.held_out]).any()
        np.testing.assert_array_equal(np.union1d(split.train, split.held_out), np.arange(400))
        assert len(np.unique(GROUPS[split.held_out])) == 5


@pytest.mark.parametrize("n_splits", [5, 10, 13])
def test_groups_are_held_out_equally_often(n_splits):
    splits = GroupSplitting(n_splits, 0.2, GROUPS).splits(np.arange(400), np.random.RandomState(0))
    times = np.bincount(np.concatenate([np.unique(GROUPS[split.held_out]) for split in splits]), minlength=23)
    assert times.max() - times.min() <= 1


def test_whole_groups_are_reserved_and_the_others_are_split():
    splitting_rule, rng = GroupSplitting(5, 0.2, GROUPS), np.random.RandomState(0)
    kept, reserved = splitting_rule.reserve(400, 0.5, rng)
    assert not np.isin(GROUPS[kept], GROUPS[reserved]).any()
    assert len(np.unique(GROUPS[reserved])) == 12
    np.testing.assert_array_equal(np.union1d(kept, reserved), np.arange(400))
    for split in splitting_rule.splits(kept, rng):
        assert not np.isin(GROUPS[kept[split.train]], GROUPS[kept[split.held_out]]).any()
        np.testing.assert_array_equal(np.union1d(split.train, split.held_out), np.arange(len(kept)))


def test_two_groups_are_the_least():
    two = GroupSplitting(4, 0.2, np.repeat([0, 1], 10)).splits(np.arange(20), np.random.RandomState(0))
    assert {len(split.held_out) for split in two} == {10}
    with pytest.raises(ValueError, match=r"groups has 1 distinct value in 20 rows; at least 2 are needed"):
        GroupSplitting(4, 0.2, np.zeros(20, dtype=int)).splits(np.arange(20), np.random.RandomState(0))


def test_one_group_is_left_to_train_on():
    two = GroupSplitting(4, 0.9, np.repeat([0, 1], 10)).splits(np.arange(20), np.random.RandomState(0))
    assert {len(split.train) for split in two} == {10}


def test_a_single_row_to_train_on_is_refused():
    lopsided = np.append(0, np.ones(19, dtype=int))
    with pytest.raises(ValueError, match="leaves a split with a single row to train on: 2 groups in 20 rows"):
        GroupSplitting(4, 0.2, lopsided).splits(np.arange(20), np.random.RandomState(0))


# ---------------------------------------------------------------- time


def runs(indices):
    """Runs of consecutive numbers."""
    return np.split(indices, np.flatnonzero(np.diff(indices) != 1) + 1)


@pytest.mark.parametrize("gap", [0, 3, 20])
@pytest.mark.parametrize("n", [97, 200, 503])
def test_contiguous_blocks_are_held_out_and_training_rows_keep_their_distance(n, gap):
    for split in BlockSplitting(10, 0.2, min(gap, n // 20)).splits(np.arange(n), np.random.RandomState(0)):
        assert len(split.held_out) == pytest.approx(0.2 * n, abs=2)
        assert all(len(run) >= n // 10 for run in runs(split.held_out))
        distance = np.abs(split.train[:, np.newaxis] - split.held_out).min(axis=1)
        assert distance.min() == min(gap, n // 20) + 1
        left_out = np.setdiff1d(np.arange(n), np.union1d(split.train, split.held_out))
        assert (np.abs(left_out[:, np.newaxis] - split.held_out).min(axis=1, initial=n) <= gap).all()


def test_blocks_are_held_out_equally_often():
    splits = BlockSplitting(10, 0.2, 2).splits(np.arange(200), np.random.RandomState(0))
    np.testing.assert_array_equal(np.bincount(np.concatenate([split.held_out for split in splits])), 2)


def test_reserved_blocks_keep_their_distance_and_the_rest_is_split_by_time():
    rule, rng = BlockSplitting(6, 0.2, 7), np.random.RandomState(0)
    kept, reserved = rule.reserve(400, 0.5, rng)
    assert len(reserved) == 200
    assert all(len(run) % 40 == 0 for run in runs(reserved))
    assert np.abs(kept[:, np.newaxis] - reserved).min() == 8
    for split in rule.splits(kept, rng):
        distance = np.abs(kept[split.train][:, np.newaxis] - kept[split.held_out]).min()
        assert distance > 7
        assert len(np.intersect1d(split.train, split.held_out)) == 0


def test_too_few_rows_in_time_order():
    with pytest.raises(ValueError, match="12 rows in time order are too few to train on with a gap of 6 rows"):
        BlockSplitting(3, 0.2, 6).splits(np.arange(12), np.random.RandomState(0))


def test_the_gap_is_the_memory_of_the_rows_and_a_twentieth_at_most():
    rng = np.random.default_rng(0)
    independent, walk = rng.normal(size=(400, 2)), rng.normal(size=(400, 2)).cumsum(axis=0)
    assert splitting(10, independent, time_order=True).gap <= 1
    assert splitting(10, walk, time_order=True).gap == 20
    assert splitting(10, np.repeat(independent, 5, axis=0), time_order=True).gap == pytest.approx(4, abs=1)


# ---------------------------------------------------------------- splitters of scikit-learn


X = np.random.default_rng(0).normal(size=(100, 2))


def custom(splitter):
    return CustomSplitting(splitter, X, GROUPS[:100] if "Group" in type(splitter).__name__ else None)


@pytest.mark.parametrize(
    ("splitter", "n_splits"),
    [
        (KFold(5), 5),
        (KFold(4, shuffle=True), 4),
        (GroupKFold(3), 3),
        (GroupShuffleSplit(7), 7),
        (ShuffleSplit(3, test_size=0.3), 3),
        (TimeSeriesSplit(4, gap=2), 4),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_splitter_of_scikit_learn_makes_its_splits(splitter, n_splits):
    groups = GROUPS[:100]
    rule = custom(splitter)
    splits, again = (rule.splits(np.arange(100), np.random.RandomState(3)) for _ in range(2))
    assert len(splits) == n_splits
    for split, same in zip(splits, again, strict=True):
        np.testing.assert_array_equal(split.train, same.train)
        np.testing.assert_array_equal(split.held_out, same.held_out)
        assert not np.isin(split.train, split.held_out).any()
        assert (np.diff(split.held_out) > 0).all()
        if "Group" in type(splitter).__name__:
            assert not np.isin(groups[split.train], groups[split.held_out]).any()
        if isinstance(splitter, TimeSeriesSplit):
            assert split.train.max() + 2 < split.held_out.min()
    assert getattr(splitter, "random_state", None) is None


def test_other_seeds_make_other_splits_unless_the_splitter_has_its_own():
    def held_out(splitter, seed):
        return custom(splitter).splits(np.arange(100), np.random.RandomState(seed))[0].held_out

    assert not np.array_equal(held_out(KFold(5, shuffle=True), 0), held_out(KFold(5, shuffle=True), 1))
    own = KFold(5, shuffle=True, random_state=7)
    np.testing.assert_array_equal(held_out(own, 0), held_out(own, 1))


def test_a_splitter_splits_the_rows_that_are_left():
    rows = np.arange(0, 100, 2)
    splits = custom(GroupKFold(3)).splits(rows, np.random.RandomState(0))
    np.testing.assert_array_equal(np.sort(np.concatenate([split.held_out for split in splits])), np.arange(50))
    for split in splits:
        assert not np.isin(GROUPS[rows[split.train]], GROUPS[rows[split.held_out]]).any()


@pytest.mark.parametrize(("splitter", "n_reserved"), [(KFold(5), 60), (GroupKFold(4), 50), (TimeSeriesSplit(4), 60)])
def test_splits_of_a_splitter_are_reserved_until_they_are_the_share(splitter, n_reserved):
    kept, reserved = custom(splitter).reserve(100, 0.5, np.random.RandomState(0))
    assert len(reserved) == pytest.approx(n_reserved, abs=5)
    assert len(np.intersect1d(kept, reserved)) == 0
    if isinstance(splitter, GroupKFold):
        assert not np.isin(GROUPS[kept], GROUPS[reserved]).any()
    if isinstance(splitter, KFold):
        np.testing.assert_array_equal(reserved, np.arange(60))
        np.testing.assert_array_equal(kept, np.arange(60, 100))


def test_the_first_split_is_reserved_alone_if_it_is_the_share():
    kept, reserved = custom(KFold(5)).reserve(100, 0.2, np.random.RandomState(0))
    np.testing.assert_array_equal(reserved, np.arange(20))
    np.testing.assert_array_equal(kept, np.arange(20, 100))


class Splitter:
    def __init__(self, *splits):
        self.splits = splits

    def split(self, X, y=None, groups=None):
        return self.splits

    def __repr__(self):
        return "Splitter()"


@pytest.mark.parametrize(
    ("splitter", "match"),
    [
        (Splitter(([0, 1, 2], [2, 3])), "a split of 3 rows to train on and 2 to hold out; .* no row in both"),
        (Splitter(([0], [2, 3])), "a split of 1 rows"),
        (Splitter(([0, 1], [])), "and 0 to hold out"),
        (Splitter(), r"splits=Splitter\(\) makes no splits of 100 rows"),
    ],
)
def test_splits_that_cannot_work_are_refused(splitter, match):
    rule = CustomSplitting(Splitter(*((np.array(a, int), np.array(b, int)) for a, b in splitter.splits)), X)
    with pytest.raises(ValueError, match=match):
        rule.splits(np.arange(100), np.random.RandomState(0))


# ---------------------------------------------------------------- parts of splits in some of the rows


def test_a_subsample_keeps_each_row_on_its_side():
    splits = BlockSplitting(5, 0.2, 8).splits(np.arange(300), np.random.RandomState(0))  # the gaps are on neither side
    rows, parts = subsample(splits, 300, 60, np.random.RandomState(1))
    assert len(rows) == 60
    assert (np.diff(rows) > 0).all()
    for split, part in zip(splits, parts, strict=True):
        np.testing.assert_array_equal(rows[part.train], np.intersect1d(rows, split.train))
        np.testing.assert_array_equal(rows[part.held_out], np.intersect1d(rows, split.held_out))
    assert any(len(part.train) + len(part.held_out) < 60 for part in parts)


def test_subsamples_are_drawn_anew_and_by_the_seed():
    splits, rng = random_splits(200, 3, 0.2, np.random.RandomState(0)), np.random.RandomState(1)
    first, second = (subsample(splits, 200, 50, rng)[0] for _ in range(2))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(subsample(splits, 200, 50, np.random.RandomState(1))[0], first)


@pytest.mark.parametrize("size", [200, 10_000])
def test_a_subsample_of_all_rows_is_all_rows(size):
    splits = random_splits(200, 3, 0.2, np.random.RandomState(0))
    rows, parts = subsample(splits, 200, size, np.random.RandomState(1))
    np.testing.assert_array_equal(rows, np.arange(200))
    for split, part in zip(splits, parts, strict=True):
        np.testing.assert_array_equal(part.train, split.train)
        np.testing.assert_array_equal(part.held_out, split.held_out)


@pytest.mark.parametrize(
    "split",
    [Split(np.arange(200), np.array([200])), Split(np.array([0, 200]), np.arange(1, 200))],
    ids=["none held out", "one to train on"],
)
def test_all_rows_are_kept_if_a_split_would_lose_a_side(split):
    splits = [*random_splits(201, 1, 0.2, np.random.RandomState(0)), split]
    kept = []
    for seed in range(50):
        rows, parts = subsample(splits, 201, 60, np.random.RandomState(seed))
        assert len(parts[1].held_out) > 0
        assert len(parts[1].train) > 1
        kept.append(len(rows))
        assert len(rows) == 60 or parts == splits
    assert set(kept) == {60, 201}


# ---------------------------------------------------------------- what an estimator asks for


def test_the_parameters_choose_the_way_to_split():
    assert splitting(7, X) == RandomSplitting(7, 0.2)
    by_group = splitting("auto", X, groups=[f"machine {g}" for g in GROUPS[:100]])
    assert isinstance(by_group, GroupSplitting)
    assert (by_group.groups.min(), by_group.groups.max()) == (0, len(np.unique(GROUPS[:100])) - 1)
    assert isinstance(splitting(5, X, time_order=True), BlockSplitting)
    assert isinstance(splitting(KFold(3), X), CustomSplitting)


@pytest.mark.parametrize(("n", "n_splits"), [(30, 50), (200, 50), (400, 50), (1000, 20), (2000, 10), (100_000, 10)])
def test_few_rows_are_split_more_often(n, n_splits):
    assert splitting("auto", np.zeros((n, 1))).n_splits == n_splits


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"groups": GROUPS[:100], "time_order": True}, "time_order=True makes its own splits"),
        ({"splits": KFold(3), "time_order": True}, "time_order=True makes its own splits"),
        ({"splits": "many"}, "splits must be 'auto', a number or a splitter of scikit-learn; got 'many'"),
    ],
)
def test_contradictions_are_refused(settings, match):
    with pytest.raises(ValueError, match=match):
        splitting(**{"splits": "auto", "X": X, **settings})


# ---------------------------------------------------------------- masses that cannot be resolved


@pytest.mark.parametrize(("mass", "needed"), [(0.5, 1), (0.9, 9), (0.95, 19), (0.99, 99)])
def test_a_mass_is_resolved_from_as_many_rows_as_conformal_needs(mass, needed):
    warn_if_unresolved(mass, needed)
    with pytest.warns(
        CalibrationWarning, match=f"{needed - 1} held-out rows cannot resolve .* {needed} (are|is) needed"
    ):
        warn_if_unresolved(mass, needed - 1)


# ---------------------------------------------------------------- few rows to train on, of many


def times_trained(splits, n):
    return np.bincount(np.concatenate([split.train for split in splits]), minlength=n)


@pytest.mark.parametrize("n_splits", [1, 5, 10])
def test_while_rows_last_each_split_trains_on_its_own_and_holds_out_all_others(n_splits):
    splits = RandomSplitting(n_splits, 0.2, 100).splits(np.arange(1000), np.random.RandomState(0))
    assert len(splits) == n_splits
    for split in splits:
        assert len(split.train) == 100
        np.testing.assert_array_equal(split.held_out, np.setdiff1d(np.arange(1000), split.train))
    times = times_trained(splits, 1000)
    assert times.max() == 1
    assert times.sum() == 100 * n_splits


@pytest.mark.parametrize("n_splits", [3, 7, 13])
def test_rows_train_equally_often(n_splits):
    splits = RandomSplitting(n_splits, 0.2, 200).splits(np.arange(503), np.random.RandomState(0))
    assert {len(split.train) for split in splits} == {200}
    times = times_trained(splits, 503)
    assert times.max() - times.min() == 1


def test_each_training_sample_is_a_uniform_draw():
    """Chance of row 0 in the third of three samples, which straddles two rounds: 0.4 ± 4 standard errors."""
    rule = RandomSplitting(3, 0.2, 4)
    hits = [0 in rule.splits(np.arange(10), np.random.RandomState(seed))[2].train for seed in range(2000)]
    assert abs(np.mean(hits) - 0.4) < 4 * np.sqrt(0.4 * 0.6 / 2000)


def test_the_limit_begins_where_a_split_would_train_on_more():
    def drawn(max_train):
        return RandomSplitting(5, 0.2, max_train).splits(np.arange(500), np.random.RandomState(0))

    for split, same in zip(drawn(400), drawn(None), strict=True):
        np.testing.assert_array_equal(split.train, same.train)
        np.testing.assert_array_equal(split.held_out, same.held_out)
    assert {(len(split.train), len(split.held_out)) for split in drawn(399)} == {(399, 101)}


@pytest.mark.parametrize(
    ("n", "share", "n_kept"), [(2000, 0.5, 500), (2000, 0.9, 200), (800, 0.5, 400), (1000, 0.5, 500), (1001, 0.5, 500)]
)
def test_rows_that_would_train_nothing_are_reserved(n, share, n_kept):
    kept, reserved = RandomSplitting(5, 0.2, 100).reserve(n, share, np.random.RandomState(0))
    assert len(kept) == n_kept
    np.testing.assert_array_equal(np.sort(np.concatenate([kept, reserved])), np.arange(n))
    assert (np.diff(kept) > 0).all()
    assert (np.diff(reserved) > 0).all()
    assert kept.mean() == pytest.approx(n / 2, abs=4 * n / np.sqrt(12 * n_kept))


@pytest.mark.parametrize(("n", "n_splits", "max_train"), [(1000, 5, 100), (20, 1, 2), (20_000, 10, 1000)])
def test_most_rows_are_left_from_twice_as_many_as_train(n, n_splits, max_train):
    rule = RandomSplitting(n_splits, 0.2, max_train)
    assert rule.leaves_most(n)
    assert not rule.leaves_most(n - 1)
    assert not RandomSplitting(n_splits, 0.2).leaves_most(n)


RULES = {
    "random": RandomSplitting(6, 0.2),
    "groups": GroupSplitting(6, 0.2, GROUPS),
    "blocks": BlockSplitting(6, 0.2, 9),
    "splitter": CustomSplitting(KFold(6, shuffle=True), np.zeros((400, 1))),
}


@pytest.mark.parametrize("max_train", [2, 40, 250, 300])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_limited_splits_hold_out_the_same_rows_and_train_on_some_of_theirs(rule, max_train):
    splits = rule.splits(np.arange(400), np.random.RandomState(0))
    fewer = limited(splits, 400, max_train, np.random.RandomState(1))
    for split, part in zip(splits, fewer, strict=True):
        np.testing.assert_array_equal(part.held_out, split.held_out)
        assert len(part.train) == min(max_train, len(split.train))
        assert (np.diff(part.train) > 0).all()
        assert np.isin(part.train, split.train).all()


def test_without_a_limit_splits_stay_as_they_are():
    splits = random_splits(100, 3, 0.2, np.random.RandomState(0))
    rng = np.random.RandomState(1)
    assert limited(splits, 100, None, rng) == splits
    assert rng.randint(1000) == np.random.RandomState(1).randint(1000)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_limited_splits_train_on_different_rows_as_long_as_there_are_any(rule):
    splits = rule.splits(np.arange(400), np.random.RandomState(0))
    assert times_trained(limited(splits, 400, 40, np.random.RandomState(1)), 400).max() == 1
    often = times_trained(limited(splits, 400, 200, np.random.RandomState(1)), 400)
    assert often.max() - often.min() <= 2  # three times each, and zero to six by independent draws


def test_limited_splits_are_drawn_by_the_seed_and_from_everywhere():
    splits = random_splits(1000, 5, 0.2, np.random.RandomState(0))
    first, again, other = (limited(splits, 1000, 100, np.random.RandomState(seed))[0].train for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first.mean() == pytest.approx(500, abs=4 * 1000 / np.sqrt(12 * 100))


def test_limited_blocks_keep_their_distance_and_limited_groups_their_side():
    def fewer(rule):
        splits = RULES[rule].splits(np.arange(400), np.random.RandomState(0))
        return limited(splits, 400, 50, np.random.RandomState(1))

    for split in fewer("blocks"):
        assert np.abs(split.train[:, np.newaxis] - split.held_out).min() > 9
        assert all(len(run) % 40 == 0 for run in runs(split.held_out))
    for split in fewer("groups"):
        assert not np.isin(GROUPS[split.train], GROUPS[split.held_out]).any()
        assert np.isin(np.flatnonzero(np.isin(GROUPS, GROUPS[split.held_out])), split.held_out).all()


def test_trained_rows_are_those_of_all_splits():
    splits = [Split(np.array([1, 5]), np.array([0, 2, 7])), Split(np.array([2, 7]), np.array([1, 3, 5]))]
    np.testing.assert_array_equal(trained_rows(splits, 9), [1, 2, 5, 7])


def test_all_rows_count_as_trained_if_a_split_holds_out_none_that_is():
    alone = [Split(np.array([1, 5]), np.array([0, 2, 7]))]
    np.testing.assert_array_equal(trained_rows(alone, 9), np.arange(9))
    with_another = [*alone, Split(np.array([3, 5]), np.array([1]))]
    np.testing.assert_array_equal(trained_rows(with_another, 9), np.arange(9))


def test_parts_of_splits_are_indices_into_the_rows():
    splits = [Split(np.array([1, 5]), np.array([0, 2, 7])), Split(np.array([2, 7]), np.array([1, 3, 5]))]
    first, second = within(splits, np.array([1, 2, 5, 7]))
    np.testing.assert_array_equal(first.train, [0, 2])
    np.testing.assert_array_equal(first.held_out, [1, 3])
    np.testing.assert_array_equal(second.train, [1, 3])
    np.testing.assert_array_equal(second.held_out, [0, 2])


def test_trained_rows_train_in_the_parts_as_in_the_splits():
    splits = RandomSplitting(5, 0.2, 30).splits(np.arange(400), np.random.RandomState(0))
    rows = trained_rows(splits, 400)
    assert len(rows) == 150
    for split, part in zip(splits, within(splits, rows), strict=True):
        np.testing.assert_array_equal(rows[part.train], split.train)
        np.testing.assert_array_equal(np.sort(np.append(part.train, part.held_out)), np.arange(150))


@pytest.mark.parametrize(
    ("asked", "n", "expected"),
    [("auto", 4000, None), ("auto", 4001, 1000), (None, 10**6, None), (7, 100, 7), (np.int64(7), 10**6, 7)],
)
def test_how_many_rows_a_split_may_train_on(asked, n, expected):
    assert max_train_rows(asked, n) == expected
    assert splitting(5, np.zeros((100, 1)), max_train=expected).max_train == expected


@pytest.mark.parametrize(("n", "n_splits"), [(4000, 10), (4001, 20), (19_999, 20), (20_000, 10)])
def test_tables_of_some_thousand_rows_are_split_more_often(n, n_splits):
    limit = max_train_rows("auto", n)
    assert splitting("auto", np.zeros((n, 1)), max_train=limit).n_splits == n_splits
    assert splitting("auto", np.zeros((n, 1))).n_splits == 10
