"""The grammar of a template: which one fits a prompt, and what becomes of templates that are hostile to llama.cpp."""

import json
from collections.abc import Iterator

import pytest

from engine.chat import render
from engine.chat.reply_grammar import GrammarRequest, TagGrammar, TemplateGrammar, open_grammar, usable_grammar
from helpers.processes import own_clock
from helpers.upstream import template_named

THINKING = """{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}
{%- else %}{{- '<think>\\n' }}{%- endif %}{%- endif %}"""
START = "<|im_start|>assistant\n"


@pytest.fixture(autouse=True)
def child() -> Iterator[None]:
    render.keep_warm(usable_grammar)
    if open_grammar(GrammarRequest(THINKING)) is None:
        render.release(usable_grammar)
        pytest.skip("llama.cpp was compiled without the door")
    yield
    render.release(usable_grammar)


@pytest.mark.parametrize("thinking", [True, False])
def test_the_prompt_decides_whether_it_opened_a_thought(thinking: bool) -> None:
    request = GrammarRequest(THINKING, thinking=thinking)
    opened, note = usable_grammar(request, f"Hello<|im_end|>\n{START}<think>\n")
    assert (opened.begun, note) == (START + "<think>\n", None)
    assert opened.parse("so</think>\n\nHi")[:2] == ("so", "Hi")
    closed, _ = usable_grammar(request, f"Hello<|im_end|>\n{START}<think>\n\n</think>\n\n")
    assert closed.parse("Hi")[:2] == ("", "Hi")
    asked, _ = usable_grammar(request)
    assert asked.begun == (opened if thinking else closed).begun


@pytest.mark.parametrize(
    "said", ["<think>\\nNo budget is left.\\n</think>\\n", "</think>"], ids=["a thought", "its end"]
)
def test_what_the_prompt_thinks_is_no_part_of_the_reply(said: str) -> None:
    template = THINKING.replace("<think>\\n\\n</think>\\n\\n", said)
    grammar, note = usable_grammar(GrammarRequest(template, thinking=False, options={"enable_thinking": False}))
    assert note is None
    assert grammar.begun.endswith(said.replace("\\n", "\n"))
    assert grammar.parse("Hi there")[:2] == ("", "Hi there")


@pytest.mark.parametrize(
    "template",
    [
        "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
        "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
        "{{ " + "(" * 100_000 + "1" + ")" * 100_000 + " }}",
        "{% if",
        "",
    ],
    ids=["endless", "recursive", "nested", "broken", "empty"],
)
def test_a_hostile_template_ends_no_process_of_ours_and_is_tried_once(template: str) -> None:
    request = GrammarRequest(template)
    grammar, note = usable_grammar(request)
    assert isinstance(grammar, TagGrammar)
    assert note is not None
    assert "think tags alone" in note
    began = own_clock()
    usable_grammar(request)
    assert own_clock() - began < 0.1
    assert isinstance(open_grammar(GrammarRequest(THINKING)), TemplateGrammar)


def test_a_thought_that_the_prompt_opened_is_known_without_a_grammar_too() -> None:
    grammar, _ = usable_grammar(GrammarRequest("{% if"), f"{START}<think>\n")
    assert grammar.parse("so</think>Hi")[:2] == ("so", "Hi")


def _tool(name: str, schema: object) -> dict[str, object]:
    parameters = {"type": "object", "properties": {"q": schema}}
    return {"type": "function", "function": {"name": name, "description": "d", "parameters": parameters}}


@pytest.mark.parametrize("name", ["Hermes-2-Pro", "Seed-OSS"])
@pytest.mark.parametrize("odd", [{"type": ["string", "null"]}, {"type": 7}], ids=["union", "no type at all"])
def test_one_tool_that_cannot_be_described_costs_no_other(name: str, odd: dict[str, object]) -> None:
    tools = [_tool(f"tool_{number}", {"type": "string"}) for number in range(29)]
    grammar, note = usable_grammar(GrammarRequest(template_named(name), tools=[*tools, _tool("odd", odd)]))
    assert note is None
    text = (
        '<tool_call>\n{"name": "tool_3", "arguments": {"q": "x"}}\n</tool_call>'
        if name == "Hermes-2-Pro"
        else "<seed:tool_call>\n<function=tool_3>\n<parameter=q>x</parameter>\n</function>\n</seed:tool_call>"
    )
    (call,) = grammar.parse(text).calls
    assert (call.name, json.loads(call.arguments)) == ("tool_3", {"q": "x"})


def test_a_template_that_is_endless_with_tools_is_not_tried_with_each() -> None:
    template = (
        "{% if tools %}{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}{% endif %}"
    )
    request = GrammarRequest(
        template + THINKING, tools=[_tool(f"t{number}", {"type": "string"}) for number in range(9)]
    )
    for most in (30.0, 0.1):
        began = own_clock()
        assert isinstance(usable_grammar(request)[0], TagGrammar)
        assert own_clock() - began < most
