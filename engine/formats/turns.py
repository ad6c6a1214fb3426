"""Define the turn formats of model families, for model files that bring no chat template.

A format is taken only where the vocabulary has all tokens that mark its turns; a model without any reads plain text.
Source of the formats: the chat templates that these families publish.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from engine.formats.text_table import TextTable
from engine.formats.vocabulary import Vocabulary

_END = "{end of text}"
"""Stands for the model's own end token."""


@dataclass(frozen=True, slots=True)
class TurnFormat:
    """Describe a family's turn format.

    `around`: what stands before and behind the text of a turn, by its role; `markers`: the tokens that must be there;
    `begin`: what a conversation begins with; `reply`: what opens the next reply; `trimmed`: whether blanks around texts
    are left out.
    """

    name: str
    markers: Sequence[str]
    around: Mapping[str, Sequence[str]]
    reply: str
    begin: str = ""
    trimmed: bool = False

    @property
    def template(self) -> str:
        """Return it as a chat template, which refuses tools and roles that it has no form for.

        The begin token is left to the tokenizer, which knows whether the model wants one.
        """
        around = json.dumps(self.around, ensure_ascii=False)
        text = "message['content'] | trim" if self.trimmed else "message['content']"
        refuse = "{{ raise_exception('" + self.name + " has no form for it') }}"
        turn = f"around[message['role']][0] + {text} + around[message['role']][1] | replace('{_END}', eos_token)"
        return (
            "{% set around = " + around + " %}{% if tools %}" + refuse + "{% endif %}" + self.begin
            + "{% for message in messages %}{% if message['role'] not in around or message['tool_calls'] %}" + refuse
            + "{% endif %}{{ " + turn + " }}{% endfor %}"
            + "{% if add_generation_prompt %}{{ " + json.dumps(self.reply, ensure_ascii=False) + " }}{% endif %}"
        )  # fmt: skip


_LISTED = files("resources").joinpath("turn_formats.json").read_text("utf-8")
FORMATS = tuple(TurnFormat(**entry) for entry in json.loads(_LISTED))
"""The more particular ones first."""


def known_format(tokens: Collection[str]) -> TurnFormat | None:
    """Return the format whose markers are among these tokens, texts of control or user-defined ones; None for none."""
    return next((form for form in FORMATS if all(text in tokens for text in form.markers)), None)


def assumed_templates(tokens: Collection[str]) -> dict[str, str]:
    """Return the chat templates of a model that brings none, by their names: that of a known format, or none at all."""
    form = known_format(tokens)
    return {} if form is None else {"default": form.template}


def format_of_vocabulary(vocabulary: Vocabulary) -> TurnFormat | None:
    """Return the format whose markers are among the tokens of a model file; None for none."""
    present = {text for text, there in zip(_MARKERS, np.isin(_PRINTS, vocabulary.fingerprints), strict=True) if there}
    return known_format(present)


def named_by_template(template: str) -> str | None:
    """Return the name of the format that a template is of, None for one that a model brought itself."""
    return next((form.name for form in FORMATS if form.template == template), None)


_MARKERS = tuple(dict.fromkeys(text for form in FORMATS for text in form.markers))
_PRINTS = TextTable.of([text.encode() for text in _MARKERS]).fingerprints()
