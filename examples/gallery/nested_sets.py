"""Nested sets of one fit, and the rows outside.

`LevelSetDisplay` draws the sets of several masses. Dashed lines show where the border lies, with 95 % confidence. Rows
outside the set of mass 0.95 are crosses.
"""

import matplotlib.pyplot as plt

from mvset import LevelSetDisplay, MinimumVolumeSet
from mvset.paper.datasets import two_moons

X = two_moons(1500, noise=0.12, random_state=0)
model = MinimumVolumeSet(mass=0.95, random_state=0).fit(X)
figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
LevelSetDisplay.from_estimator(model, X, ax=ax)
