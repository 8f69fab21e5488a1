"""Files that change while they are read: replaced, truncated, appended to, written in place, deleted.

The answer is that of one of the two contents, or one sentence; never a mixture.
"""

import os
import random
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from faults import stage
from faults.stage import Moment

WAYS = ("replaced", "rewritten", "truncated", "appended", "deleted")


def warm_up() -> None:
    """Import everything, and make the files."""
    stage.warm_up(everything=False)


def _arguments(command: str, ending: str) -> tuple[tuple[str, ...], str, Callable[[Path], Any]]:
    """The command, its output, and what the output answers."""
    if command == "fit":
        return ("fit", f"today{ending}", "--exclude", "id", "--out", "out.mvset"), "out.mvset", stage.answers
    score = ("score", "model.mvset", f"today{ending}", "--keep", "id", "--jobs", "1", "--out", "out.csv")
    return score, "out.csv", stage.scores


@cache
def _n_calls(command: str, ending: str) -> int:
    with TemporaryDirectory() as folder:
        stage.furnish(Path(folder), "model.mvset", f"today{ending}")
        return stage.n_calls(_arguments(command, ending)[0], Path(folder))


def run_case(seed: int, folder: Path) -> str:
    """Change a table, or the model, at some moment."""
    rng = random.Random(f"changes {seed}")
    command, ending = rng.choice(["score", "score", "fit"]), rng.choice(stage.ENDINGS)
    arguments, out_name, content = _arguments(command, ending)
    stage.furnish(folder, "model.mvset", f"today{ending}")
    out = folder / out_name
    changed = folder / ("model.mvset" if command == "score" and rng.random() < 0.25 else f"today{ending}")
    other = stage.original(f"other{'.mvset' if changed.suffix == '.mvset' else ending}")
    way = rng.choice(WAYS)
    shutil.copy(other, folder / ".other")
    whole = changed.read_bytes()
    size, cut = len(whole), rng.random()

    def change() -> None:
        if way == "replaced":
            os.replace(folder / ".other", changed)
        elif way == "rewritten":
            changed.write_bytes((folder / ".other").read_bytes())
        elif way == "truncated":
            os.truncate(changed, int(cut * size))
        elif way == "appended":
            with changed.open("ab") as file:
                file.write(whole[int(cut * size) :])
        else:
            changed.unlink()

    n = _n_calls(command, ending)
    # Reading begins when the arguments are read, and the last fifth of a fit is writing.
    run = stage.run(arguments, folder, prepare=Moment(change, int(n * rng.uniform(0.0, 0.9))))
    (folder / ".other").unlink(missing_ok=True)
    what = f"{command}, {'model' if changed.suffix == '.mvset' else 'table'} {way}"
    stage.check_tidy(folder)
    if run.code != 0:
        stage.check_refused(run, changed.name)
        assert not out.exists()
        return f"{what}: refused"
    stage.check_quiet(run)
    found = content(out)
    out.unlink()
    possible = []
    after = stage.run(arguments, folder)  # of the new content, if that can be read
    stage.check_quiet(after)
    if after.code == 0:
        possible.append(content(out))
    changed.write_bytes(whole)
    before = stage.run(arguments, folder)
    assert before.code == 0, before.said
    possible.append(content(out))
    assert found in possible, "a mixture"
    return f"{what}: {'the old answer' if found == possible[-1] else 'the new answer'}"
