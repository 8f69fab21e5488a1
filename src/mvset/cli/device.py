"""The device that judges the rows of a command: the CPU, or a GPU through torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from mvset.device import Device as GivenDevice

DeviceName = Literal["cpu", "cuda", "auto"]
Device = Annotated[
    DeviceName,
    typer.Option(
        help="What computes the scores: the CPU, a GPU (cuda), or a GPU if there is one (auto). Rows are inside or "
        "outside on both alike; scores differ by rounding."
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="Say on stderr what share of the time each step worked, and on which device.")
]


def chosen_device(name: DeviceName, *, elsewhere: str | None = None) -> GivenDevice | None:
    """The GPU, or None for the CPU; an error if a GPU was asked for and there is none.

    `elsewhere` is an option with which the rows are judged by other means.
    """
    if name == "cpu":
        return None
    if elsewhere is not None:
        if name == "auto":
            return None
        raise typer.BadParameter(f"--device cuda is for the rows of this command: leave out {elsewhere}.")
    from mvset import device

    return None if name == "auto" and device.missing_device() else device.gpu()


def say_shares(device: Any, stages: Any) -> None:
    """Say how long each step worked."""
    where = "the CPU" if device is None else f"the device {device.place.device}"
    shares = f": {stages}" if stages.seconds else ""  # rows of small tables are not judged apart from the fit
    typer.echo(f"Note: judged on {where}{shares}.", err=True)
