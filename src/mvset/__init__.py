"""Minimum Volume sets: the smallest region that contains a given share of a distribution, and what lies outside."""

import importlib
from typing import TYPE_CHECKING, Any

from mvset import exceptions
from mvset.version import __version__

if TYPE_CHECKING:
    from mvset import results
    from mvset.app.report.write import write_report
    from mvset.estimators.batch_scorer import BatchScorer
    from mvset.estimators.calibrated_set import CalibratedSet
    from mvset.estimators.drift_monitor import DriftMonitor
    from mvset.estimators.minimum_volume_set import MinimumVolumeSet
    from mvset.estimators.one_class_svm import OneClassSVM
    from mvset.files.model_file import load, save
    from mvset.files.onnx import to_onnx
    from mvset.metrics.detector_curves import mass_volume_curve, mass_volume_scorer
    from mvset.metrics.difference import symmetric_difference
    from mvset.plotting import BandwidthDisplay, LevelHistogramDisplay, LevelSetDisplay, MassVolumeDisplay

__all__ = [
    "BandwidthDisplay",
    "BatchScorer",
    "CalibratedSet",
    "DriftMonitor",
    "LevelHistogramDisplay",
    "LevelSetDisplay",
    "MassVolumeDisplay",
    "MinimumVolumeSet",
    "OneClassSVM",
    "__version__",
    "exceptions",
    "load",
    "mass_volume_curve",
    "mass_volume_scorer",
    "results",
    "save",
    "symmetric_difference",
    "to_onnx",
    "write_report",
]

# Where each public name is defined. Modules are imported when a name is first used, so the command line starts at once,
# and loads numpy, scikit-learn and numba only for commands that compute.
_HOMES = {
    "mvset.app.report.write": ["write_report"],
    "mvset.estimators.batch_scorer": ["BatchScorer"],
    "mvset.estimators.calibrated_set": ["CalibratedSet"],
    "mvset.estimators.drift_monitor": ["DriftMonitor"],
    "mvset.estimators.minimum_volume_set": ["MinimumVolumeSet"],
    "mvset.estimators.one_class_svm": ["OneClassSVM"],
    "mvset.files.model_file": ["load", "save"],
    "mvset.files.onnx": ["to_onnx"],
    "mvset.metrics.detector_curves": ["mass_volume_curve", "mass_volume_scorer"],
    "mvset.metrics.difference": ["symmetric_difference"],
    "mvset.plotting": ["BandwidthDisplay", "LevelHistogramDisplay", "LevelSetDisplay", "MassVolumeDisplay"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "results":
        return importlib.import_module("mvset.results")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(importlib.import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
