from __future__ import annotations

import threading

import numpy as np

from mvset.svm.scratch import KEPT_BYTES, scratch


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
