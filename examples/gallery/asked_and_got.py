"""The share of new rows inside, against the share asked for.

Mean over twenty samples of 300 rows. One fit of a minimum volume set gives all masses. The one-class SVM is fitted once
for each mass, with nu = 1 - mass: that limits the share of its *training* rows outside, and new rows are outside more
often. The narrower its kernel, the larger the difference.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import OneClassSVM

from mvset import MinimumVolumeSet
from mvset.paper.datasets import paper_mixture

mixture = paper_mixture(n_features=2)
new = mixture.sample(4000, random_state=100)
masses = np.array([0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99])
sigma = 0.8  # the bandwidth, for both


def shares_inside(X):
    """Shares of the new rows that both methods have inside, for each mass."""
    model = MinimumVolumeSet(sigma=sigma, scaling=None, random_state=0).fit(X)
    ours = [np.mean(model.predict(new, mass=mass) == 1) for mass in masses]
    gamma = 1 / (2 * sigma**2)
    svm = [np.mean(OneClassSVM(nu=1 - mass, gamma=gamma).fit(X).predict(new) == 1) for mass in masses]
    return ours, svm


ours, svm = np.mean([shares_inside(mixture.sample(300, random_state=seed)) for seed in range(20)], axis=0)

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot([0.79, 1], [0.79, 1], color="#9a9a9a", linewidth=1, linestyle="--", zorder=0)
ax.plot(masses, ours, color="#2171b5", marker="o", label="MinimumVolumeSet(sigma=0.8), one fit")
ax.plot(masses, svm, color="#d94801", marker="s", label="OneClassSVM(nu=1 - mass), the same bandwidth")
ax.set(xlabel="mass asked for", ylabel="share of new rows inside", xlim=(0.79, 1), ylim=(0.7, 1.005))
ax.legend(loc="lower right", frameon=False)
line = {"arrowstyle": "-", "color": "#9a9a9a"}
ax.annotate("as asked for", (0.83, 0.83), (0.8, 0.91), color="#6b7580", arrowprops=line)
ax.spines[["top", "right"]].set_visible(False)
