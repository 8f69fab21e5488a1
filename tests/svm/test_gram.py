import threading

import numpy as np

import mvset.svm.gram
import reference
from mvset.parallel import thread_map
from mvset.svm.gram import KEPT_BYTES, gaussian_gram, lazy_gram, scratch


def test_threads_fill_the_same_matrix():
    X = np.random.default_rng(0).normal(size=(1500, 2))
    alone = gaussian_gram(X, 0.7)
    with thread_map(3) as run:
        together = gaussian_gram(X, 0.7, run)
    np.testing.assert_array_equal(alone.values, together.values)
    np.testing.assert_allclose(alone.values, reference.kernel(X, X, 0.7), atol=1e-6)
    assert alone.known.all()


def test_recycled_memory():
    X = np.random.default_rng(0).normal(size=(50, 2))
    first = gaussian_gram(X, 0.7)
    second = gaussian_gram(X, 0.2, recycle=first)
    assert second.values is first.values
    np.testing.assert_allclose(second.values, reference.kernel(X, X, 0.2), atol=1e-6)


def test_memory_is_bounded(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 2))
    monkeypatch.setattr(mvset.svm.gram, "MAX_GRAM_BYTES", 4 * 49 * 49)
    assert gaussian_gram(X, 0.7).values.shape == (0, 0)
    assert lazy_gram(X, 0.7).values.shape == (0, 0)


def test_lazy_gram_knows_nothing_yet():
    gram = lazy_gram(np.random.default_rng(0).normal(size=(50, 2)), 0.7)
    assert gram.values.shape == (50, 50)
    assert not gram.known.any()


def test_memory_is_kept_per_thread_and_purpose():
    first = scratch("test", 100)
    assert first.shape == (100, 100)
    assert np.shares_memory(scratch("test", 50), first)
    assert not np.shares_memory(scratch("other", 100), first)
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(scratch("test", 100)))
    thread.start()
    thread.join()
    assert not np.shares_memory(elsewhere[0], first)


def test_large_requests_are_not_kept():
    n = int(np.sqrt(KEPT_BYTES / 4)) + 1
    assert not np.shares_memory(scratch("test", n), scratch("test", n))
