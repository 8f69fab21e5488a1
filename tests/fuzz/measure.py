"""Counts how often tables of many dialects are read right, refused or read wrong: `measure.py --cases 5000`."""

import argparse
import importlib
import re
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path


def main() -> None:
    """Run the cases and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=["dialects", "dialect_pairs"], default="dialects")
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--show", type=int, default=5, help="number of wrong ones to show")
    given = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1]))
    warnings.simplefilter("ignore")
    module = importlib.import_module(f"fuzz.{given.target}")
    module.warm_up()
    started = time.perf_counter()
    outcomes, sentences, wrong = run(module, range(given.seed, given.seed + given.cases))
    seconds = time.perf_counter() - started
    _print_counts(outcomes, sentences, given.cases)
    _print_groups(wrong)
    for seed, said in wrong[: given.show]:
        print(f"\nseed {seed}: {said}")
    print(f"\n{given.cases / seconds:.0f} cases per second")


def run(module, seeds: range) -> tuple[Counter[str], dict[str, Counter[str]], list[tuple[int, str]]]:
    """Return outcomes, the sentences of each outcome, and the wrong cases."""
    outcomes: Counter[str] = Counter()
    sentences: dict[str, Counter[str]] = {}
    wrong = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            try:
                outcome, said, kind = module.run_and_say(seed, Path(folder))
                outcome = f"right: {kind}" if outcome == "right" else outcome
            except AssertionError as error:
                outcome, said = "WRONG", str(error)
                wrong.append((seed, said))
            except Exception:
                outcome, said = "FAILED", traceback.format_exc(limit=-3)
                wrong.append((seed, said))
        outcomes[outcome] += 1
        if said and outcome not in ("WRONG", "FAILED"):
            sentences.setdefault(outcome, Counter())[_general(said, folder)] += 1
    return outcomes, sentences, wrong


def _general(said: str, folder: str) -> str:
    """A sentence without what is of one case only."""
    said = re.sub(re.escape(folder) + r"/\S*?(?=[:\s])", "FILE", said)
    said = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", said)
    return re.sub(r"\d+", "N", said)[:160]


def _print_counts(outcomes: Counter[str], sentences: dict[str, Counter[str]], n_cases: int) -> None:
    for outcome, count in outcomes.most_common():
        print(f"{count:7d}  {count / n_cases:6.2%}  {outcome}")
    standard, refused = outcomes["right: standard"], outcomes["refused: standard"]
    print(f"Refused are {refused / max(1, standard + refused):.2%} of the standard ones that are not wrong.")
    for outcome in sorted(sentences):
        print(f"\n{outcome}:")
        for said, count in sentences[outcome].most_common(3):
            print(f"{count:7d}  {said}")


def _print_groups(wrong: list[tuple[int, str]]) -> None:
    """Print how many differences there are of each kind, and the seeds of some."""
    groups: dict[str, list[int]] = {}
    for seed, said in wrong:
        first, *rest = said.splitlines()
        table, _, what = first.rpartition(" table: ") if " table: " in first else ("", "", first)
        kinds = [line.split(", ")[0] for line in rest if line.startswith(("standard, ", "unusual, ", "ambiguous, "))]
        kind = kinds[-1] if kinds else ""
        groups.setdefault(f"{table} {kind}: {what.split(':')[0]}".strip(), []).append(seed)
    print("\nWRONG:" if groups else "\nNone is wrong.")
    for group, seeds in sorted(groups.items(), key=lambda each: -len(each[1])):
        print(f"{len(seeds):7d}  {group}, e.g. seeds {', '.join(map(str, seeds[:8]))}")


if __name__ == "__main__":
    main()
