"""``mvset export``: a model for other runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mvset.cli.failures import explained, need
from mvset.cli.options import ModelFile, check_out, model_in


def export_command(
    model: ModelFile,
    onnx: Annotated[Path, typer.Option("--onnx", help="File for the ONNX graph.", show_default=False)],
    float32: Annotated[bool, typer.Option("--float32", help="Take float32 input instead of float64.")] = False,
) -> None:
    """Write a model as an ONNX graph, with the outputs label, score and level.

    For example:

    - `mvset export model.mvset --onnx model.onnx`

    - `mvset export model.mvset --onnx model.onnx --float32`
    """
    need("onnx", "onnx", "ONNX export needs one more package")
    with explained(ValueError, when_stopped="Nothing was written."):
        import numpy as np

        from mvset import to_onnx
        from mvset.files.atomic import written_aside

        check_out(onnx, model)
        graph = to_onnx(model_in(model), dtype=np.float32 if float32 else np.float64)
        with written_aside(onnx) as aside:
            aside.write_bytes(graph.SerializeToString())
        typer.echo(onnx)
