import json
import math

from mvset.app.cli.output import print_json, print_pairs, print_table


def test_json_is_valid_for_all_values(capsys):
    print_json({"größe": math.nan, "list": [math.inf, {"deep": -math.inf}], "ok": (1, 0.5), "no": None})
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed, parse_constant=lambda _: 1 / 0) == {
        "größe": None, "list": [None, {"deep": None}], "ok": [1, 0.5], "no": None,
    }  # fmt: skip


def test_pairs_are_aligned(capsys):
    print_pairs({"rows": 3, "expected": "5 %"})
    assert capsys.readouterr().out == "rows      3\nexpected  5 %\n"


def test_tables_print_text_literally_and_in_full(capsys):
    print_table(["[red]id[/red]", "value"], [["[bold]x" * 15, 1.23456], [":smile:", 10.0]])
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["[red]id[/red]", "value"]
    assert first.split() == ["[bold]x" * 15, "1.235"]
    assert second.split() == [":smile:", "10"]
    assert first.endswith("1.235")
    assert second.endswith("   10")
