"""score_samples per core against scikit-learn's OneClassSVM with the same support vectors.

python benchmarks/scoring.py
"""

from __future__ import annotations

import time

import numpy as np
from sklearn import svm

from mvset import OneClassSVM
from mvset.datasets import paper_mixture


def best_time(function, argument, repeats=3):
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function(argument)
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    ratios = []
    for d in (2, 4, 8, 20):
        mixture = paper_mixture(d)
        X, new = mixture.sample(2000, random_state=0), mixture.sample(20_000, random_state=1)
        sigma = np.sqrt(d)
        ours = OneClassSVM(nu=0.4, sigma=sigma, n_jobs=1).fit(X)
        theirs = svm.OneClassSVM(nu=0.4, gamma=0.5 / sigma**2).fit(X)
        ours.score_samples(new[:10])
        difference = np.abs(ours.score_samples(new) / theirs.score_samples(new) - 1).max()
        slow, fast = best_time(theirs.score_samples, new), best_time(ours.score_samples, new)
        ratios.append(slow / fast)
        print(
            f"d = {d:2d}, {len(ours.support_)} support vectors, 20 000 rows: scikit-learn {slow:.3f} s, "
            f"mvset {fast:.4f} s, {ratios[-1]:.1f}× (scores agree within {difference:.1e})"
        )
    print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.1f}×")


if __name__ == "__main__":
    main()
