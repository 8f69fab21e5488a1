"""Roles of reStructuredText in docstrings, as Markdown: an extension of Griffe for the pages of the reference."""

import re
from typing import Any

from griffe import Extension, Object

_DISPLAYED = re.compile(r"^( *)\.\. math:: *(.+(?:\n\1 +\S.*)*)", re.MULTILINE)
_MATH = re.compile(r":math:`([^`]+)`")
_NAME = re.compile(r":(?:class|meth|func|attr|mod|obj):`[~!]?([^`]+)`")


def as_markdown(text: str) -> str:
    """Text of a docstring with formulas between dollars and names in backticks."""
    text = _DISPLAYED.sub(lambda found: f"{found[1]}$$ {' '.join(found[2].split())} $$", text)
    return _NAME.sub(r"`\1`", _MATH.sub(r"$\1$", text))


class DocstringRoles(Extension):
    """Every docstring is rewritten when it is loaded."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
