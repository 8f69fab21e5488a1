"""A device for rows in host memory or in files: one batch is copied there while the one before is judged."""

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from mvset.devices.places import Place, torch_place
from mvset.devices.scores import ArrayExpansion, blocks
from mvset.devices.stages import Stages, ahead
from mvset.svm.score import Score
from mvset.values import Array


class DeviceError(ValueError):
    """The device that was asked for is not there."""


@dataclass(frozen=True)
class Device:
    """A device, and how long what is done there takes."""

    place: Place
    stages: Stages = field(default_factory=Stages)


T = TypeVar("T")
_current: ContextVar[Device | None] = ContextVar("device", default=None)


def missing_device() -> str | None:
    """Why there is no GPU to use, in one sentence; None if there is one."""
    if importlib.util.find_spec("torch") is None:
        return "A GPU needs one more package, torch: pip install 'mvset[gpu]'"
    try:
        import torch
    except (ImportError, OSError) as error:
        return f"torch cannot be imported: {error}"
    if not torch.cuda.is_available():
        return "torch finds no GPU on this machine."
    try:
        torch.zeros(1, device="cuda")
    except RuntimeError as error:
        return f"The GPU cannot be used: {_first_line(error)}"
    return None


def gpu() -> Device:
    """The GPU of this machine; an error says why there is none."""
    if problem := missing_device():
        raise DeviceError(problem)
    return Device(torch_place("cuda"))


@contextmanager
def readable_gpu_errors() -> Iterator[None]:
    """Raise errors of torch, such as too little memory, as a DeviceError of one sentence."""
    try:
        yield
    except RuntimeError as error:
        if type(error).__module__.partition(".")[0] == "torch" or "CUDA" in str(error):
            raise DeviceError(f"The GPU failed: {_first_line(error)} Use the CPU for these rows.") from error
        raise


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".") + "."


@contextmanager
def calibrated_on(device: Device | None) -> Iterator[None]:
    """Score calibration rows on a device in every fit inside the context.

    Parameters
    ----------
    device : Device or None
        Such as :func:`gpu` returns; None for the CPU.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.paper.datasets import two_moons
    >>> from mvset.devices.device import calibrated_on
    >>> with calibrated_on(None):  # calibrated_on(gpu()) where there is one
    ...     model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(300, random_state=0))
    """
    token = _current.set(device)
    try:
        yield
    finally:
        _current.reset(token)


def current_device() -> Device | None:
    """The device of the context."""
    return _current.get()


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
