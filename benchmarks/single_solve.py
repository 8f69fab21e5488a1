"""One solve, kernel included, against scikit-learn's OneClassSVM, over sizes and bandwidths.

Timed twice: the solve and its kernel alone, and mvset.OneClassSVM.fit as a user calls it, with validation. Narrow is
the median distance to the nearest neighbour, wide the global scale of the rows, middle their geometric mean.
Best of several runs, the same number for both peers; a first call compiles.

    python benchmarks/single_solve.py
"""

from __future__ import annotations

import time

import numpy as np
from sklearn import svm

from mvset import OneClassSVM
from mvset.bandwidth.grid import bandwidth_grid
from mvset.datasets import paper_mixture, two_moons
from mvset.svm.dual import solve_dual
from mvset.svm.gram import lazy_gram


def best_time(function, repeats, *arguments):
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - began)
    return min(times)


def solve_and_kernel(X, sigma):
    solve_dual(lazy_gram(X, sigma), np.arange(len(X)), nu=0.4, tol=1e-3, max_iter=-1)


def main() -> None:
    OneClassSVM(nu=0.4, sigma=1.0).fit(two_moons(100, random_state=0))
    solve_ratios, fit_ratios = [], []
    print(f"{'data':>9} {'n':>6} {'sigma':>7} | {'scikit-learn':>13} {'mvset solve':>12} {'mvset fit':>11} | ratios")
    for n in (500, 2000, 5000, 10_000):
        tables = {"moons": two_moons(n, random_state=0), "mixture 4": paper_mixture(4).sample(n, random_state=0)}
        for name, X in tables.items():
            grid = bandwidth_grid(X, np.random.RandomState(0))
            for sigma in (grid[-1], np.sqrt(grid[0] * grid[-1]), grid[0]):
                repeats = 20 if n <= 500 else 5 if n <= 2000 else 2
                theirs = best_time(svm.OneClassSVM(nu=0.4, gamma=0.5 / sigma**2).fit, repeats, X)
                solve = best_time(solve_and_kernel, repeats, X, sigma)
                fit = best_time(OneClassSVM(nu=0.4, sigma=sigma).fit, repeats, X)
                solve_ratios.append(theirs / solve)
                fit_ratios.append(theirs / fit)
                print(
                    f"{name:>9} {n:6d} {sigma:7.3f} | {1e3 * theirs:10.2f} ms {1e3 * solve:9.2f} ms {1e3 * fit:8.2f} ms"
                    f" | {solve_ratios[-1]:5.1f}× {fit_ratios[-1]:5.1f}×",
                    flush=True,
                )
    for name, ratios in (("solve and kernel", solve_ratios), ("fit", fit_ratios)):
        print(f"geometric mean, {name}: {np.exp(np.mean(np.log(ratios))):.1f}×")


if __name__ == "__main__":
    main()
