"""Rows of units or types, which some programs write below the names of the columns."""

import re
from collections.abc import Iterable

_PREFIXED = r"[munpµμkMGTdch]?(?:m|s|g|A|K|V|W|N|J|l|L|C|F|H|S|T|B|Pa|Hz|bar|Wh|VA|var|Ohm|ohm|Ω|Ω|mol|eV|bit|lx|lm|Nm)"
_OTHERS = (
    r"°C?|°F|deg|degC|degF|rad|grad|%|‰|rpm|min|h|hr|hrs|d|sec|psi|ppm|ppb|in|ft|lb|lbs|oz|gal|mph|kn|kt|pH|dB|dBm|dBA|"
    r"TS|RN|lux|cd|t|atm|NTU|FNU|RH|%RH|gpm|cfm|hp|PS|ppt|Btu|cal|kcal|mmHg|inHg|torr|cps|counts?|pcs|Stk|U|1|€|\$|EUR|USD"
)
_POWER = r"(?:[²³]|(?:\^-?|\*\*|-)[1-4]|(?<=[ms])[23])"  # V2 is a name
_ONE = rf"(?:{_PREFIXED}|{_OTHERS}){_POWER}?"
_UNIT = re.compile(rf"{_ONE}(?:\s?[/*·.]\s?{_ONE})*|[\[(][^\[\]()]*[\])]")
_TYPE = re.compile(
    r"(?:u?int|float)\d*|integer|double|real|numeric|number|decimal|str|string|text|varchar|bool|boolean|date|datetime|"
    r"timestamp|time|category|factor|smp|avg|min|max|std|tot",  # the last six in TOA5
    re.IGNORECASE,
)
_OFTEN_STATES = set("ABCDFHLNSTUdht1") | {"in", "min"}  # also high, low, no, true, false: no unit for certain
_NONE = ("", "-", "–", "—")


def are_units(cells: Iterable[str]) -> bool:
    """Whether cells are units, or all of them types."""
    named = [cell for cell in cells if cell not in _NONE]
    if named and all(_TYPE.fullmatch(cell) for cell in named):
        return True
    certain = any(cell not in _OFTEN_STATES for cell in named)
    return certain and all(_UNIT.fullmatch(cell) for cell in named)
