"""What the benchmarks of `make bench` share: timing in turn, the rates of this machine, tables and files.

A benchmark is a module with a QUESTION, the KEYS that tell its rows apart, `measure(options)`, which yields rows, and
`draw(rows)`. `main` runs it: it prints the rows as they come, writes NAME.csv and NAME.png, and compares the ratios
with the committed ones.
"""

import argparse
import csv
import functools
import importlib
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

COMMITTED = Path(__file__).parent / "results"
SLOWER = 0.8  # of the committed ratio: time is noisy, and less than a fifth is not reported
COLOURS = ("#1f5fa8", "#d9822b", "#4f9d69", "#9b5aa6", "#b5495b", "#7a7a7a")

Row = dict[str, Any]


# ---------------------------------------------------------------- timing


@dataclass(frozen=True)
class Timing:
    """Seconds of repeated runs."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median run."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Half the range between slowest and fastest, relative to the median."""
        return (max(self.seconds) - min(self.seconds)) / 2 / self.median


def in_turn(calls: dict[str, Callable[[], Any]], repeats: int, warm_up: bool = True) -> dict[str, Timing]:
    """Time every call once a round, so that a busy moment of the machine does not meet one of them alone."""
    if warm_up:
        for call in calls.values():
            call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - began)
    return {name: Timing(tuple(found)) for name, found in seconds.items()}


# ---------------------------------------------------------------- the limit of the machine


def _rate(work: float, call: Callable[[], Any]) -> float:
    return work / min(in_turn({"": call}, 5)[""].seconds)


@functools.cache
def rates() -> dict[str, float]:
    """What one core does in a second: multiplications with addition, exponentials, bytes read."""
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(0)
    square, small, large = rng.normal(size=(1000, 1000)), -rng.random(20_000), np.ones(2**25)
    out = np.empty_like(small)
    with threadpool_limits(1):
        return {
            "products": _rate(1000**3, lambda: square @ square),
            "exponentials": _rate(len(small), lambda: np.exp(small, out=out)),
            "bytes": _rate(large.nbytes, large.sum),
        }


def limit(kernel_values: float, columns: int, bytes_read: float = 0.0, cores: int = 1) -> float:
    """Seconds that so many values of a Gaussian kernel, and so many bytes, take at the rates measured."""
    each = columns / rates()["products"] + 1.0 / rates()["exponentials"]
    return max(kernel_values * each, bytes_read / rates()["bytes"]) / cores


# ---------------------------------------------------------------- peers


def peer(name: str) -> ModuleType | None:
    """A package to compare with; where it is not installed its name is printed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"(skipped: {name} is not installed; see the extra `bench`)", file=sys.stderr)
        return None


# ---------------------------------------------------------------- tables and files


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


def printed(rows: Iterable[Row]) -> Iterator[Row]:
    """Pass rows on, each printed as it comes."""
    fields: list[str] = []
    for row in rows:
        if list(row) != fields:
            fields = list(row)
            print(f"\n| {' | '.join(fields)} |\n|{' --- |' * len(fields)}")
        print(f"| {' | '.join(_text(value) for value in row.values())} |", flush=True)
        yield row


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table written before; none if there is no such file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(rows: list[Row], path: Path) -> None:
    """Write a table; numbers get four digits."""
    fields = list(dict.fromkeys(field for row in rows for field in row))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()})


def slower(rows: list[Row], committed: list[dict[str, str]], keys: tuple[str, ...]) -> list[str]:
    """Rows whose ratios have fallen by more than a fifth: one sentence each."""

    def key(row: Row) -> tuple[str, ...]:
        return tuple(f"{row[k]:.4g}" if isinstance(row[k], float) else str(row[k]) for k in keys)

    before = {key(row): row for row in committed}
    said = []
    for row in rows:
        for field, value in row.items():
            old = before.get(key(row), {}).get(field)
            if field.startswith("ratio") and old and isinstance(value, float) and value < SLOWER * float(old):
                name = ", ".join(f"{k} {_text(row[k])}" for k in keys)
                change = 100 * (value / float(old) - 1)
                said.append(f"{name}: {field} {value:.3g}, was {float(old):.3g} ({change:.0f} %)")
    return said


def geometric_mean(values: Iterable[float]) -> float:
    """The mean of ratios."""
    return float(np.exp(np.mean(np.log(list(values)))))


def axes(columns: int = 1, width: float = 5.2, height: float = 4.0, **options: Any) -> tuple[Any, np.ndarray]:
    """A figure with panels in the style of all benchmarks."""
    figure, panels = plt.subplots(1, columns, figsize=(width * columns, height), layout="constrained", **options)
    panels = np.atleast_1d(panels)
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25, which="major")
        panel.set_axisbelow(True)
    return figure, panels


def measured_ticks(panel: Any, values: Iterable[float]) -> None:
    """Logarithmic axes with plain numbers, those of x where something was measured."""
    shown = sorted(set(values))
    panel.set_xticks(shown, [f"{value / 1000:g}k" if value >= 1000 else f"{value:g}" for value in shown])
    panel.xaxis.set_minor_locator(NullLocator())
    low, high = panel.get_ylim()
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > 1000 * low else (1.0, 2.0, 5.0)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.yaxis.set_minor_formatter(NullFormatter())


# ---------------------------------------------------------------- the command


def main(module: ModuleType, arguments: Callable[[argparse.ArgumentParser], None] | None = None) -> None:
    """Run one benchmark: print, write, compare."""
    name = Path(str(module.__file__)).stem
    parser = argparse.ArgumentParser(description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases")
    parser.add_argument("--out", type=Path, default=Path("bench-output"), help="folder for the table and the picture")
    if arguments is not None:
        arguments(parser)
    options = parser.parse_args()
    print(f"# {module.QUESTION}")
    rows = list(printed(module.measure(options)))
    committed = read_rows(COMMITTED / f"{name}.csv")
    write_rows(rows, options.out / f"{name}.csv")
    if hasattr(module, "summary"):
        said = "\n".join(module.summary(rows))
        (options.out / f"{name}.md").write_text(said.strip() + "\n", encoding="utf-8")
        print("\n" + said)
    figure = module.draw(rows)
    figure.savefig(options.out / f"{name}.png", dpi=150)
    plt.close(figure)
    print(f"\nWritten: {options.out / name}.csv and others beside it")
    for sentence in slower(rows, committed, module.KEYS):
        print(f"SLOWER  {sentence}")
