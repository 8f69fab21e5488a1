"""Find phrases that our style avoids, in sentences of the source and of the pages: ``python tools/prose.py [--keep]``.

The number of hits per file may only fall. tools/prose.txt has what is left; ``--keep`` writes it anew.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tools" / "prose.txt"
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/**/*.md", "src/**/*.html", "src/**/*.py")

_END = r"(?=\s*[.;:!?)]|\s*\Z)"
# The rule of the style, what to write instead, and the phrase; a blank stands for any white space.
RULES = {
    "name the noun": r"\b(?:that|those|the ones?) of\b(?! course)",
    "at most before the number": r"\d[\d.,/]*(?: ?%)?(?: \w+)? at (?:most|least)\b(?! (?:\d|one|two|half))",
    "with N rows or more": r"\bfrom (?:about )?\d[\d.,]*(?: \d{3})*(?: %)?(?: \w+){0,2} on\b(?! (?:an?|the|its)\b)",
    "holds approximately": r"\bholds? about\b",
    "a word to avoid": r"\b(?:shall|alike|in the mean(?! of)|near by|(?:be|is|are|was|were) said|be given)\b",
    "distinguish": r"\b(?:tells?|told|telling)(?: \w+){0,5} apart\b",
    "also, at the beginning": rf"(?:,? too|\bas well){_END}",
}
_PATTERNS = {rule: re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE) for rule, pattern in RULES.items()}


def hits(text: str) -> Iterator[tuple[int, str, str]]:
    """Line within a text, rule and phrase of every hit; code in backquotes does not count."""
    prose = re.sub(r"(`+)[^`]+\1", lambda code: re.sub(r"[^\n]", "x", code[0]), text)
    for rule, pattern in _PATTERNS.items():
        for found in pattern.finditer(prose):
            yield prose.count("\n", 0, found.start()), rule, " ".join(found[0].split())


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Texts of a file that people read, each with its first line."""
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _python(content)
    elif path.suffix == ".html":
        yield 1, re.sub(r"<[^>]*>|\{[%{].*?[%}]\}", lambda code: re.sub(r"[^\n]", " ", code[0]), content)
    else:
        blocks = re.sub(r"(?ms)^(```|~~~).*?^\1|<!--.*?-->", lambda code: re.sub(r"[^\n]", "", code[0]), content)
        yield 1, blocks


def _python(content: str) -> Iterator[tuple[int, str]]:
    """Docstrings and other literals with blanks, and comments, those of consecutive lines as one."""
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, re.sub(r"(?m)^\s*(?:>>>|\.\.\. ).*$", "", node.value)
    first, lines = 0, []
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            if lines and token.start[0] != first + len(lines):
                yield first, "\n".join(lines)
                lines = []
            first = first if lines else token.start[0]
            lines.append(token.string.lstrip("#"))
    yield first, "\n".join(lines)


def all_hits(root: Path = ROOT) -> dict[str, list[str]]:
    """Hits by file, as lines to print."""
    found: dict[str, list[str]] = {}
    for path in sorted({path for pattern in PAGES for path in root.glob(pattern)}):
        name = path.relative_to(root).as_posix()
        for first, text in sentences(path):
            for line, rule, phrase in hits(text):
                found.setdefault(name, []).append(f"{name}:{first + line}: {phrase!r} ({rule})")
    return found


def too_many(found: dict[str, list[str]], kept: str) -> list[str]:
    """Hits of files that have more of them than is kept."""
    allowed = {name: int(count) for count, _, name in (line.partition(" ") for line in kept.splitlines())}
    return [hit for name, lines in found.items() if len(lines) > allowed.get(name, 0) for hit in lines]


def main() -> None:
    """Print the hits that are too many, and fail if there are any."""
    found = all_hits()
    if "--keep" in sys.argv:
        KEPT.write_text("".join(f"{len(lines)} {name}\n" for name, lines in found.items()), encoding="utf-8")
    if "--all" in sys.argv:
        print("\n".join(hit for lines in found.values() for hit in lines))
    new = too_many(found, KEPT.read_text(encoding="utf-8") if KEPT.exists() else "")
    if new:
        sys.exit("\n".join([*new, "These files have more such phrases than before: see CONTRIBUTING.md."]))


if __name__ == "__main__":
    main()
