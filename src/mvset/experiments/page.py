"""README.md of the results folder: compares the paper with our results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mvset.experiments.catalogue import EXPERIMENTS, Experiment
from mvset.experiments.plan import Plan
from mvset.experiments.rows import RowFile, UnusableRowsError
from mvset.experiments.summary import Finding
from mvset.files.atomic import atomic_write
from mvset.version import __version__

_TITLE = "# The paper's experiments, reproduced"
_HEAD = f"""{_TITLE}

A. Thomas, V. Feuillard, A. Gramfort, *Calibration of One-Class SVM for MV set estimation*, 2015. This page, its figures
and the data behind them were written by `mvset reproduce` (mvset {__version__}). To compute them again, with the same
numbers, delete the folder and run `mvset reproduce --all`. Unless stated otherwise, the distance of a set to the true
set of mass 0.95 is the volume of their symmetric difference over the volume of the true set; ± gives 95 % confidence
intervals of means; *apart* means that intervals do not overlap. ✓ marks statements of the paper that hold in our
results, ✗ those that do not; lines without a mark are additional information. "Ours" is the method of the paper:
offsets by its rule, the mean over splits (`calibration="paper"`), and the bandwidth by the rule that the table names.
The default of the library ranks pooled scores instead (`calibration="split"`).
"""


_QUICK_NOTE = "*A quick run: with few repetitions, ✗ may only mean that intervals still overlap.* "


def largest_plan(experiment: Experiment, file: RowFile) -> Plan | None:
    """The full plan if all its rows exist, otherwise the quick plan if all its rows exist, otherwise None."""
    return next((plan for plan in (experiment.FULL, experiment.QUICK) if not file.missing(plan)), None)


def check_page(out: Path) -> None:
    """Fail if the folder contains a README.md that this command has not written."""
    path = out / "README.md"
    if path.exists() and not path.read_text(encoding="utf-8", errors="replace").startswith(_TITLE):
        raise UnusableRowsError(f"{path} was not written by this command: choose another folder.")


def write_page(out: Path) -> Path:
    """Write README.md about all experiments in the folder that have at least the rows of a quick run."""
    sections, overview = [], []
    for name, experiment in EXPERIMENTS.items():
        file = RowFile(out / f"{name}.csv")
        plan = largest_plan(experiment, file)
        if plan is None or not (out / f"{name}.svg").exists():
            continue
        rows = file.rows(plan)
        findings = experiment.findings(rows)
        anchor = experiment.TITLE.lower().replace(" ", "-").translate(str.maketrans("", "", "=.,?%"))
        rules = [experiment.OFFSETS, experiment.BANDWIDTH]
        overview.append([f"[{name}](#{anchor})", experiment.FIGURES, *rules, str(plan.repetitions), _verdict(findings)])
        numbers: list[list[str]] = getattr(experiment, "numbers", lambda rows: [])(rows)
        sections.append(
            f"""## {experiment.TITLE}

`mvset reproduce {name}` · {experiment.FIGURES} · [{name}.csv]({name}.csv), {_counted(plan.repetitions, "repetition")}

![{experiment.TITLE}]({name}.svg)

**The paper.** {experiment.PAPER}

{_table([["", "paper", "ours", ""], *map(_cells, findings)])}

{_QUICK_NOTE if plan is not experiment.FULL else ""}{experiment.REMARK}

{_table(numbers)}
"""
        )
    path = out / "README.md"
    header = ["experiment", "in the paper", "offsets", "bandwidth", "repetitions", "statements that hold"]
    table = _table([header, *overview])
    text = "\n\n".join(part.strip() for part in (_HEAD, table, *sections))
    with atomic_write(path) as aside:
        aside.write_text(text + "\n", encoding="utf-8")
    return path


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("s" if n != 1 else "")


def _verdict(findings: Sequence[Finding]) -> str:
    held = [finding.holds for finding in findings if finding.holds is not None]
    return f"{sum(held)} of {len(held)}"


def _cells(finding: Finding) -> list[str]:
    return [finding.what, finding.paper, finding.ours, {True: "✓", False: "✗", None: ""}[finding.holds]]


def _table(lines: Sequence[Sequence[str]]) -> str:
    if not lines:
        return ""
    header, *rest = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([header, "|" + " --- |" * len(lines[0]), *rest])
