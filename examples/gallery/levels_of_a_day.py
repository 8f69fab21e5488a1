"""Levels of a normal day and of a day with drift.

The levels of normal rows are uniform: 5 % of them lie above 0.95. `LevelHistogramDisplay` shows how the levels of a
table deviate from that. On the second day the rows are shifted by one standard deviation.
"""

import matplotlib.pyplot as plt
import numpy as np

from mvset import LevelHistogramDisplay, MinimumVolumeSet

rng = np.random.default_rng(0)
model = MinimumVolumeSet(mass=0.95, calibration="conformal", random_state=0).fit(rng.normal(size=(1000, 3)))
figure, axes = plt.subplots(2, 1, figsize=(6.4, 6), sharex=True, sharey=True, layout="constrained")
for ax, shift, name in zip(axes, (0.0, 1.0), ("a normal day", "a day with drift"), strict=True):
    LevelHistogramDisplay.from_estimator(model, rng.normal([shift, 0, 0], size=(400, 3)), ax=ax)
    ax.set_title(name, loc="left", fontsize="medium")
