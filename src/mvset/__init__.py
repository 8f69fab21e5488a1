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
from mvset.persistence import load, save
from mvset.ranking import Selection
from mvset.volumes import VolumeEstimate

__version__ = "0.1.0"

__all__ = [
    "BandwidthCurve",
    "CalibratedSet",
    "Detection",
    "DriftMonitor",
    "DriftReport",
    "ExcessMassCurve",
    "MassBand",
    "MassInterval",
    "MassVolumeCurve",
    "MinimumVolumeSet",
    "OneClassSVM",
    "PluginKernelDensity",
    "Selection",
    "VolumeEstimate",
    "excess_mass_curve",
    "load",
    "mass_volume_curve",
    "mass_volume_scorer",
    "save",
    "symmetric_difference",
]
