"""Rows on the border of a set."""

import numpy as np


def border_rows(model, count, dtype, mass=None, seed=0):
    """Pairs of rows on both sides of the border of a set, one rounding of their position apart."""
    rng = np.random.default_rng(seed)
    inside = model.support_vectors_[model.predict(model.support_vectors_, mass) == 1]
    inside = inside[rng.integers(len(inside), size=count)].astype(dtype)
    inside = inside[model.predict(inside, mass) == 1]
    direction = rng.normal(size=inside.shape)
    outside = (inside + 100.0 * direction).astype(dtype)
    for _ in range(80):
        middle = (0.5 * (inside.astype(float) + outside.astype(float))).astype(dtype)
        holds = model.predict(middle, mass) == 1
        inside = np.where(holds[:, np.newaxis], middle, inside)
        outside = np.where(holds[:, np.newaxis], outside, middle)
    return np.vstack([inside, outside])
