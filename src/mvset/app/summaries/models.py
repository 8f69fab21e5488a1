"""What there is to say about a fitted model: for people, and as JSON."""

from typing import Any

from mvset.estimators.fitted_model import FittedModel
from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.wording import counted

_MANY = 0.6  # share of the calibration rows that effective rows must fall below to be mentioned

_SCALINGS = {None: "none", "standard": "standard", "whiten": "whiten", "both": "standard and whiten"}


def json_summary(model: FittedModel) -> dict[str, Any]:
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
        "offset": sets.offset(),
        "volume": volume.value if volume.is_measured else None,
        "volume_standard_error": volume.standard_error if volume.is_measured else None,
        "log_volume": volume.log_value if volume.is_measured else None,
        **_score_facts(model.estimator),
        "seed": model.estimator.random_state,
    }


def _score_facts(estimator: Any) -> dict[str, Any]:
    """The views of a Minimum Volume set, or the detector that was calibrated."""
    if not isinstance(estimator, MinimumVolumeSet):
        return {"detector": _steps(estimator.detector)}
    return {
        "scaling": estimator.scaling_,
        "views": [
            {
                "scaling": view.scaling,
                "nu": view.nu,
                "sigma": view.sigma,
                "chosen_by": view.selection.criterion,
                "shrinkage": view.shrinkage,
            }
            for view in estimator.views_
        ],
        "support_vectors": len(estimator.support_vectors_),
    }


def _steps(detector: Any) -> str:
    """A detector, with what comes before it in a pipeline."""
    return " → ".join(repr(step) for _, step in getattr(detector, "steps", [("", detector)]))


def text_summary(model: FittedModel) -> dict[str, str]:
    """The main parameters and results of a fitted model, for people."""
    sets, interval, estimator = model.sets, model.sets.mass_interval(), model.estimator
    facts, units = {"columns": ", ".join(model.feature_names)}, ""
    if model.category_values:
        counts = {name: counted(len(values), "value") for name, values in model.category_values.items()}
        facts["categories"] = ", ".join(f"{name} ({count})" for name, count in counts.items())
    if model.imputes:
        facts["missing"] = "imputed"
    facts["mass"], facts["realised"] = f"{sets.mass:g}, calibration {sets.guarantee.mode!r}", str(interval)
    if interval.effective_rows < _MANY * interval.n_rows:
        weight = counted(interval.effective_rows, "independent one")
        facts["realised"] += f"; {interval.n_rows} rows count for {weight}"
    if sets.strata is not None:
        labels, column = sets.strata.labels, getattr(estimator, "strata_column_", None) or "stratum"
        more = f" and {len(labels) - 5} more" if len(labels) > 5 else ""
        facts["offsets"] = f"one per {column}: {', '.join(labels[:5])}{more}"
    if model.before is not None:
        standardised = all(type(step).__name__ == "StandardScaler" for _, step in model.before.steps)
        units = f", of {'standardised' if standardised else 'transformed'} columns"
    if isinstance(estimator, MinimumVolumeSet):
        nus = " and ".join(f"{view.nu:g}" for view in estimator.views_)
        facts["scaling"] = f"{_SCALINGS[estimator.scaling_]}, nu {nus}"
        facts["sigma"] = " and ".join(f"{view.sigma:.4g}" for view in estimator.views_) + units
    else:
        facts["detector"] = _steps(estimator.detector)
    volume = sets.volume()
    return {**facts, "volume": f"{volume}{units if volume.is_measured else ''}"}
