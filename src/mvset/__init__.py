"""Minimum Volume sets: the smallest region that holds a given share of a distribution, and what lies outside."""

from mvset.baselines import OneClassSVM
from mvset.curves import MassVolumeCurve
from mvset.estimator import MinimumVolumeSet
from mvset.volumes import VolumeEstimate

__version__ = "0.1.0"

__all__ = ["MassVolumeCurve", "MinimumVolumeSet", "OneClassSVM", "VolumeEstimate"]
