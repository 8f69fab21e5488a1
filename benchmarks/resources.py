"""Memory, compilation and import: each measured in a process of its own.

python benchmarks/resources.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

FIT = """
import time, resource
import numpy as np, sklearn.svm
from mvset import MinimumVolumeSet
from mvset.datasets import two_moons
X = two_moons({n}, random_state=0)
began = time.perf_counter()
MinimumVolumeSet(sigma={sigma}, splits={n_splits}, n_jobs=-1, random_state=0).fit(X)
first = time.perf_counter() - began
began = time.perf_counter()
MinimumVolumeSet(sigma={sigma}, splits={n_splits}, n_jobs=-1, random_state=0).fit(X) if {n} < 5000 else None
second = time.perf_counter() - began
print(first, second, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
IMPORT = "import time; began = time.perf_counter(); import {module}; print(time.perf_counter() - began)"


def numbers(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        small = FIT.format(n=500, sigma=0.3, splits=5)
        cold, _, _ = numbers(small, NUMBA_CACHE_DIR=cache)
        warm, again, _ = numbers(small, NUMBA_CACHE_DIR=cache)
        print(
            f"first fit, empty numba cache: {cold:.1f} s; filled: {warm:.2f} s, of which the fit itself {again:.2f} s"
        )
        mvset = min(numbers(IMPORT.format(module="mvset"), NUMBA_CACHE_DIR=cache)[0] for _ in range(3))
        peer = min(numbers(IMPORT.format(module="sklearn.svm"))[0] for _ in range(3))
        print(f"import mvset {mvset:.2f} s, import sklearn.svm {peer:.2f} s: {mvset - peer:+.2f} s")
        large, _, memory = numbers(FIT.format(n=10_000, sigma="'auto'", splits=10), NUMBA_CACHE_DIR=cache)
        print(f"n = 10 000, B = 10, automatic bandwidth: {large:.1f} s, peak memory {memory:.0f} MiB")
        beyond, _, memory = numbers(FIT.format(n=20_000, sigma=0.15, splits=2), NUMBA_CACHE_DIR=cache)
        print(f"n = 20 000, B = 2, one bandwidth, no Gram matrix: {beyond:.1f} s, peak memory {memory:.0f} MiB")


if __name__ == "__main__":
    main()
