"""How the bandwidth was chosen.

`BandwidthDisplay` draws what decided: the mean log volume of the sets of each bandwidth, with its standard error. The
widest bandwidth within one standard error of the smallest value is taken.
"""

import matplotlib.pyplot as plt

from mvset import BandwidthDisplay, MinimumVolumeSet
from mvset.paper.datasets import two_moons

model = MinimumVolumeSet(mass=0.95, random_state=0).fit(two_moons(1000, noise=0.12, random_state=0))
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
BandwidthDisplay.from_estimator(model, ax=ax)
