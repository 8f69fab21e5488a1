"""Run the tests on the lowest versions that pyproject.toml allows, for every Python that it names.

``python tools/oldest.py [PYTEST ARGUMENT…]``. For each Python of the classifiers uv resolves the lowest versions of
the direct requirements that have wheels, in an environment of its own under ``.venv-oldest``. A Python that is neither
here nor can be fetched is skipped with a sentence; if all are, that is a failure.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv-oldest"
# Old releases meet newer ones of what they need themselves, and use what these deprecate.
TOLERATED = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")


def named_pythons() -> list[str]:
    """The versions of Python among the classifiers of the project."""
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each) for each in classifiers]
    return [match[1] for match in found if match]


def uv(*arguments: str) -> None:
    """Run uv, which is in the environment of this script."""
    subprocess.run([sys.executable, "-m", "uv", "--quiet", *arguments], cwd=ROOT, check=True)


def prepare(version: str) -> Path | None:
    """An environment with the lowest versions; None if there is no such Python."""
    folder = FOLDER / version
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    try:
        uv("venv", "--clear", "--python", version, str(folder))
    except subprocess.CalledProcessError:
        return None
    lowest = FOLDER / f"{version}.txt"
    how = ("--resolution", "lowest-direct", "--only-binary", ":all:", "--python", str(python))
    uv("pip", "compile", *how, "--extra", "dev", "--output-file", str(lowest), "pyproject.toml")
    uv("pip", "install", "--python", str(python), "--requirement", str(lowest))
    uv("pip", "install", "--python", str(python), "--no-deps", "--editable", ".")
    return python


def main(arguments: list[str]) -> int:
    """Prepare and test each; the number of Pythons on which tests fail, or on which none could run."""
    tolerated = [f"-Wignore::{name}" for name in TOLERATED]
    failed = tested = 0
    for version in named_pythons():
        python = prepare(version)
        if python is None:
            print(f"Python {version} is not here and cannot be fetched: skipped.", flush=True)
            continue
        print(f"Python {version}, lowest versions in {FOLDER.name}/{version}.txt", flush=True)
        # numba keeps one compiled version of a kernel in a folder.
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(FOLDER / f"{version}-cache")}
        command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", *tolerated, *(arguments or ["-n", "auto"])]
        failed += subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode != 0
        tested += 1
    return failed if tested else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
