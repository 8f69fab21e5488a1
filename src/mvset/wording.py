"""Sentences that are put together: their grammar, and messages that every interface words in its own terms."""

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

# Writes a parameter, with its value if the second argument is not empty; raises LookupError if there is no such one.
Words = Callable[[str, str], str]


class Message(str):
    """Sentences that name parameters; as text they are in terms of Python.

    In a sentence, ``{name}`` is the fact of this name. If no fact has the name, it is a parameter; ``{name:value}`` is
    a parameter with a value. Facts may be nested, such as in ``{nu:{larger:g}}``. An interface leaves out the sentences
    that name a parameter which it does not have.

    Examples
    --------
    >>> message = Message("{n} rows are too few.", "Lower {mass} or {sigma}.", "Try {mass:{lower}}.", n=3, lower=0.9)
    >>> str(message)
    '3 rows are too few. Lower mass or sigma. Try mass=0.9.'
    >>> message.worded(lambda name, value: {"mass": f"--mass {value}"}[name])
    '3 rows are too few. Try --mass 0.9.'
    """

    sentences: Sequence[str]
    facts: Mapping[str, Any]

    def __new__(cls, *sentences: str, **facts: Any) -> "Message":  # noqa: D102
        message = super().__new__(cls, _joined(sentences, facts, _in_python))
        message.sentences, message.facts = sentences, facts
        return message

    def __reduce__(self) -> tuple[Any, ...]:  # workers send errors to other processes
        return partial(Message, *self.sentences, **self.facts), ()

    def worded(self, words: Words) -> str:
        """Return the message in terms of another interface."""
        return _joined(self.sentences, self.facts, words)


def message_of(error: Exception) -> str:
    """Return the message of an error or a warning: a :class:`Message` if it has one."""
    first = error.args[0] if error.args else ""
    return first if isinstance(first, Message) else str(error)


class _Wording(string.Formatter):
    """Takes names that are no facts for parameters."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def get_value(self, key: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        return kwargs[key] if key in kwargs else partial(self._words, key)

    def format_field(self, value: Any, format_spec: str) -> str:
        written = value(format_spec) if isinstance(value, partial) else format(value, format_spec)
        return str(written)


def _joined(sentences: Iterable[str], facts: Mapping[str, Any], words: Words) -> str:
    found = []
    for sentence in sentences:
        try:
            found.append(_Wording(words).vformat(sentence, (), facts))
        except LookupError:
            continue
    return " ".join(found)


def _in_python(name: str, value: str) -> str:
    written = f"{name}={value}" if value else name
    return f"fit(X, {written})" if value and name in ("groups", "strata") else written


def counted(number: float, noun: str) -> str:
    """A number and what it counts: 1 row, 2 rows."""
    text = f"{number:.0f}"
    return f"{text} {noun}" if text == "1" else f"{text} {noun}s"


def are(number: int) -> str:
    """The verb to so many things."""
    return "is" if number == 1 else "are"


def columns_named(names: Iterable[object]) -> str:
    """Column a, or columns a, b."""
    listed = [str(name) for name in names]
    return f"Column{'' if len(listed) == 1 else 's'} {', '.join(listed)}"
