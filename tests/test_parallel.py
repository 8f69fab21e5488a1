import threading
import time

import pytest

from mvset.parallel import thread_map


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_order_is_kept(n_jobs):
    with thread_map(n_jobs) as run:
        assert list(run(lambda a, b: a * b, range(20), range(20))) == [i * i for i in range(20)]
        assert list(run(str, [1])) == ["1"]


def test_threads_are_used_and_end():
    before = threading.active_count()
    with thread_map(2) as run:
        names = set(run(lambda _: (time.sleep(0.01), threading.current_thread().name)[1], range(8)))
    assert len(names) == 2
    assert threading.active_count() == before


def test_an_interrupt_drops_what_has_not_begun():
    done = []

    def work(i):
        time.sleep(0.02)
        done.append(i)

    def interrupted():
        with thread_map(2) as run:
            run(work, range(100))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(done) < 10
