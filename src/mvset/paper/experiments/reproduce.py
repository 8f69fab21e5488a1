"""Run experiments: compute rows, draw figures, and write README.md, which compares them with the paper."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from mvset.files.atomic import atomic_write
from mvset.paper import experiments
from mvset.paper.experiments import boston, dimension, figures, moons, nested, nu, outliers, samples, sigma
from mvset.paper.experiments.rows import Plan, RowFile, UnusableRowsError, compute_missing
from mvset.version import __version__
from mvset.wording import counted


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper.

    The docstring of its module `study` is also its text on the page: the title, what the paper reports, and a remark on
    how we differ and why. The module has the functions `compute`, which returns the rows of a task, as many for every
    task, `findings` and `plot`; it may have `numbers`, which returns a table that begins with its header. `figures` are
    the figures in the paper; `offsets` and `bandwidth` name the rules that set them. `seconds` is the rough time of one
    task on one core.
    """

    study: ModuleType
    figures: str
    bandwidth: str
    seconds: float
    full: Plan
    quick: Plan
    offsets: str = "paper"

    @property
    def paragraphs(self) -> list[str]:
        """The title, what the paper reports, and the remark."""
        title, paper, remark = (" ".join(part.split()) for part in (self.study.__doc__ or "\n\n\n\n").split("\n\n"))
        return [title.removesuffix("."), paper.removeprefix("The paper: "), remark]


def _plan(repetitions: int, **values: Sequence[float]) -> Plan:
    """Return a plan with one case for each value of a column, or with a single case."""
    return Plan([{name: value} for name, several in values.items() for value in several] or [{}], repetitions)


_EACH, _LEAST = "each, one after the other", "least area"
_OR_LIBRARY = "least area; ours, where it says library"
_ROWS, _FEW_ROWS = _plan(100, n=(100, 200, 500, 1000, 2000, 5000)), _plan(6, n=(100, 500, 2000))
_COLUMNS, _FEW_COLUMNS = _plan(100, d=(*dimension.PAPER_DIMENSIONS, 10, 15, 20)), _plan(6, d=(2, 3, 5, 8, 15))
_NOISES, _FEW_NOISES = _plan(20, noise=(0.05, 0.1, 0.15, 0.2, 0.25, 0.3)), _plan(2, noise=(0.1, 0.2, 0.3))
# In the order of the paper.
EXPERIMENTS = {
    "nu": Experiment(nu, "Fig. 1", "one, given", 0.1, _plan(1), _plan(1), offsets="none: the unshifted set"),
    "sigma": Experiment(sigma, "Figs. 4, 5 and 6", _EACH, 2.5, _plan(100), _plan(6)),
    "samples": Experiment(samples, "Fig. 7", _LEAST, 3.0, _ROWS, _FEW_ROWS),
    "outliers": Experiment(outliers, "Figs. 8 and 9", _LEAST, 1.5, _plan(100), _plan(8)),
    "dimension": Experiment(dimension, "Fig. 10", _LEAST, 3.0, _COLUMNS, _FEW_COLUMNS),
    "moons": Experiment(moons, "Figs. 11 and 12", _OR_LIBRARY, 3.0, _NOISES, _FEW_NOISES),
    "boston": Experiment(boston, "Figs. 13 and 14", _OR_LIBRARY, 0.4, _plan(50), _plan(4)),
    "nested": Experiment(nested, "Section II-A (text)", _EACH, 3.0, _plan(100), _plan(6)),
}

_TITLE, _, _INTRODUCTION = (experiments.__doc__ or "").replace("VERSION", __version__).partition(".\n\n")
_HEAD = f"# {_TITLE}\n\n{_INTRODUCTION}"
_MARKS = {True: "✓", False: "✗", None: ""}
_QUICK_NOTE = "*A quick run: with few repetitions, ✗ may only mean that intervals still overlap.* "


@dataclass(frozen=True)
class Job:
    """One experiment to run, with the number of tasks left."""

    name: str
    plan: Plan
    n_left: int


def plan_jobs(names: Sequence[str], out: Path, *, quick: bool) -> list[Job]:
    """Create the folder, check that it can be used, and return the jobs in the order of the paper."""
    out.mkdir(parents=True, exist_ok=True)
    page = out / "README.md"
    if page.exists() and not page.read_text(encoding="utf-8", errors="replace").startswith(f"# {_TITLE}"):
        raise UnusableRowsError(f"{page} was not written by this command: choose another folder.")
    plans = {name: each.quick if quick else each.full for name, each in EXPERIMENTS.items() if name in names}
    return [Job(name, plan, len(RowFile(out / f"{name}.csv").missing(plan))) for name, plan in plans.items()]


def reproduce(job: Job, out: Path, *, n_jobs: int | None, on_done: Callable[[], None]) -> list[Path]:
    """Compute the missing rows of a job, draw its figure and update the page; return the files written.

    If all rows of the full plan exist, the figure shows these, even in a quick run.
    """
    experiment, path = EXPERIMENTS[job.name], out / f"{job.name}.csv"
    file = compute_missing(experiment.study.compute, job.plan, path, n_jobs=n_jobs, on_done=on_done)
    rows = file.rows(_largest_plan(experiment, file) or job.plan)
    drawn = figures.draw(lambda: experiment.study.plot(rows), out / job.name)
    write_page(out)
    return [path, *drawn]


def _largest_plan(experiment: Experiment, file: RowFile) -> Plan | None:
    """Return the full plan if all its rows exist, otherwise the quick plan if all its rows exist, otherwise None."""
    return next((plan for plan in (experiment.full, experiment.quick) if not file.missing(plan)), None)


def write_page(out: Path) -> Path:
    """Write README.md about all experiments in the folder that have at least the rows of a quick run."""
    sections, overview = [], []
    for name, each in EXPERIMENTS.items():
        file = RowFile(out / f"{name}.csv")
        plan = _largest_plan(each, file)
        if plan is None or not (out / f"{name}.svg").exists():
            continue
        (title, paper, remark), rows = each.paragraphs, file.rows(plan)
        found = each.study.findings(rows)
        cells = [[one.what, one.paper, one.ours, _MARKS[one.holds]] for one in found]
        held = [finding.holds for finding in found if finding.holds is not None]
        anchor = title.lower().replace(" ", "-").translate(str.maketrans("", "", "=.,?%"))
        link, verdict = f"[{name}](#{anchor})", f"{sum(held)} of {len(held)}"
        overview.append([link, each.figures, each.offsets, each.bandwidth, str(plan.repetitions), verdict])
        sections.append(
            f"""## {title}

`mvset reproduce {name}` · {each.figures} · [{name}.csv]({name}.csv), {counted(plan.repetitions, "repetition")}

![{title}]({name}.svg)

**The paper.** {paper}

{_table([["", "paper", "ours", ""], *cells])}

{_QUICK_NOTE if plan != each.full else ""}{remark}

{_table(each.study.numbers(rows) if hasattr(each.study, "numbers") else [])}
"""
        )
    header = ["experiment", "in the paper", "offsets", "bandwidth", "repetitions", "statements that hold"]
    text = "\n\n".join(part.strip() for part in (_HEAD, _table([header, *overview]), *sections))
    with atomic_write(out / "README.md") as aside:
        aside.write_text(text + "\n", encoding="utf-8")
    return out / "README.md"


def _table(lines: Sequence[Sequence[str]]) -> str:
    if not lines:
        return ""
    texts = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([texts[0], "|" + " --- |" * len(lines[0]), *texts[1:]])
