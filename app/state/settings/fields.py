"""Describe the fields of forms: their words, their kind and their choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["number", "whole", "lines", "text", "option"]
Group = Literal["sampling", "reply", "system", "speculation"]
_KEY = "field"


@dataclass(frozen=True, slots=True)
class Option:
    """Name one of the values of a field. `label`, `hint`: phrases, or names that are not translated."""

    value: Any
    label: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class GenerationField:
    """Describe a field of a GenerationChoice.

    `group`: sampling (a rule of SamplingConfig), reply (what else a preset holds), system (of a conversation, not of a
    preset), speculation (of all conversations). `kind`: a number, a whole number, lines of text, a text, or one of
    `options`. `optional`: a number may be left out. `label`, `hint` (the meaning and the unit), `rule` (what may be
    typed; "": the engine says what is wrong): phrases.
    """

    group: Group
    kind: Kind
    label: str
    hint: str = ""
    rule: str = ""
    optional: bool = False
    options: tuple[Option, ...] = ()
    name: str = ""


def described(
    default: Any,
    group: Group,
    kind: Kind,
    label: str,
    hint: str = "",
    rule: str = "",
    *,
    optional: bool = False,
    options: tuple[Option, ...] = (),
) -> Any:
    """Return a field of a dataclass, with a GenerationField in its metadata."""
    return field(default=default, metadata={_KEY: GenerationField(group, kind, label, hint, rule, optional, options)})


def description(metadata: Mapping[str, Any]) -> GenerationField | None:
    """Return the description made by `described`, None if there is none."""
    return metadata.get(_KEY)
