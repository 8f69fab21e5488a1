"""``mvset info``: shows the contents of a model file."""

from typing import Any

from mvset.app.cli import options
from mvset.app.cli.failures import exit_on_error
from mvset.app.cli.output import print_json, print_pairs
from mvset.wording import counted

_MANY = 0.6  # share of the calibration rows that effective rows must fall below to be mentioned


def info_command(model: options.ModelFile, as_json: options.AsJson = False) -> None:
    """Show the columns, bandwidth and volume of a model, and the confidence interval of its mass.

    For example:

    - `mvset info model.mvset`

    - `mvset info model.mvset --json`
    """
    with exit_on_error(ValueError, on_interrupt="Nothing was written."):
        from mvset.files.model_file import written_with

        fitted = options.load_fitted(model)
        if as_json:
            print_json({"model": str(model), **json_summary(fitted), "written_with": written_with(model)})
            return
        versions = ", ".join(f"{name} {version}" for name, version in written_with(model).items())
        print_pairs({"model": model, **text_summary(fitted), "written with": versions})


def json_summary(model: Any) -> dict[str, Any]:
    """Parameters and results of a fitted model, as written by ``--json``."""
    sets, interval, volume = model.sets, model.sets.mass_interval(), model.sets.volume()
    return {
        "columns": model.feature_names,
        "categories": model.category_values,
        "missing": "impute" if model.imputes else "error",
        "mass": sets.mass,
        "calibration": sets.guarantee.mode,
        "realised_mass": interval.estimate,
        "realised_mass_interval": [interval.low, interval.high],
        "interval_confidence": interval.confidence,
        "calibration_rows": interval.n_rows,
        "effective_rows": interval.effective_rows,
        "strata": None if sets.strata is None else sets.strata.labels,
        "scaling": model.estimator.scaling_,
        "nu": model.estimator.nu_,
        "sigma": model.estimator.sigma_,
        "offset": sets.offset(),
        "volume": volume.value,
        "volume_standard_error": volume.standard_error,
        "log_volume": volume.log_value,
        "support_vectors": len(model.estimator.support_vectors_),
        "seed": model.estimator.random_state,
    }


def text_summary(model: Any) -> dict[str, str]:
    """The main parameters and results of a fitted model, formatted for the terminal."""
    sets, interval = model.sets, model.sets.mass_interval()
    weight = f"; {interval.n_rows} rows count for {counted(interval.effective_rows, 'independent one')}"
    groups = {} if sets.strata is None else {"offsets": _groups(model)}
    units = "" if model.before is None else f", of {_preprocessing(model.before)} columns"
    return {
        "columns": ", ".join(model.feature_names),
        **({"categories": _categories(model)} if model.category_values else {}),
        **({"missing": "imputed"} if model.imputes else {}),
        "mass": f"{sets.mass:g}, calibration {sets.guarantee.mode!r}",
        "realised": f"{interval}{weight if interval.effective_rows < _MANY * interval.n_rows else ''}",
        **groups,
        "scaling": f"{model.estimator.scaling_ or 'none'}, nu {model.estimator.nu_:g}",
        "sigma": f"{model.estimator.sigma_:.4g}{units}",
        "volume": f"{sets.volume()}{units}",
    }


def _categories(model: Any) -> str:
    return ", ".join(f"{name} ({counted(len(values), 'value')})" for name, values in model.category_values.items())


def _groups(model: Any) -> str:
    column, labels = getattr(model.estimator, "strata_column_", None), model.sets.strata.labels
    listed = ", ".join(labels[:5]) + (f" and {len(labels) - 5} more" if len(labels) > 5 else "")
    return f"one per {column or 'group'}: {listed}"


def _preprocessing(before: Any) -> str:
    """Return "standardised" if the steps before the estimator only scale the columns, otherwise "transformed"."""
    standardised = all(type(step).__name__ == "StandardScaler" for _, step in before.steps)
    return "standardised" if standardised else "transformed"
