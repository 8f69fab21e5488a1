"""Faults while the command and the library work: `make faults`, or python tests/faults/run.py --help."""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.runner import Report, run

# Shares of the cases.
KINDS = {
    "signals": 36,
    "watches": 10,
    "disks": 14,
    "permissions": 10,
    "changes": 14,
    "writers": 6,
    "clocks": 5,
    "threads": 5,
}
SECONDS = 200.0  # that one case may take, with all runs of the command in it
NO_LIMIT = 1 << 24  # megabytes


def run_kind(kind: str, seeds: range, max_failures: int = 20) -> Report:
    """Run the cases of a kind, in a temporary folder: their process is killed when all are done."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder, patch.dict(os.environ, TMPDIR=folder):
        Path(folder).chmod(0o755)  # other users come into it where permissions are tested
        return run(f"faults.{kind}", seeds, seconds=SECONDS, megabytes=NO_LIMIT, max_failures=max_failures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=KINDS, action="append", help="kind of faults; all by default")
    parser.add_argument("--cases", type=int, default=500, help="cases in all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: %(default)s)")
    options = parser.parse_args()
    kinds = {kind: KINDS[kind] for kind in options.kind or KINDS}
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    lines, n_failures = [], 0
    for kind, share in kinds.items():
        began = time.monotonic()
        n_cases = max(1, round(options.cases * share / sum(kinds.values())))
        report = run_kind(kind, range(options.seed, options.seed + n_cases))
        for seed, what in report.failures:
            print(f"\nFailure. To repeat: python tests/faults/run.py --kind {kind} --cases 1 --seed {seed}\n{what}")
        n_failures += len(report.failures)
        lines.append(f"{kind:<12} {report.n_cases:5} {len(report.failures):9} {time.monotonic() - began:6.0f} s")
        lines += [f"  {times:6d}  {outcome}" for outcome, times in report.outcomes.most_common()]
        print(lines[-1 - len(report.outcomes)], flush=True)
    print("\n" + "\n".join([f"{'kind':<12} {'cases':>5} {'failures':>9}", *lines]))
    print(f"{sum(not line.startswith(' ') for line in lines)} kinds, {n_failures} failures")
    return 1 if n_failures else 0


if __name__ == "__main__":
    sys.exit(main())
