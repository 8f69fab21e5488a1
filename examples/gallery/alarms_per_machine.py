"""Every machine its own 5 % of alarms.

Three machines with different noise share one model. With one offset for all, the noisy machine has most alarms. With
`fit(X, strata=machine)` each machine has its own offset, and its own 5 %.
"""

import matplotlib.pyplot as plt
import numpy as np

from mvset import MinimumVolumeSet

names = np.array(["A", "B", "C"])


def readings(n, seed):
    """Readings of three machines, and the name of the machine of each."""
    rng = np.random.default_rng(seed)
    machine = rng.integers(3, size=n)
    return rng.normal(size=(n, 2)) * np.array([0.7, 1.0, 1.6])[machine, None], names[machine]


X, machine = readings(2000, seed=0)
X_new, machine_new = readings(6000, seed=1)
model = MinimumVolumeSet(random_state=0).fit(X, strata=machine)
one, each = model.predict(X_new) == -1, model.predict(X_new, strata=machine_new) == -1

figure, ax = plt.subplots(figsize=(6.2, 3.6), layout="constrained")
for flagged, move, label, colour in ((one, -0.2, "one offset", "#fdae6b"), (each, 0.2, "strata=machine", "#2171b5")):
    shares = [flagged[machine_new == name].mean() for name in names]
    bars = ax.bar(np.arange(3) + move, shares, width=0.36, color=colour, label=label)
    white = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    ax.bar_label(bars, fmt="{:.1%}", padding=3, fontsize="small", bbox=white)
ax.axhline(0.05, color="#333333", linewidth=1, linestyle="--", zorder=0)
ax.set_xticks(range(3), [f"machine {name}" for name in names])
ax.set_ylabel("new normal rows flagged")
ax.yaxis.set_major_formatter("{x:.0%}")
ax.legend(frameon=False, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
