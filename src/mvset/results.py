"""What estimators and their methods return, for type hints and for reading their documentation."""

from mvset.bandwidth.choice import Selection
from mvset.bandwidth.curves import BandwidthCurve, MassVolumeCurve
from mvset.calibration.fitted_sets import FittedSets
from mvset.estimators.events import Event, EventColumn, Findings
from mvset.inference.results import ColumnChange, Detection, DriftResult, MassBand, MassInterval
from mvset.volume.measure import VolumeEstimate

__all__ = [
    "BandwidthCurve",
    "ColumnChange",
    "Detection",
    "DriftResult",
    "Event",
    "EventColumn",
    "Findings",
    "FittedSets",
    "MassBand",
    "MassInterval",
    "MassVolumeCurve",
    "Selection",
    "VolumeEstimate",
]
