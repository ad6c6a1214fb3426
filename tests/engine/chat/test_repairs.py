"""Conversations that a template refuses reach it in a form that it takes, and that is said."""

import pytest

from engine.chat.inputs import TemplateInput, template_message
from engine.chat.render import Renderer
from engine.chat.repairs import TemplateChat, render_usable
from engine.chat.template import encode_prompt
from engine.errors import ChatTemplateFailed
from engine.messages.message import Message
from helpers.decoding.fakes import PieceTokenizer

_EACH = "{% for m in messages %}<{{ m.role[0] }}{{ m.content }}>{% endfor %}"
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" + _EACH
TURNS = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}{% endfor %}" + _EACH
)
QUESTION = (
    "{% if not messages | selectattr('role', 'equalto', 'user') | list %}{{ raise_exception('No user query') }}"
    "{% endif %}" + _EACH
)
TYPES = (
    "{% set names = {'string': 'str', 'integer': 'int'} %}{% macro named(spec) %}{{ names[spec.type] if spec.type in "
    "names else named(spec.type) }}{% endmacro %}{% for tool in tools %}{{ tool.function.name }}: "
    "{{ named(tool.function.parameters.properties.q) }} {% endfor %}" + _EACH
)
TOOLS = "{{ tools | length }}" + _EACH


def _rendered(template: str, messages: list[dict[str, object]], given: TemplateInput) -> tuple[str, str]:
    renderer = Renderer()
    text = render_usable(renderer, template, TemplateChat([*map(template_message, messages)], given))
    return text, " ".join(renderer.notes)


@pytest.mark.parametrize(
    ("template", "roles", "expected", "said"),
    [
        (NO_SYSTEM, "su", "<us0\n\nu1>", "takes no system prompt"),
        (NO_SYSTEM, "s", "<us0>", "there is none; the system prompt was given as one"),
        (QUESTION, "sa", "<us0><aa1>", "there is none; the system prompt was given as one"),
        (QUESTION, "su", "<ss0><uu1>", ""),
        (NO_SYSTEM, "ua", "<uu0><aa1>", ""),
        (TURNS, "uuau", "<uu0\n\nu1><aa2><uu3>", "follow each other were joined"),
        (TURNS, "suu", "<us0\n\nu1\n\nu2>", "takes no system prompt"),
        (TOOLS, "u", "0<uu0>", "it was given an empty list"),
    ],
)
def test_what_is_changed(template: str, roles: str, expected: str, said: str) -> None:
    named = {"s": "system", "u": "user", "a": "assistant"}
    messages: list[dict[str, object]] = [
        {"role": named[role], "content": f"{role}{index}"} for index, role in enumerate(roles)
    ]
    text, notes = _rendered(template, messages, TemplateInput())
    assert text == expected
    assert said in notes
    assert bool(said) == bool(notes)


def test_a_union_of_types_is_given_as_one_where_the_template_knows_no_list() -> None:
    def tool(name: str, types: object) -> dict[str, object]:
        schema = {"type": "object", "properties": {"q": {"type": types, "description": "What"}}}
        return {"type": "function", "function": {"name": name, "description": "", "parameters": schema}}

    question: list[dict[str, object]] = [{"role": "user", "content": "Go"}]
    tools = [tool("a", "integer"), tool("b", ["null", "string"]), tool("c", ["string", "integer"])]
    text, notes = _rendered(TYPES, question, TemplateInput(tools))
    assert text == "a: int b: str c: str <uGo>"
    assert notes == "The chat template takes one type for each parameter of a tool; the others are in its description."
    text, notes = _rendered(
        "{{ tools[2].function.parameters.properties.q.type | join }}", question, TemplateInput(tools)
    )
    assert (text, notes) == ("stringinteger", ""), "a template that takes it gets it as it is"


def test_tool_calls_are_written_as_text_where_the_template_cannot() -> None:
    call = {"type": "function", "id": "1", "function": {"name": "f", "arguments": {"a": 1}}}
    messages: list[dict[str, object]] = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "f", "content": "9"},
    ]
    text, notes = _rendered(TURNS, messages, TemplateInput())
    assert text == '<uGo><a{"name": "f", "arguments": {"a": 1}}><uResult of f:\n9>'
    assert "written as plain text" in notes


def test_a_message_that_says_nothing_has_an_empty_text_where_the_template_looks_into_it() -> None:
    template = "{% for m in messages %}{{ m.content.split('|')[-1] }}/{{ m.tool_calls | length }}{% endfor %}"
    call = {"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
    messages: list[dict[str, object]] = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    assert _rendered(template, messages, TemplateInput()) == ("Go/0/1", "")


def test_a_template_that_reads_parts_alone_is_given_parts() -> None:
    """SmolVLM's: of a content that is a text it would write nothing."""
    template = (
        "{% for m in messages %}{{ m.role }}:{% for part in m.content %}{% if part['type'] == 'text' %}"
        "{{ part['text'] }}{% endif %}{% endfor %};{% endfor %}"
    )
    messages: list[dict[str, object]] = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Bye"},
    ]
    assert _rendered(template, messages, TemplateInput()) == ("user:Hello;assistant:Hi;user:Bye;", "")


def test_tools_that_a_template_cannot_describe_stand_in_the_system_prompt() -> None:
    template = "{% if tools %}{{ tools[0].no.such }}{% endif %}" + _EACH
    text, notes = _rendered(template, [{"role": "user", "content": "Go"}], TemplateInput([{"name": "f"}]))
    assert text == '<sThese functions can be called:\n{"name": "f"}><uGo>'
    assert "described in the system prompt" in notes


def test_the_first_reason_is_said_where_nothing_helps() -> None:
    template = "{{ raise_exception('never: ' ~ messages | length) }}"
    with pytest.raises(ChatTemplateFailed, match="never: 3"):
        _rendered(template, [{"role": role, "content": "x"} for role in ("system", "user", "user")], TemplateInput())


def test_a_prompt_is_encoded_with_the_changes() -> None:
    tokenizer, renderer = PieceTokenizer([bytes([code]) for code in range(128)], NO_SYSTEM), Renderer()
    tokens = encode_prompt([Message("system", "S"), Message("user", "U")], tokenizer, raw=False, renderer=renderer)
    assert bytes(tokens) == b"<uS\n\nU>"
    assert len(renderer.notes) == 1
