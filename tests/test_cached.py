from __future__ import annotations

from threading import Barrier, Thread

from mvset.cached import cached_property


def test_it_is_computed_once():
    class Counted:
        n = 0

        @cached_property
        def value(self):
            """A value."""
            self.n += 1
            return object()

    counted = Counted()
    assert counted.value is counted.value
    assert counted.n == 1
    assert Counted.value.__doc__ == "A value."


def test_threads_with_other_instances_do_not_wait():
    both = Barrier(2)

    class Waiting:
        @cached_property
        def value(self):
            return both.wait(timeout=30.0)  # for the other thread, which is here at the same time

    waiting = [Waiting(), Waiting()]
    threads = [Thread(target=lambda each=each: each.value, daemon=True) for each in waiting]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not both.broken
    assert sorted(each.value for each in waiting) == [0, 1]
