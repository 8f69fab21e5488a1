"""Build the wheel and try it in empty environments, with the lowest and with the newest versions of what it needs.

``python tools/wheel.py``. Each environment gets the wheel alone, not the checkout: the library is fitted with its plain
requirements, then the command is tried with the extras that it needs.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from oldest import ROOT, uv

LIBRARY = """
import numpy as np
from mvset import MinimumVolumeSet
from mvset.paper.datasets import two_moons
X = two_moons(500, random_state=0)
model = MinimumVolumeSet(random_state=0).fit(X)
share = np.mean(model.predict(two_moons(5000, random_state=1)) == 1)
assert 0.9 < share < 0.99, share
print(f"mass on new rows {share:.3f}")
np.savetxt("moons.csv", X, delimiter=",", header="x,y", comments="")
"""


def build() -> Path:
    """The wheel, built from the source distribution, as `python -m build` does."""
    for old in (ROOT / "dist").glob("mvset-*"):
        old.unlink()
    subprocess.run([sys.executable, "-m", "build", "--installer", "uv", "--outdir", "dist"], cwd=ROOT, check=True)
    (wheel,) = (ROOT / "dist").glob("mvset-*.whl")
    return wheel


def try_it(wheel: Path, resolution: str, folder: Path) -> None:
    """Install into an empty environment; fit, then fit, score, export and report from the command line."""
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    install = ("pip", "install", "--python", str(programs / "python"), "--resolution", resolution)
    # Kernels compiled for other versions of numba must not be found.
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}

    def run(*command: str) -> None:
        subprocess.run([str(programs / command[0]), *command[1:]], cwd=folder, env=environment, check=True)

    uv("venv", "--python", sys.executable, str(folder))
    uv(*install, "--only-binary", ":all:", str(wheel))
    run("python", "-W", "ignore", "-c", LIBRARY)
    uv(*install, "--only-binary", ":all:", f"{wheel}[all]")
    run("mvset", "demo", "--out", "demo")
    run("mvset", "fit", "moons.csv", "--out", "model.mvset")
    run("mvset", "export", "model.mvset", "--onnx", "model.onnx")


def main() -> None:
    """Build once, try twice."""
    wheel = build()
    for resolution in ("lowest-direct", "highest"):
        with tempfile.TemporaryDirectory() as folder:
            print(f"\n{wheel.name}, {resolution} versions", flush=True)
            try_it(wheel, resolution, Path(folder) / "environment")


if __name__ == "__main__":
    main()
