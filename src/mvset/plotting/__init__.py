"""Plots with matplotlib, as display classes in the style of scikit-learn.

A display stores its numbers; ``from_estimator`` computes them with `summaries`, ``plot`` only draws. Imports
`summaries`, `metrics` and `estimators`; imported by `report` and `experiments`. matplotlib is imported when a plot is
drawn.
"""

from mvset.plotting.bandwidth import BandwidthDisplay
from mvset.plotting.level_histogram import LevelHistogramDisplay
from mvset.plotting.level_sets import LevelSetDisplay
from mvset.plotting.mass_volume import MassVolumeDisplay

__all__ = ["BandwidthDisplay", "LevelHistogramDisplay", "LevelSetDisplay", "MassVolumeDisplay"]
