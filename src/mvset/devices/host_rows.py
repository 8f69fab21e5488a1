"""Scores of rows in host memory, computed on a device: one batch is copied while the one before is judged."""

import importlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any, TypeVar

import numpy as np

from mvset.devices.device import Device, readable_gpu_errors
from mvset.devices.places import Place
from mvset.devices.scores import ArrayExpansion, blocks
from mvset.devices.stages import ahead
from mvset.svm.score import Score
from mvset.values import Array

T = TypeVar("T")


class CopiedRowsScore:
    """A score function of rows in host memory.

    Categories are encoded and missing values filled here; the kernels are evaluated there. Rows travel in float64:
    float32 would lose the digits of columns far from zero.
    """

    def __init__(self, score: Score, place: Place) -> None:
        self._score, self.expansion = score, ArrayExpansion(score, place)
        self._place = place
        self._copies: Any = _stream(place) if place.is_cuda else None
        self._kernels: Any = _stream(place) if place.is_cuda else None
        self._pinned: Any = None

    def copied(self, rows: Array) -> Any:
        """Rows on the device; None if there are none."""
        if not len(rows):
            return None
        encoded = self._score.encoding.encoded(rows)
        if self._copies is None:
            return self._place.array(encoded)
        torch: Any = importlib.import_module("torch")
        if self._pinned is None or len(self._pinned) < len(encoded):
            self._pinned = torch.empty(encoded.shape, dtype=torch.float64, pin_memory=True)
        pinned = self._pinned[: len(encoded)]
        np.copyto(pinned.numpy(), encoded)
        with torch.cuda.stream(self._copies):
            there = pinned.to(self._place.device, non_blocking=True)
        self._copies.synchronize()  # the next rows use the same pinned memory
        there.record_stream(self._kernels)
        return there

    def scores(self, rows: Array, there: Any) -> Array:
        """Scores of rows that were copied."""
        if not len(rows):
            return np.empty(0)
        with nullcontext() if self._kernels is None else importlib.import_module("torch").cuda.stream(self._kernels):
            found = [
                self._place.host(self.expansion(there[chunk, :]))
                for chunk in blocks(len(rows), self.expansion.chunk_rows)
            ]
        return self._score.marked(rows, np.concatenate(found))


def _stream(place: Place) -> Any:
    return importlib.import_module("torch").cuda.Stream(place.device)


def scored_on(
    device: Device,
    score: CopiedRowsScore,
    batches: Iterable[Any],
    rows_of: Callable[[Any], Array],
    finish: Callable[[Any, Array], T],
) -> Iterator[T]:
    """What `finish` makes of batches and the scores of their rows; three threads read, copy and judge."""
    stages = device.stages

    def copied() -> Iterator[tuple[Any, Array, Any]]:
        for batch in ahead(stages.each("reading", batches)):
            with stages.measured("copying"):
                rows = np.asarray(rows_of(batch), dtype=np.float64)
                with readable_gpu_errors():
                    there = score.copied(rows)
            yield batch, rows, there

    def judged() -> Iterator[T]:
        for batch, rows, there in ahead(copied()):
            with stages.measured("judging"):
                with readable_gpu_errors():
                    scores = score.scores(rows, there)
                found = finish(batch, scores)
            yield found

    return ahead(judged())
