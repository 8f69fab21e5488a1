"""Why one row is flagged.

A malignant sample of the Wisconsin table; the model knows benign ones only. `explain` says how far each
column is from what is normal around the row, in units of the bandwidth. Bars to the right: higher than normal; to the
left: lower.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from mvset import MinimumVolumeSet

table = load_breast_cancer(as_frame=True)
columns = table.data.columns[:10]  # the means over the cells of a sample
benign = table.data.loc[table.target == 1, columns]
malignant = table.data.loc[table.target == 0, columns]
train, _ = train_test_split(benign, test_size=100, random_state=0)
model = MinimumVolumeSet(mass=0.95, random_state=0).fit(train)

row = malignant.iloc[[0]]
contributions = model.explain(row)[0]
order = abs(contributions).argsort()

figure, ax = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
colours = ["#d94801" if abs(contributions[i]) == abs(contributions).max() else "#6baed6" for i in order]
ax.barh([columns[i].removeprefix("mean ") for i in order], contributions[order], color=colours)
ax.axvline(0, color="#333333", linewidth=0.8)
ax.set_xlabel("deviation from what is normal around the row, in bandwidths")
ax.set_title(f"level {model.level(row)[0]:.3f}, p = {model.p_value(row)[0]:.3f}", loc="left", fontsize="medium")
ax.spines[["top", "right", "left"]].set_visible(False)
ax.tick_params(axis="y", length=0)
