"""The scripts of the make targets `test-oldest`, `audit` and `mutants`, without a network."""

import importlib.util
import tomllib
from email.message import Message
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(params=["oldest", "audit", "mutations"])
def tool(request):
    spec = importlib.util.spec_from_file_location(request.param, ROOT / "tools" / f"{request.param}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("tool", ["oldest"], indirect=True)
def test_the_oldest_python_is_tested(tool):
    assert f">={tool.named_pythons()[0]}" == PROJECT["requires-python"]


def test_every_requirement_has_a_lowest_version():
    lines = [*PROJECT["dependencies"], *(line for extra in PROJECT["optional-dependencies"].values() for line in extra)]
    requirements = [Requirement(line) for line in lines]
    unbounded = [str(each) for each in requirements if ">=" not in str(each.specifier) and each.name != "mvset"]
    assert len(requirements) > 20
    assert unbounded == []


def package(**said):
    metadata = Message()
    for name, text in said.items():
        metadata[name.replace("_", "-")] = text
    return SimpleNamespace(name="some", version="1.0", metadata=metadata)


@pytest.mark.parametrize("tool", ["audit"], indirect=True)
def test_licences_to_look_at(tool):
    packages = {
        "expression": package(License_Expression="BSD-3-Clause"),
        "classifier": package(Classifier="License :: OSI Approved :: MIT License"),
        "text": package(License="Apache License 2.0\n\nTerms and conditions"),
        "copyleft": package(License="GNU Affero General Public License v3"),
        "nothing": package(),
    }
    assert sorted(tool.unknown_licences(packages)) == ["copyleft", "nothing"]


@pytest.mark.parametrize("tool", ["audit"], indirect=True)
def test_vulnerabilities_are_listed_and_silence_is_no_answer(tool, monkeypatch, capsys):
    answer = [{"name": "some", "version": "1.0", "vulns": [{"id": "CVE-1"}]}, {"name": "other", "skip_reason": "new"}]
    monkeypatch.setattr(tool, "audited", lambda _: answer)
    assert tool.vulnerable({"some": package(), "other": package()}) == ["some 1.0: CVE-1"]
    assert "1 of 2 packages are known" in capsys.readouterr().out
    for silence in (None, answer[1:]):
        monkeypatch.setattr(tool, "audited", lambda _, silence=silence: silence)
        assert tool.vulnerable({"other": package()}) == []
        assert "Vulnerabilities: skipped" in capsys.readouterr().out


@pytest.mark.parametrize("tool", ["mutations"], indirect=True)
def test_mutants_change_code_but_no_texts_and_types(tool):
    lines = ["def least(a: Literal[1], b=2) -> float:", '    """The least."""', "    if a < b:", '        warn("1")']
    lines += ['        raise ValueError(f"{a + 1}")', "    total = 0", "    total += min(a, b)", "    return total"]
    found = list(tool.mutations("\n".join(lines)))
    assert sorted((each.line, each.change.partition(" in ")[0]) for each in found) == [
        (1, "2 -> 3"),
        (3, "a < b -> a <= b"),
        (3, "a < b -> a >= b"),
        (6, "0 -> 1"),
        (7, "min -> max"),
        (7, "total += min(a, b) -> pass"),
        (7, "total += min(a, b) -> total -= min(a, b)"),
        (8, "return total -> return None"),
    ]
    assert all(each.lines == {each.line} for each in found if each.line > 1)
    assert next("if a <= b:" in each.source for each in found if each.line == 3)
