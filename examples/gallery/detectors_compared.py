"""Detectors compared without labels.

The mass-volume curve of a detector shows how large its sets must be to contain a given share of new rows: lower is
better. It needs no anomalies, so it can be drawn for your own table. The band around our curve contains the true masses
of all nested sets at once, with 95 % confidence.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import IsolationForest

from mvset import MassVolumeDisplay, MinimumVolumeSet
from mvset.paper.datasets import two_moons

X, new = two_moons(1000, noise=0.12, random_state=0), two_moons(2000, noise=0.12, random_state=1)
figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for detector in (MinimumVolumeSet(random_state=0), IsolationForest(random_state=0)):
    MassVolumeDisplay.from_estimator(detector.fit(X), new, ax=ax)
