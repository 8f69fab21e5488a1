"""``mvset export``: converts a model for other runtimes."""

from pathlib import Path
from typing import Annotated

import typer

from mvset.app.cli import options
from mvset.app.cli.failures import exit_on_error, require_package


def export_command(
    model: options.ModelFile,
    onnx: Annotated[Path, typer.Option("--onnx", help="File for the ONNX graph.", show_default=False)],
    float32: Annotated[
        bool, typer.Option("--float32", help="Make the graph take float32 input instead of float64.")
    ] = False,
) -> None:
    """Write a model as an ONNX graph, with the outputs label, score and level.

    Like the model file, the graph contains rows of the training table, the support vectors.

    For example:

    - `mvset export model.mvset --onnx model.onnx`

    - `mvset export model.mvset --onnx model.onnx --float32`
    """
    require_package("onnx", "onnx", "ONNX export needs more packages")
    with exit_on_error(ValueError, TypeError, on_interrupt="Nothing was written."):
        import numpy as np

        from mvset import to_onnx
        from mvset.files.atomic import atomic_write

        options.check_output(onnx, model)
        graph = to_onnx(options.load_fitted(model).model, dtype=np.float32 if float32 else np.float64)
        with atomic_write(onnx) as aside:
            aside.write_bytes(graph.SerializeToString())
        typer.echo(onnx)
