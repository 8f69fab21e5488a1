"""The first figure of README.md: nested sets of the two-moons data and the selection of the bandwidth."""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt

from mvset import BandwidthDisplay, LevelSetDisplay, MinimumVolumeSet
from mvset.datasets import two_moons

X = two_moons(2000, random_state=0)
model = MinimumVolumeSet(mass=0.95, splits=25, n_jobs=-1, random_state=0).fit(X)
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), width_ratios=(3, 2), layout="constrained")
LevelSetDisplay.from_estimator(model, X, ax=left)
BandwidthDisplay.from_estimator(model, ax=right)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "two_moons.png", dpi=150)
