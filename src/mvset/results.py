"""What estimators and their methods return, for type hints and for reading their documentation."""

from mvset.bandwidth.choice import Selection
from mvset.bandwidth.curves import BandwidthCurve, MassVolumeCurve
from mvset.calibration.fitted_sets import FittedSets
from mvset.inference.results import Detection, DriftResult, MassBand, MassInterval
from mvset.volume.measure import VolumeEstimate

__all__ = [
    "BandwidthCurve",
    "Detection",
    "DriftResult",
    "FittedSets",
    "MassBand",
    "MassInterval",
    "MassVolumeCurve",
    "Selection",
    "VolumeEstimate",
]
