"""The smallest region that contains 95 % of the rows.

Both regions contain 95 % of new rows. The box is the obvious one: limits for each column. The minimum volume set
follows the rows, is much smaller, and so notices rows between the two groups.
"""

import matplotlib.pyplot as plt
import numpy as np

from mvset import MinimumVolumeSet
from mvset.paper.datasets import two_moons

X, new = two_moons(1000, noise=0.12, random_state=0), two_moons(20_000, noise=0.12, random_state=1)
model = MinimumVolumeSet(mass=0.95, random_state=0).fit(X)

# Limits for each column, moved outwards together until the box contains 95 % of the new rows.
middle, half = X.mean(axis=0), X.std(axis=0)
half *= np.quantile(np.max(np.abs(new - middle) / half, axis=1), 0.95)
x, y = np.meshgrid(np.linspace(-1.8, 2.8, 300), np.linspace(-1.4, 1.9, 240))
decision = model.decision_function(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)

figure, axes = plt.subplots(1, 2, figsize=(7, 3), sharex=True, sharey=True, layout="constrained")
axes[0].add_patch(plt.Rectangle(middle - half, *(2 * half), facecolor="#bdd7e7", edgecolor="#d94801", linewidth=1.8))
axes[1].contourf(x, y, decision, levels=[0, decision.max() + 1], colors=["#bdd7e7"])
axes[1].contour(x, y, decision, levels=[0], colors="#d94801", linewidths=1.8)
for ax, name, area in (
    (axes[0], "limits for each column", np.prod(2 * half)),
    (axes[1], "minimum volume set", model.volume_.value),
):
    ax.scatter(*X.T, s=4, color="#333333", linewidths=0, alpha=0.7)
    ax.set_title(f"{name}: area {area:.1f}", loc="left", fontsize="medium")
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_color("#d0d0d0")
