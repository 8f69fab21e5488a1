"""``mvset info``: what is in a model file."""

from __future__ import annotations

from typing import Any

from mvset.cli.failures import explained
from mvset.cli.options import AsJson, ModelFile, loaded
from mvset.cli.output import print_facts, print_json


def info_command(model: ModelFile, as_json: AsJson = False) -> None:
    """Show what a model knows: columns, bandwidth, volume, and how sure it is of its mass.

    For example:

    - `mvset info model.mvset`

    - `mvset info model.mvset --json`
    """
    with explained(ValueError, when_stopped="Nothing was written."):
        from mvset.files.model_file import written_with

        fitted = loaded(model)
        if as_json:
            print_json({"model": str(model), **summary_of(fitted), "written_with": written_with(model)})
            return
        versions = ", ".join(f"{name} {version}" for name, version in written_with(model).items())
        print_facts({"model": model, **facts_about(fitted), "written with": versions})


def summary_of(model: Any) -> dict[str, Any]:
    """What there is to say about a model, for programs."""
    sets, interval = model.sets, model.sets.mass_interval_
    return {
        "columns": model.feature_names,
        "mass": sets.mass,
        "calibration": sets.calibration,
        "realised_mass": interval.estimate,
        "realised_mass_interval": [interval.low, interval.high],
        "interval_confidence": interval.confidence,
        "calibration_rows": interval.n_rows,
        "sigma": sets.sigma_,
        "offset": sets.offset_,
        "volume": sets.volume_.value,
        "volume_standard_error": sets.volume_.standard_error,
        "log_volume": sets.volume_.log_value,
        "support_vectors": len(sets.support_vectors_),
        "seed": sets.random_state,
    }


def facts_about(model: Any) -> dict[str, str]:
    """The same, for people."""
    sets = model.sets
    units = "" if model.before is None else f", of {_prepared(model.before)} columns"
    return {
        "columns": ", ".join(model.feature_names),
        "mass": f"{sets.mass:g}, calibration {sets.calibration!r}",
        "realised": f"{sets.mass_interval_}",
        "sigma": f"{sets.sigma_:.4g}{units}",
        "volume": f"{sets.volume_}{units}",
    }


def _prepared(before: Any) -> str:
    standardised = all(type(step).__name__ == "StandardScaler" for _, step in before.steps)
    return "standardised" if standardised else "transformed"
