"""``mvset info``: shows the contents of a model file."""

from mvset.app.cli import options
from mvset.app.cli.failures import exit_on_error
from mvset.app.cli.output import print_json, print_pairs


def info_command(model: options.ModelFile, as_json: options.AsJson = False) -> None:
    """Show the columns, bandwidth and volume of a model, and the confidence interval of its mass.

    For example:

    - `mvset info model.mvset`

    - `mvset info model.mvset --json`
    """
    with exit_on_error(ValueError, on_interrupt="Nothing was written."):
        from mvset.app.summaries.models import json_summary, text_summary
        from mvset.files.model_file import written_with

        fitted = options.load_fitted(model)
        if as_json:
            print_json({"model": str(model), **json_summary(fitted), "written_with": written_with(model)})
            return
        versions = ", ".join(f"{name} {version}" for name, version in written_with(model).items())
        print_pairs({"model": model, **text_summary(fitted), "written with": versions})
