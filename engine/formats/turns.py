"""Define the turn formats of model families, for model files that bring no chat template.

A format is taken only where the vocabulary has all tokens that mark its turns; a model without any reads plain text.
Source of the formats: the chat templates that these families publish.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

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
    markers: tuple[str, ...]
    around: Mapping[str, tuple[str, str]]
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


def _alike(name: str, form: str, *markers: str, **more: str | bool) -> TurnFormat:
    """Return a format whose turns differ in the role alone: ROLE and TEXT stand in `form`."""
    before, _, behind = form.partition("TEXT")
    names = {"system": "system", "user": "user", "assistant": str(more.pop("assistant", "assistant"))}
    around = {role: (before.replace("ROLE", word), behind) for role, word in names.items()}
    return TurnFormat(name, markers, around, around["assistant"][0], **more)  # type: ignore[arg-type]


_DEEPSEEK_USER = "<\N{FULLWIDTH VERTICAL LINE}User\N{FULLWIDTH VERTICAL LINE}>"
_DEEPSEEK_REPLY = "<\N{FULLWIDTH VERTICAL LINE}Assistant\N{FULLWIDTH VERTICAL LINE}>"
FORMATS: tuple[TurnFormat, ...] = (
    _alike("phi4", "<|im_start|>ROLE<|im_sep|>TEXT<|im_end|>", "<|im_start|>", "<|im_sep|>", "<|im_end|>"),
    TurnFormat(
        "kimi",
        ("<|im_system|>", "<|im_user|>", "<|im_assistant|>", "<|im_middle|>", "<|im_end|>"),
        {role: (f"<|im_{role}|>{role}<|im_middle|>", "<|im_end|>") for role in ("system", "user", "assistant")},
        "<|im_assistant|>assistant<|im_middle|>",
    ),
    _alike("chatml", "<|im_start|>ROLE\nTEXT<|im_end|>\n", "<|im_start|>", "<|im_end|>"),
    _alike(
        "llama3",
        "<|start_header_id|>ROLE<|end_header_id|>\n\nTEXT<|eot_id|>",
        *("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
        trimmed=True,
    ),
    _alike(
        "llama4",
        "<|header_start|>ROLE<|header_end|>\n\nTEXT<|eot|>",
        *("<|header_start|>", "<|header_end|>", "<|eot|>"),
        trimmed=True,
    ),
    _alike("gemma4", "<|turn>ROLE\nTEXT<turn|>\n", "<|turn>", "<turn|>", assistant="model", trimmed=True),
    TurnFormat(
        "gemma",
        ("<start_of_turn>", "<end_of_turn>"),
        {
            role: (f"<start_of_turn>{word}\n", "<end_of_turn>\n")
            for role, word in (("user",) * 2, ("assistant", "model"))
        },
        "<start_of_turn>model\n",
        trimmed=True,
    ),
    TurnFormat(
        "command-r",
        ("<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|SYSTEM_TOKEN|>", "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>"),
        {
            role: (f"<|START_OF_TURN_TOKEN|><|{word}_TOKEN|>", "<|END_OF_TURN_TOKEN|>")
            for role, word in (("system", "SYSTEM"), ("user", "USER"), ("assistant", "CHATBOT"))
        },
        "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
        trimmed=True,
    ),
    TurnFormat(
        "deepseek",
        (_DEEPSEEK_USER, _DEEPSEEK_REPLY),
        {"system": ("", "\n\n"), "user": (_DEEPSEEK_USER, ""), "assistant": (_DEEPSEEK_REPLY, _END)},
        _DEEPSEEK_REPLY,
    ),
    TurnFormat(
        "mistral-v7",
        ("[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
        {"system": ("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"), "user": ("[INST]", "[/INST]"), "assistant": ("", _END)},
        "",
    ),
    TurnFormat("mistral-v3", ("[INST]", "[/INST]"), {"user": ("[INST] ", "[/INST]"), "assistant": (" ", _END)}, ""),
    _alike(
        "granite",
        "<|start_of_role|>ROLE<|end_of_role|>TEXT<|end_of_text|>\n",
        *("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"),
    ),
    _alike("seed", "<seed:bos>ROLE\nTEXT<seed:eos>", "<seed:bos>", "<seed:eos>"),
    TurnFormat(
        "exaone",
        ("[|system|]", "[|user|]", "[|assistant|]", "[|endofturn|]"),
        {
            "system": ("[|system|]", "[|endofturn|]\n"),
            "user": ("[|user|]", "\n"),
            "assistant": ("[|assistant|]", "[|endofturn|]\n"),
        },
        "[|assistant|]",
        trimmed=True,
    ),
    _alike(
        "glm", "<|ROLE|>\nTEXT", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", begin="[gMASK]<sop>"
    ),
    _alike("phi3", "<|ROLE|>\nTEXT<|end|>\n", "<|user|>", "<|assistant|>", "<|end|>"),
    _alike("zephyr", f"<|ROLE|>\nTEXT{_END}\n", "<|user|>", "<|assistant|>"),
)
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
