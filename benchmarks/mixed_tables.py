"""Tables with categories and a known truth: mass, volume, and rows whose category and numbers do not belong together.

In each combination of values, the two numeric columns are normal with a mean and a deviation of their own. The smallest
set of mass 0.95 is then a disc in each combination; its volume is the sum of the areas. "Swapped" rows have the
category of another row. IsolationForest, on one-hot codes and with contamination 0.05, is the peer. Four minutes.
"""

import argparse

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from mvset import MinimumVolumeSet

MASS = 0.95


class Truth:
    """Shares, centres and deviations of the cells, and the names of their categories."""

    def __init__(self, shares, centres, deviations, names):
        self.shares = np.asarray(shares, float) / np.sum(shares)
        self.centres, self.deviations = np.asarray(centres, float), np.asarray(deviations, float)
        self.names = np.array(names, dtype=object).reshape(len(shares), -1)
        self.heights = self.shares / (2 * np.pi * self.deviations**2)
        rows, cells = self.draw(400_000, np.random.default_rng(99))
        self.threshold = np.quantile(self.density(rows, cells), 1 - MASS)
        self.volume = np.sum(
            np.pi * self.deviations**2 * np.maximum(0, 2 * np.log(np.maximum(self.heights / self.threshold, 1e-300)))
        )

    def draw(self, n, rng):
        """Rows, and the numbers of their cells."""
        cells = rng.choice(len(self.shares), n, p=self.shares)
        rows = self.centres[cells] + self.deviations[cells, np.newaxis] * rng.normal(size=(n, 2))
        return rows, cells

    def density(self, rows, cells):
        """With respect to the numbers and the counting of cells."""
        deviations = (rows - self.centres[cells]) / self.deviations[cells, np.newaxis]
        return self.heights[cells] * np.exp(-0.5 * (deviations**2).sum(axis=1))

    def table(self, rows, cells):
        """As a data frame."""
        frame = pd.DataFrame(rows, columns=["a", "b"])
        for j, column in enumerate(self.names.T):
            frame[f"kind{j}"] = column[cells]
        return frame


def truths():
    """Tables of four kinds."""
    rng = np.random.default_rng(5)
    yield (
        "three clusters",
        Truth([6, 3, 1], [[0, 0], [4, 1], [-3, 3]], [1, 0.5, 0.8], ["red", "green", "blue"]),
    )
    yield "independent", Truth([6, 3, 1], np.zeros((3, 2)), np.ones(3), ["red", "green", "blue"])
    shares = 1 / np.arange(1, 31)
    centres = rng.normal(scale=2, size=(30, 2))
    yield "thirty values", Truth(shares, centres, np.full(30, 0.7), [f"v{i:02d}" for i in range(30)])
    cells = [(f"site {i}", f"product {j}") for i in range(4) for j in range(5)]
    centres = [[3 * i, 2 * j] for i in range(4) for j in range(5)]
    yield "four sites, five products", Truth(rng.uniform(0.5, 2, 20), centres, rng.uniform(0.4, 1, 20), cells)


def one(truth, n, seed):
    """Mass, volume over the smallest, and shares of swapped rows found by us, by the truth and by the peer."""
    rng = np.random.default_rng(seed)
    train, new = truth.table(*truth.draw(n, rng)), truth.draw(10_000, rng)
    model = MinimumVolumeSet(MASS, random_state=seed).fit(train)
    kinds = [name for name in train if name.startswith("kind")]
    peer = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), kinds), (StandardScaler(), ["a", "b"])),
        IsolationForest(contamination=1 - MASS, random_state=seed),
    ).fit(train)
    rows, cells = new
    swapped = rng.permutation(cells)
    wrong = swapped != cells
    others = truth.table(rows, swapped)[wrong]
    return (
        np.mean(model.predict(truth.table(*new)) == 1),
        model.volume_.value / truth.volume,
        np.mean(model.predict(others) == -1),
        np.mean(truth.density(rows, swapped)[wrong] < truth.threshold),
        np.mean(peer.predict(truth.table(*new)) == 1),
        np.mean(peer.predict(others) == -1),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    print(f"{arguments.seeds} seeds each, mass {MASS}; means, and in brackets standard errors")
    print("| table | rows | mass | volume / smallest | swapped: found | by the truth | peer: mass | peer: found |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, truth in truths():
        for n in (500, 2000):
            found = np.array([one(truth, n, seed) for seed in range(arguments.seeds)])
            errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
            mass, volume, ours, best, peer_mass, peers = found.mean(axis=0)
            print(
                f"| {name} | {n} | {mass:.3f} ({errors[0]:.3f}) | {volume:.2f} ({errors[1]:.2f}) | {ours:.2f} | "
                f"{best:.2f} | {peer_mass:.3f} | {peers:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
