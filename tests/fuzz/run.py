"""Fuzzes everything that reads files of others: `make fuzz`, or python tests/fuzz/run.py --help."""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.runner import TARGETS, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=TARGETS, action="append", help="what to fuzz; everything by default")
    parser.add_argument("--cases", type=int, default=5000, help="cases of each target (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=20.0, help="that one case may take (default: %(default)s)")
    parser.add_argument("--megabytes", type=int, default=1024, help="that one case may take (default: %(default)s)")
    options = parser.parse_args()
    n_failures = 0
    for target in options.target or TARGETS:
        began = time.monotonic()
        seeds = range(options.seed, options.seed + options.cases)
        report = run(target, seeds, seconds=options.seconds, megabytes=options.megabytes)
        print(f"{target}: {report.n_cases} cases in {time.monotonic() - began:.0f} s, {len(report.failures)} failures")
        for outcome, times in report.outcomes.most_common():
            print(f"  {times:6d}  {outcome}")
        for seed, what in report.failures:
            print(f"\nFailure. To repeat: python tests/fuzz/run.py --target {target} --cases 1 --seed {seed}\n{what}")
        n_failures += len(report.failures)
    return 1 if n_failures else 0


if __name__ == "__main__":
    sys.exit(main())
