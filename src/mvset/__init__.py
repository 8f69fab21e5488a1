"""Minimum Volume sets: the smallest region that holds a given share of a distribution, and what lies outside."""

from mvset import exceptions
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
