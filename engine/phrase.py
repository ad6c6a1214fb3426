"""Texts for people that can still be said in another language."""

from __future__ import annotations

from typing import Self


class Phrase(str):
    """A sentence or a clause in English, which remembers what it was made of.

    It is the finished text for whoever wants no more: `Phrase("it has {count:,} tokens", count=4096)` equals
    "it has 4,096 tokens". Who speaks another language translates `template` and fills it with `fields`, of which
    those that are phrases themselves are translated likewise. Joining and cutting give a plain `str`.

    Attributes: template (in the form of `str.format`), fields (what is filled in, by name).
    """

    __slots__ = ("fields", "template")

    template: str
    fields: dict[str, object]

    def __new__(cls, template: str, /, **fields: object) -> Self:
        """Fill `template` with `fields`."""
        text = super().__new__(cls, template.format(**fields))
        text.template = template
        text.fields = fields
        return text

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, object]]:
        """How it is copied, and sent to another process."""
        return (self.template,), self.fields
