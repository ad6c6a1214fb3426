"""Templates of many families give the text that transformers gives, or where it can't a prompt that can be used."""

import copy
from pathlib import Path
from typing import Any

import pytest

from engine.chat import sandbox
from engine.chat.inputs import TemplateInput, template_message
from engine.chat.render import Renderer
from engine.chat.repairs import TemplateChat, render_usable
from helpers.upstream import TEMPLATES, needs_source

_Messages = list[dict[str, Any]]
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the wéather <now>",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
_CALL = {
    "type": "function",
    "id": "call12345",
    "function": {"name": "get_weather", "arguments": {"city": "Zürich", "days": 2}},
}
_RESULT = {"role": "tool", "tool_call_id": "call12345", "name": "get_weather", "content": "Sunny"}


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _reply(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def _system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


SHAPES: dict[str, _Messages] = {
    "a question": [_user("Hi")],
    "a system prompt": [_system("Be brief."), _user("Hi")],
    "several turns": [_user("Hi"), _reply("Hello"), _user("Why?"), _reply("So."), _user("Ok")],
    "a reply last": [_user("Hi"), _reply("Hello")],
    "several system prompts": [_system("A"), _system("B"), _user("Hi")],
    "empty texts": [_user(""), _reply(""), _user("")],
    "tool calls": [_user("Weather?"), _reply("", tool_calls=[_CALL]), _RESULT, _reply("It is."), _user("Thanks")],
    "a tool's result last": [_user("Weather?"), _reply("", tool_calls=[_CALL]), _RESULT],
    "reasoning": [_user("2+2"), _reply("4", reasoning_content="Let me add."), _user("3+3")],
    "reasoning in the text": [_user("2+2"), _reply("<think>\nLet me add.\n</think>\n\n4"), _user("3+3")],
    "all characters": [_system("Ünï"), _user("🦜 “x” <b>&amp;</b> \u2028 \n\n  x  \n")],
    "questions in a row": [_user("a"), _user("b")],
    "a long chat": [_user("word " * 3000), *(turn for i in range(30) for turn in (_reply(f"r{i}"), _user(f"q{i}")))],
}
GIVEN = [
    TemplateInput(tools, None, arguments)
    for tools in (None, [TOOL])
    for arguments in ({}, {"enable_thinking": True}, {"enable_thinking": False}, {"thinking": True})
]


def _reference(template: str, messages: _Messages, given: TemplateInput) -> str | None:
    """Render it with transformers; None if that fails."""
    from transformers.utils.chat_template_utils import render_jinja_template  # noqa: PLC0415 - it takes seconds

    variables: dict[str, Any] = {"bos_token": "<s>", "eos_token": "</s>", "tools": given.tools, **given.arguments}
    try:
        made = render_jinja_template(
            [copy.deepcopy(messages)], chat_template=template, add_generation_prompt=True, **variables
        )
    except Exception:  # noqa: BLE001 - a template can raise whatever Python can
        return None
    return str(made[0][0])


@needs_source
@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_template_gives_the_text_of_transformers(path: Path) -> None:
    pytest.importorskip("transformers")
    template, compared = path.read_text(encoding="utf-8"), 0
    for messages in SHAPES.values():
        for given in GIVEN:
            expected = _reference(template, messages, given)
            if expected is not None:
                assert sandbox.render(template, given.variables(messages, "<s>", "</s>")) == expected
                compared += 1
    if not compared:
        pytest.skip("transformers renders none of it: other variables are needed")


@needs_source
@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_what_transformers_cannot_render_gives_a_prompt_with_every_question(path: Path) -> None:
    template, renderer = path.read_text(encoding="utf-8"), Renderer()
    for messages in SHAPES.values():
        for tools in (None, [TOOL]):
            asked = TemplateChat([*map(template_message, messages)], TemplateInput(tools), "<s>", "</s>")
            text = render_usable(renderer, template, asked)
            questions = [each["content"].strip() for each in messages if each["role"] == "user"]
            assert all(question in text for question in questions)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{% generation %}{{ messages[0].content }}{% endgeneration %}!", "Hi!"),
        ("{%- generation -%} x {%- endgeneration -%} y", "xy"),
        ("{% set a = 1 %}{% generation %}{% set a = 2 %}{{ a }}{% endgeneration %}{{ a }}", "21"),
        ("{{ {'b': 'é', 'a': [1]} | tojson }}", '{"b": "é", "a": [1]}'),
        ("{{ {'b': 'é'} | tojson(ensure_ascii=True) }}", '{"b": "\\u00e9"}'),
        ("{{ {'b': 1, 'a': 2} | tojson(sort_keys=True, separators=(',', ':')) }}", '{"a":2,"b":1}'),
        ("{{ [1] | tojson(indent=2) }}", "[\n  1\n]"),
        ("{{ '<&>' | tojson }}{{ strftime_now('%Z') }}", '"<&>"'),
        ("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"),
        ("{{ documents is none }}{{ tools is none }}{{ nothing is defined }}", "TrueTrueFalse"),
    ],
)
def test_what_templates_use(template: str, expected: str) -> None:
    variables = TemplateInput().variables([_user("Hi")], "", "")
    assert Renderer().render_variables(template, variables) == expected
    assert _reference(template, [_user("Hi")], TemplateInput()) == expected


def test_what_is_given_reaches_the_template() -> None:
    template = "{{ tools | tojson }}{{ documents[0].title }}{{ enable_thinking }}{{ messages[0].thinking }}"
    given = TemplateInput([{"name": "f"}], [{"title": "T"}], {"enable_thinking": False})
    variables = given.variables([_reply("", reasoning_content="R", tool_calls=None)], "", "")
    assert Renderer().render_variables(template, variables) == '[{"name": "f"}]TFalseR'
    assert "tool_calls" not in variables["messages"][0]  # type: ignore[index]
