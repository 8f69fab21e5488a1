"""Known vulnerabilities and licences of what mvset needs, in the environment that runs this script.

Exits with 1 if there is a known vulnerability, or a licence that a BSD project should look at first. Without a network
the first is skipped with a sentence.
"""

import json
import re
import subprocess
import sys
import tempfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

PROJECT = "mvset"
EXTRAS = ("all", "cluster")
KNOWN = re.compile(
    r"\b(BSD|MIT|ISC|Apache|PSF|Python Software Foundation|Python-2\.0|Zlib|HPND|MPL|Mozilla Public|Unlicense|CC0)",
    re.IGNORECASE,
)
READ = {"skops": "MIT"}  # of packages that say it in a file only


def required() -> dict[str, Distribution]:
    """The project's requirements and theirs that are installed, by name."""
    found: dict[str, Distribution] = {}
    waiting = [(PROJECT, extra) for extra in ("", *EXTRAS)]
    seen: set[tuple[str, str]] = set()
    while waiting:
        name, extra = each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        try:
            package = distribution(name)
        except PackageNotFoundError:  # for another platform, say
            continue
        if name != PROJECT:
            found[name] = package
        for line in package.requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting += [(requirement.name.lower(), other) for other in ("", *requirement.extras)]
    return found


def licence(package: Distribution) -> str:
    """What a package says of its licence: an expression, classifiers, the first line of a text."""
    about = package.metadata
    named = [text.rpartition(" :: ")[2] for text in about.get_all("Classifier") or () if text.startswith("License ::")]
    text = (about.get("License") or "").strip().partition("\n")[0]
    return "; ".join(filter(None, [about.get("License-Expression"), *named, text, READ.get(package.name.lower())]))


def unknown_licences(packages: dict[str, Distribution]) -> dict[str, str]:
    """Packages whose licence is none of those known to go with ours."""
    said = {name: licence(package) for name, package in packages.items()}
    return {name: text for name, text in said.items() if not KNOWN.search(text)}


def audited(packages: dict[str, Distribution]) -> list[dict[str, Any]] | None:
    """What pip-audit says of each package; None where it cannot ask."""
    with tempfile.TemporaryDirectory() as folder:
        listed, answer = Path(folder, "requirements.txt"), Path(folder, "answer.json")
        listed.write_text("\n".join(f"{name}=={package.version}" for name, package in sorted(packages.items())))
        how = ("--disable-pip", "--no-deps", "--progress-spinner", "off", "--format", "json", "--output", str(answer))
        command = [sys.executable, "-m", "pip_audit", *how, "--requirement", str(listed)]
        try:
            subprocess.run(command, capture_output=True, check=False, timeout=300)
            return list(json.loads(answer.read_text())["dependencies"])
        except (subprocess.TimeoutExpired, FileNotFoundError, json.JSONDecodeError):
            return None


def vulnerable(packages: dict[str, Distribution]) -> list[str]:
    """A line for each known vulnerability; says of how many packages nothing is known."""
    answers = audited(packages)
    known = [answer for answer in answers or () if "vulns" in answer]
    if not known:
        print("Vulnerabilities: skipped; pip-audit is not installed, or its service cannot be reached.")
        return []
    print(f"Vulnerabilities: {len(known)} of {len(packages)} packages are known to the service of pip-audit.")
    return [f"{each['name']} {each['version']}: {found['id']}" for each in known for found in each["vulns"]]


def main() -> int:
    """Check both."""
    packages = required()
    unknown = unknown_licences(packages)
    print(f"Licences of {len(packages)} packages: {'look at these' if unknown else 'all known'}.")
    found = [*(f"{name}: {text}" for name, text in sorted(unknown.items())), *vulnerable(packages)]
    for line in found:
        print(f"  {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
