"""The blocks of code of a page, run in their order.

Blocks of `python` are executed in one namespace; a block of `text` after one shows what it printed. In blocks of
`console` the lines that begin with `$ mvset` are run, and the lines below each show its output, if any do. Blocks that
are not shown (`<!--- invisible-code-block: python`) prepare files and variables.
"""

import contextlib
import io
import math
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import SkipTest

from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, SkipParser
from typer.testing import CliRunner

from mvset.app.cli.app import app

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_P_VALUES = re.compile(r"\(p = [^)]*\)")


def assert_alike(shown: str, printed: str, where: str) -> None:
    """Words are equal, and numbers about so: their digits, and p-values, depend on the versions of libraries."""
    texts = [[" ".join(line.split()) for line in text.strip().splitlines()] for text in (shown, printed)]
    words = [[re.sub(r"-?#", "#", _NUMBER.sub("#", line)) for line in text] for text in texts]
    assert words[0] == words[1], f"{where} prints\n{printed}"
    for line, real in zip(*texts, strict=True):
        numbers = [map(float, _NUMBER.findall(_P_VALUES.sub("", text))) for text in (line, real)]
        for a, b in zip(*numbers, strict=True):
            assert math.isclose(a, b, rel_tol=0.15, abs_tol=0.02), f"{where} prints\n{printed}"


def run_mvset(line: str) -> str:
    """The output of a command, or its complaint."""
    done = CliRunner().invoke(app, shlex.split(line)[1:])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code in (0, 3), f"{line}: {done.stderr}"
    return done.stdout


def commands(block: str) -> Iterator[tuple[str, str]]:
    """The commands of a block, each with the output shown below it."""
    for part in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield line, shown


def evaluate_python(example: Example) -> None:
    out = io.StringIO()
    source = "\n" * (example.line + example.parsed.line_offset) + example.parsed
    code = compile(source, example.path, "exec", dont_inherit=True)
    with contextlib.redirect_stdout(out):
        exec(code, example.namespace)
    example.namespace["printed_by_block"] = out.getvalue()


def evaluate_text(example: Example) -> None:
    where = f"{example.path}, line {example.line}"
    assert_alike(example.parsed, example.namespace.pop("printed_by_block"), where)


def evaluate_console(example: Example) -> None:
    for line, shown in commands(example.parsed):
        if line.startswith("mvset "):
            printed = run_mvset(line)
            if shown.strip():
                assert_alike(shown, printed, f"{example.path}, line {example.line}, {line}")


BLOCKS = Sybil(
    parsers=[
        SkipParser(),
        CodeBlockParser(language="python", evaluator=evaluate_python),
        CodeBlockParser(language="text", evaluator=evaluate_text),
        CodeBlockParser(language="console", evaluator=evaluate_console),
    ],
)


def run_page(path: Path) -> dict[str, Any]:
    """Run all blocks of a page in the current folder."""
    document = BLOCKS.parse(path)
    for example in document.examples():
        with contextlib.suppress(SkipTest):  # a block that says why it is not run
            example.evaluate()
    return document.namespace
