import numpy as np
import pytest

from mvset.calibration.held_out import pooled_scores
from mvset.calibration.splits import Split, random_splits


def never(rows):
    raise AssertionError("the averaged score is for rows with many copies")


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_pooled_as_by_hand(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(3, size=(60, 2)).astype(float)  # many equal rows, some of them ten times and more
    splits = random_splits(60, 5, 0.17, np.random.RandomState(seed))  # some rows are never held out
    models = rng.normal(size=(5, 3, 3))

    def averaged(rows):
        return models.mean(axis=0)[tuple(rows.astype(int).T)]

    scores = [model[tuple(X[split.held_out].astype(int).T)] for model, split in zip(models, splits, strict=True)]
    rows, row_scores = pooled_scores(X, splits, scores, averaged)
    np.testing.assert_array_equal(rows, sorted({i for split in splits for i in split.held_out}))
    for row, score in zip(rows, row_scores, strict=True):
        unseen = [
            model[tuple(X[row].astype(int))]
            for model, split in zip(models, splits, strict=True)
            if (X[split.held_out] == X[row]).all(axis=1).any()
        ]
        copies = np.sum((X[rows] == X[row]).all(axis=1))
        assert score == pytest.approx(np.mean(unseen) if copies < 10 else averaged(X[[row]])[0])


def test_equal_rows_have_the_same_score():
    X = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0], [3.0, 0.0], [-0.0, 0.0], [0.0, 0.0]])
    splits = [Split(np.array([3]), np.array([0, 1, 2, 4])), Split(np.array([3]), np.array([2, 5]))]
    rows, scores = pooled_scores(X, splits, [np.array([1.0, 5.0, 1.0, 0.2]), np.array([3.0, 0.4])], never)
    np.testing.assert_array_equal(rows, [0, 1, 2, 4, 5])
    np.testing.assert_allclose(scores, [2.0, 5.0, 2.0, 0.3, 0.3])


@pytest.mark.parametrize("copies", [9, 10])
def test_a_row_repeated_ten_times_has_the_averaged_score(copies):
    X = np.append(np.zeros(copies), [1.0, 2.0])[:, np.newaxis]
    split = Split(np.arange(0), np.arange(copies + 2))
    scores = np.append(np.full(copies, 0.5), [0.1, 0.2])
    found = pooled_scores(X, [split], [scores], lambda rows: rows[:, 0] + 7.0)[1]
    np.testing.assert_array_equal(found, np.append(np.full(copies, 0.5 if copies < 10 else 7.0), [0.1, 0.2]))
