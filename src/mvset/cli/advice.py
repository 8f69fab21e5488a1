"""Messages of the library in terms of the command line: options in place of parameters of Python."""

from __future__ import annotations

import re

# In this order. What has no option is left out, with the advice to change it.
_IN_OPTIONS = {
    r"\btime_order=True\b": "--time COLUMN",
    r"\bfit\(X, groups=\.\.\.\)": "--group COLUMN",
    r"\bfit\(X, by=\.\.\.\)": "--by COLUMN",
    r", and give splits as a number\b": "",
    r"\bgroups (?=has\b|leaves\b)": "--group ",
    r"\b(leave|Leave) groups out\b": r"\1 --group out",
    r"\bleave out groups\b": "leave out --group",
    r"\bn_volume_points\b( or try 'auto')?": "--volume-points",
    r" with confidence=\d+(\.\d+)?": "",
    r" in all with calibration_size=\d+(\.\d+)?": " in all",
    r"\bcalibration='(\w+)'": r"--calibration \1",
    r"\bn_samples=(?=\d)": "",
    r"\bnu=(?=[\d.])": "--nu ",
    r",? or a wider sigma\b": "",
    r"\bsigma=(?=[\d.])": "sigma ",
    r"\bmass=(?=[\d.])": "--mass ",
    r",? e\.g\. with StandardScaler\b": "",
    r" with test_size=\d+(\.\d+)?": "",
    r" or another test_size\b": "",
    r" with tol=[\d.e-]*\d": "",
    r"(max_iter reached: raise it, or|float32 resolves no further step:) loosen tol\b": "The set may be larger than "
    "need be; its mass is still right",
    r" If you trust where the file comes from: mvset\.load\(.*\)\.": " Only Python can be told to trust them.",
    r"\b[Tt]he columns of X\b": "The columns",
    r"\brows of X\b": "rows",
}


def in_options(message: str) -> str:
    """What the library says, so that it can be followed on the command line."""
    for pattern, replacement in _IN_OPTIONS.items():
        message = re.sub(pattern, replacement, message)
    return message
