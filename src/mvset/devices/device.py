"""A device for rows that are in host memory or in files, where their number makes that pay."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from mvset.devices.places import Place, torch_place
from mvset.devices.stages import Stages


class DeviceError(ValueError):
    """The device that was asked for is not there."""


@dataclass(frozen=True)
class Device:
    """A device, and how long what is done there takes."""

    place: Place
    stages: Stages = field(default_factory=Stages)


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
