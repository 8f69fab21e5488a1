"""Work in stages that overlap: while one batch is judged, the next is read, and the last one written."""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
_END: Any = object()


def ahead(items: Iterable[T], size: int = 2) -> Iterator[T]:
    """The same items, made by a thread of their own, up to `size` before they are asked for."""
    source = iter(items)
    pool = ThreadPoolExecutor(1)
    try:
        waiting: deque[Future[T]] = deque(pool.submit(next, source, _END) for _ in range(size))
        while (item := waiting.popleft().result()) is not _END:
            waiting.append(pool.submit(next, source, _END))
            yield item
    finally:
        pool.shutdown(cancel_futures=True)
        if hasattr(source, "close"):  # a stage before this one ends with it
            source.close()


class Stages:
    """How long each stage has worked."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = time.perf_counter()

    @contextmanager
    def measured(self, stage: str) -> Iterator[None]:
        """Count what happens inside the context."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - began

    def each(self, stage: str, items: Iterable[T]) -> Iterator[T]:
        """The same items; counts the time that they take to come."""
        source = iter(items)
        while True:
            with self.measured(stage):
                item = next(source, _END)
            if item is _END:
                return
            yield item

    def __str__(self) -> str:
        """The share of the time since the start that each stage has worked; they overlap, and need not add up."""
        total = time.perf_counter() - self._began
        shares = ", ".join(f"{stage} {seconds / total:.0%}" for stage, seconds in self.seconds.items())
        return f"{shares} of {total:.1f} s"
