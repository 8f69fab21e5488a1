"""Minimum Volume sets: the smallest region that holds a given share of a distribution, and what lies outside."""

from mvset.bandwidth.curves import BandwidthCurve, MassVolumeCurve
from mvset.bandwidth.ranking import Selection
from mvset.estimators.calibrated_set import CalibratedSet
from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.estimators.one_class_svm import OneClassSVM
from mvset.estimators.plugin_kernel_density import PluginKernelDensity
from mvset.files.model_file import load, save
from mvset.files.onnx import to_onnx
from mvset.inference.drift import DriftMonitor, DriftReport
from mvset.inference.results import Detection, MassBand, MassInterval
from mvset.metrics.curves import ExcessMassCurve, excess_mass_curve, mass_volume_curve, mass_volume_scorer
from mvset.metrics.difference import symmetric_difference
from mvset.plotting import BandwidthDisplay, LevelHistogramDisplay, LevelSetDisplay, MassVolumeDisplay
from mvset.report.write import write_report
from mvset.version import __version__
from mvset.volume.measure import VolumeEstimate

__all__ = [
    "BandwidthCurve",
    "BandwidthDisplay",
    "CalibratedSet",
    "Detection",
    "DriftMonitor",
    "DriftReport",
    "ExcessMassCurve",
    "LevelHistogramDisplay",
    "LevelSetDisplay",
    "MassBand",
    "MassInterval",
    "MassVolumeCurve",
    "MassVolumeDisplay",
    "MinimumVolumeSet",
    "OneClassSVM",
    "PluginKernelDensity",
    "Selection",
    "VolumeEstimate",
    "__version__",
    "excess_mass_curve",
    "load",
    "mass_volume_curve",
    "mass_volume_scorer",
    "save",
    "symmetric_difference",
    "to_onnx",
    "write_report",
]
