"""The picture of README.md: nested sets of two moons, and the bandwidth whose sets are smallest."""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patheffects import withStroke

from mvset import BandwidthDisplay, MinimumVolumeSet
from mvset.paper.datasets import two_moons
from mvset.plotting import palette

MASSES = [0.8, 0.9, 0.95, 0.99]
SHADES = ["#e3eef9", "#b9d6ec", "#6aaed6", "#2878b8"]  # outermost set first

X = two_moons(2000, random_state=0)
model = MinimumVolumeSet(mass=0.95, splits=25, n_jobs=-1, random_state=0).fit(X)
outside = model.predict(X) == -1

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15, "axes.titlelocation": "left", "text.color": palette.INK})
figure, (left, right) = plt.subplots(1, 2, figsize=(14, 6), width_ratios=(1.75, 1), layout="constrained")
figure.get_layout_engine().set(wspace=0.06)

x, y = np.linspace(-1.9, 3.15, 500), np.linspace(-1.25, 1.8, 300)
scores = model.score_samples(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)).reshape(len(y), len(x))
offsets = [float(model.offset(mass)) for mass in MASSES]
left.contourf(x, y, scores, levels=[*sorted(offsets), np.inf], colors=SHADES)
left.contour(x, y, scores, levels=[model.offset_], colors=palette.HIGHLIGHT, linewidths=2.6)
left.scatter(*X[~outside].T, s=4, color="white", alpha=0.75, linewidths=0)
left.scatter(*X[outside].T, s=26, color=palette.HIGHLIGHT, marker="x", linewidths=1.4)
halo = [withStroke(linewidth=3, foreground="white")]
for line, (mass, shade) in enumerate(zip(MASSES, reversed(SHADES), strict=True)):
    bold = mass == model.mass
    left.text(2.15, 1.66 - 0.19 * line, "■", color=shade, fontsize=19, va="center", path_effects=halo)
    text = f"{mass:.0%} of new rows" if line == 0 else f"{mass:.0%}"
    left.text(2.33, 1.66 - 0.19 * line, text, va="center", color=palette.HIGHLIGHT if bold else palette.INK)
left.set(xlim=x[[0, -1]], ylim=y[[0, -1]], aspect="equal")
left.set_anchor("N")  # titles on one line
left.axis("off")
left.set_title("The smallest sets that hold 80 to 99 %, from one fit")

BandwidthDisplay.from_estimator(model, ax=right)
right.set_title("The bandwidth whose sets are smallest")
if (legend := right.get_legend()) is not None:
    legend.remove()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "two_moons.png", dpi=130)
