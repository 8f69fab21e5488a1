"""Minimum Volume sets: the smallest region that holds a given share of a distribution, and what lies outside."""

from mvset.answers import Detection, MassBand, MassInterval
from mvset.baselines import OneClassSVM
from mvset.calibrated import CalibratedSet
from mvset.curves import BandwidthCurve, MassVolumeCurve
from mvset.drift import DriftMonitor, DriftReport
from mvset.estimator import MinimumVolumeSet
from mvset.evaluation import ExcessMassCurve, excess_mass_curve, mass_volume_curve, mass_volume_scorer
from mvset.kernel_density import PluginKernelDensity
from mvset.metrics import symmetric_difference
from mvset.onnx_export import to_onnx
from mvset.persistence import load, save
from mvset.plotting import BandwidthDisplay, LevelHistogramDisplay, LevelSetDisplay, MassVolumeDisplay
from mvset.ranking import Selection
from mvset.report.write import write_report
from mvset.version import __version__
from mvset.volumes import VolumeEstimate

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
