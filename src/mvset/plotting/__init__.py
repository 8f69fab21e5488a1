"""Display classes in the style of scikit-learn: ``from_estimator`` computes the numbers, ``plot`` draws them."""

from mvset.plotting.bandwidth import BandwidthDisplay
from mvset.plotting.level_histogram import LevelHistogramDisplay
from mvset.plotting.level_sets import LevelSetDisplay
from mvset.plotting.mass_volume import MassVolumeDisplay

__all__ = ["BandwidthDisplay", "LevelHistogramDisplay", "LevelSetDisplay", "MassVolumeDisplay"]
