"""All questions of `make bench`, one after the other; `--quick` takes three minutes on two cores.

python benchmarks/run.py [--quick] [--out FOLDER] [--adbench FOLDER [--published FILE]]
"""

import argparse
import subprocess
import sys
from pathlib import Path

QUESTIONS = ("solve", "grid", "scoring", "mass", "growth")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default="bench-output")
    parser.add_argument("--adbench", help="folder of the ADBench tables; without it detection is skipped")
    parser.add_argument("--published", help="file of published AUROC")
    options = parser.parse_args()
    common = ["--out", options.out, *(["--quick"] if options.quick else [])]
    commands = [[name, *common] for name in QUESTIONS]
    if options.adbench:
        published = ["--published", options.published] if options.published else []
        commands.append(["adbench", options.adbench, *published, *common])
    else:
        print("(skipped: adbench needs a folder of tables: --adbench FOLDER)\n", file=sys.stderr)
    for name, *arguments in commands:
        subprocess.run([sys.executable, str(Path(__file__).parent / f"{name}.py"), *arguments], check=True)
        print(flush=True)


if __name__ == "__main__":
    main()
