"""Minimum Volume sets: the smallest region that holds a given share of a distribution, and what lies outside."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mvset import exceptions
from mvset.version import __version__

if TYPE_CHECKING:
    from mvset.bandwidth.choice import Selection
    from mvset.bandwidth.curves import BandwidthCurve, MassVolumeCurve
    from mvset.calibration.fitted_sets import FittedSets
    from mvset.estimators.calibrated_set import CalibratedSet
    from mvset.estimators.minimum_volume_set import MinimumVolumeSet
    from mvset.estimators.one_class_svm import OneClassSVM
    from mvset.estimators.pipeline import Pipeline, make_pipeline
    from mvset.estimators.plugin_kernel_density import PluginKernelDensity
    from mvset.files.model_file import load, save
    from mvset.files.onnx import to_onnx
    from mvset.inference.monitor import DriftMonitor
    from mvset.inference.results import Detection, DriftReport, MassBand, MassInterval
    from mvset.judge import Judge
    from mvset.metrics.detector_curves import ExcessMassCurve, excess_mass_curve, mass_volume_curve, mass_volume_scorer
    from mvset.metrics.difference import symmetric_difference
    from mvset.plotting import BandwidthDisplay, LevelHistogramDisplay, LevelSetDisplay, MassVolumeDisplay
    from mvset.report.write import write_report
    from mvset.volume.measure import VolumeEstimate

__all__ = [
    "BandwidthCurve",
    "BandwidthDisplay",
    "CalibratedSet",
    "Detection",
    "DriftMonitor",
    "DriftReport",
    "ExcessMassCurve",
    "FittedSets",
    "Judge",
    "LevelHistogramDisplay",
    "LevelSetDisplay",
    "MassBand",
    "MassInterval",
    "MassVolumeCurve",
    "MassVolumeDisplay",
    "MinimumVolumeSet",
    "OneClassSVM",
    "Pipeline",
    "PluginKernelDensity",
    "Selection",
    "VolumeEstimate",
    "__version__",
    "exceptions",
    "excess_mass_curve",
    "load",
    "make_pipeline",
    "mass_volume_curve",
    "mass_volume_scorer",
    "save",
    "symmetric_difference",
    "to_onnx",
    "write_report",
]

# Where each public name is defined. Modules are imported when a name is first used, so the command line starts at once,
# and loads numpy, scikit-learn and numba only for commands that compute.
_HOMES = {
    "BandwidthCurve": "mvset.bandwidth.curves",
    "BandwidthDisplay": "mvset.plotting",
    "CalibratedSet": "mvset.estimators.calibrated_set",
    "Detection": "mvset.inference.results",
    "DriftMonitor": "mvset.inference.monitor",
    "DriftReport": "mvset.inference.results",
    "ExcessMassCurve": "mvset.metrics.detector_curves",
    "FittedSets": "mvset.calibration.fitted_sets",
    "Judge": "mvset.judge",
    "LevelHistogramDisplay": "mvset.plotting",
    "LevelSetDisplay": "mvset.plotting",
    "MassBand": "mvset.inference.results",
    "MassInterval": "mvset.inference.results",
    "MassVolumeCurve": "mvset.bandwidth.curves",
    "MassVolumeDisplay": "mvset.plotting",
    "MinimumVolumeSet": "mvset.estimators.minimum_volume_set",
    "OneClassSVM": "mvset.estimators.one_class_svm",
    "Pipeline": "mvset.estimators.pipeline",
    "PluginKernelDensity": "mvset.estimators.plugin_kernel_density",
    "Selection": "mvset.bandwidth.choice",
    "VolumeEstimate": "mvset.volume.measure",
    "excess_mass_curve": "mvset.metrics.detector_curves",
    "load": "mvset.files.model_file",
    "make_pipeline": "mvset.estimators.pipeline",
    "mass_volume_curve": "mvset.metrics.detector_curves",
    "mass_volume_scorer": "mvset.metrics.detector_curves",
    "save": "mvset.files.model_file",
    "symmetric_difference": "mvset.metrics.difference",
    "to_onnx": "mvset.files.onnx",
    "write_report": "mvset.report.write",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
