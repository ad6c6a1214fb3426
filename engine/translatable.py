"""Define texts for people that can still be said in another language."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from pathlib import PurePath
from typing import Any, Self


class Translatable(str):
    """Hold a sentence or a clause in English, with its template and fields.

    It is the finished text for whoever wants no more: `Translatable("it has {count:,} tokens", count=4096)` equals
    "it has 4,096 tokens". Who speaks another language translates `template` and fills it with `fields`, of which
    those that are phrases themselves are translated likewise. Joining and cutting give a plain `str`.

    Attributes: template (in the form of `str.format`), fields (what is filled in, by name), capital (whether its first
    letter was made a capital, as in a sentence, or a small one, as in a clause; None: it stayed as it is).
    """

    __slots__ = ("capital", "fields", "template")

    template: str
    fields: dict[str, object]
    capital: bool | None

    def __new__(cls, template: str, /, **fields: object) -> Self:
        """Fill `template` with `fields`."""
        return cls._made(template, fields, None)

    @classmethod
    def _made(cls, template: str, fields: dict[str, object], capital: bool | None) -> Self:
        text = template.format(**fields)
        phrase = super().__new__(cls, with_initial(text, capital=capital))
        phrase.template, phrase.fields, phrase.capital = template, fields, capital
        return phrase

    def as_sentence(self) -> Self:
        """Return the same with a capital letter at its beginning."""
        return self._made(self.template, self.fields, True)

    def as_clause(self) -> Self:
        """Return the same with a small letter at its beginning."""
        return self._made(self.template, self.fields, False)

    def __reduce__(self) -> tuple[object, ...]:
        """Reduce it for copies and other processes."""
        fields = {name: sendable(value) for name, value in self.fields.items()}
        return _remade, (type(self), self.template, fields, self.capital)


class _Shown(str):
    """Stand in for any other value in a text: its `str`, with its `repr` beside it."""

    __slots__ = ("_repr",)

    _repr: str

    def __new__(cls, text: str, representation: str) -> Self:
        shown = super().__new__(cls, text)
        shown._repr = representation
        return shown

    def __repr__(self) -> str:
        return self._repr

    def __reduce__(self) -> tuple[object, ...]:
        return _Shown, (str(self), self._repr)


def sendable(value: object) -> object:
    """Return a value of an error or a text for another process; types unknown there as they are shown."""
    if isinstance(value, tuple | list):
        return type(value)(map(sendable, value)) if type(value) in (tuple, list) else _Shown(str(value), repr(value))
    if value is None or isinstance(value, str | Number | PurePath):
        return value
    return _Shown(str(value), repr(value))


Phrase = Translatable
"""The public alias."""


def _remade(kind: type[Translatable], template: str, fields: dict[str, object], capital: bool | None) -> Translatable:
    return _with_initial(kind(template, **fields), capital)


def _with_initial(phrase: Translatable, capital: bool | None) -> Translatable:
    if capital is None:
        return phrase
    return phrase.as_sentence() if capital else phrase.as_clause()


def filled(text: str, fields: Mapping[str, object]) -> str:
    """Return a text as it is; with fields it is a template, which they fill."""
    return Translatable(text, **fields) if fields else text


def with_initial(text: str, *, capital: bool | None) -> str:
    """Return a text with a capital or a small letter at its beginning."""
    if capital is None:
        return text
    return (text[:1].upper() if capital else text[:1].lower()) + text[1:]


def as_sentence(text: str) -> str:
    """Return a clause with a capital letter at its beginning."""
    return text.as_sentence() if isinstance(text, Translatable) else with_initial(text, capital=True)


def as_clause(text: str) -> str:
    """Return a sentence with a small letter at its beginning."""
    return text.as_clause() if isinstance(text, Translatable) else with_initial(text, capital=False)


def packed(text: str) -> str | dict[str, Any]:
    """Return a text as JSON can say it, so that a phrase stays one."""
    if not isinstance(text, Translatable):
        return text
    fields = {name: _plain(value) for name, value in text.fields.items()}
    return {"template": text.template, "fields": fields, "capital": text.capital}


def unpacked(data: object) -> str:
    """Unpack a text. Raises KeyError, ValueError, TypeError, IndexError for anything that was not packed."""
    if isinstance(data, str):
        return data
    if not isinstance(data, Mapping) or not isinstance(data["fields"], Mapping):
        raise TypeError
    fields = {
        str(name): unpacked(value) if isinstance(value, Mapping) else value for name, value in data["fields"].items()
    }
    return _with_initial(Translatable(str(data["template"]), **fields), data["capital"])


def _plain(value: object) -> object:
    if isinstance(value, str):
        return packed(value)
    return value if isinstance(value, int | float) else str(value)
