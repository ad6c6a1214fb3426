"""The form of calls is found out of a chat template, and a reply that is masked by it is read as calls."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from engine.backends.base import AddedToken
from engine.chat import render
from engine.chat.call_form import BARE, CallForm, Tags, call_form, write_calls
from engine.chat.inputs import PLAIN_INPUT
from engine.chat.render import Renderer
from engine.chat.reply_grammar import GrammarRequest, open_grammar, usable_grammar
from engine.constraint import Constraint
from engine.masks.call_grammar import calls_constraint
from engine.masks.reply_masks import ReplyMasks
from engine.messages.tools import freeze_tools
from helpers.decoding.fakes import PieceTokenizer
from helpers.models.calling import HERMES
from helpers.upstream import TEMPLATES, needs_source, template_named

LETTERS = [b"", *(bytes([code]) for code in range(1, 256))]
END = "<|end|>"
TAGGED = """{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}{{ '<|' + m.role + '|>' }}
{%- if m.role == 'assistant' and m.tool_calls %}{{ m.content }}{% for c in m.tool_calls %}
{{- '<tool_call>' + c.function.name }}
{%- for k, v in c.function.arguments | items %}
{{- '<arg_key>' + k + '</arg_key><arg_value>' }}{{ v if v is string else v | tojson }}{{ '</arg_value>' }}
{%- endfor %}{{ '</tool_call>' }}{% endfor %}{% else %}{{ m.content }}{% endif %}{{ '<|end|>' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"""
TOOLS = freeze_tools(
    [
        {
            "name": "weather",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "days": {"type": "integer"},
                    "unit": {"type": "string", "enum": ["C", "F"]},
                    "at": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
                },
                "required": ["city"],
            },
        },
        {"name": "now"},
    ]
)
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("weather", {"city": 'Paris, "the" city', "days": 3, "unit": "F", "at": {"x": 0.5}}),
    ("weather", {"city": "Rome", "unit": "C"}),
    ("now", {}),
]


@pytest.fixture(scope="module", autouse=True)
def warm() -> Iterator[None]:
    render.keep_warm(form_of)
    if open_grammar(GrammarRequest(HERMES)) is None:
        pytest.skip("llama.cpp was compiled without the door")
    yield
    render.release(form_of)


def form_of(template: str) -> CallForm:
    return call_form(PieceTokenizer(LETTERS, template), PLAIN_INPUT, Renderer(), [END])


def constraint_of(form: CallForm, **options: Any) -> Constraint:
    return calls_constraint(TOOLS, form, PieceTokenizer(LETTERS), **{"one": False, **options})


def fits(constraint: Constraint, text: str) -> bool:
    """True if a text is what the constraint wants, and whole."""
    masks = ReplyMasks(constraint, PieceTokenizer(LETTERS), len(LETTERS), frozenset({0}))
    tokens = [*text.encode()]
    return masks.fitting(0, [*tokens, 0]) == len(tokens) + 1


def read(template: str, text: str) -> list[tuple[str, Any]]:
    grammar, _ = usable_grammar(GrammarRequest(template, tools=TOOLS))
    return [(call.name, json.loads(call.arguments)) for call in grammar.parse(text).calls]


@pytest.mark.parametrize("template", [HERMES, TAGGED])
def test_what_is_masked_is_read_as_calls(template: str) -> None:
    form = form_of(template)
    assert form != BARE
    text = write_calls(form, CALLS)
    assert fits(constraint_of(form), text)
    assert read(template, text) == CALLS
    assert fits(constraint_of(form, one=True), write_calls(form, CALLS[:1]))
    for wrong in (
        "Hello",
        "",
        write_calls(form, [("weather", {"days": 3})]),
        write_calls(form, [("weather", {"city": "a", "unit": "K"})]),
        write_calls(form, [("weather", {"city": "a", "more": "b"})]),
        write_calls(form, [("jump", {})]),
        f"{text} and so on",
    ):
        assert not fits(constraint_of(form), wrong), wrong
    assert not fits(constraint_of(form, one=True), text)


def test_values_that_say_whether_they_are_texts() -> None:
    tags = Tags('"><p name="', '" text="', '</p><p name="', "</p>", ('yes">', ""), plain=('no">', ""))
    form = CallForm('<i name="', "", "</i>", tags=tags, empty=None)
    told = ("weather", {"city": "Paris", "days": 3})
    text = '<i name="weather"><p name="city" text="yes">Paris</p><p name="days" text="no">3</p></i>'
    assert write_calls(form, [told]) == text
    one = freeze_tools([{"name": "weather", "parameters": _only("city", "days")}])
    constraint = calls_constraint(one, form, PieceTokenizer(LETTERS), one=True)
    assert fits(constraint, text)
    assert not fits(constraint, text.replace("no", "yes"))
    assert not fits(constraint, '<i name="weather"></i>'), "which nobody reads"
    assert fits(constraint_of(form), write_calls(BARE, [("now", {})])), "of that tool there is no call in this form"


def _only(*names: str) -> dict[str, Any]:
    known: Any = TOOLS[0]["function"]["parameters"]
    return {"type": "object", "properties": {name: known["properties"][name] for name in names}}


@needs_source
@pytest.mark.parametrize("name", ["Kimi-K2-Instruct", "LFM2-8B", "LFM2.5-Instruct", "R1-Distill-Qwen"])
def test_families_whose_templates_hardly_show_a_call_have_a_form(name: str) -> None:
    """One changes a list of its own, two leave calls to who writes them, one ends them with marks of another turn."""
    template = template_named(name)
    form = form_of(template)
    assert form != BARE
    thought = "</think>" if "R1" in name else ""
    assert read(template, thought + write_calls(form, CALLS[1:2])) == CALLS[1:2]


def test_json_may_be_said_in_place_of_a_call() -> None:
    form = form_of(HERMES)
    other = Constraint.json_schema({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
    both = constraint_of(form, other=other)
    assert fits(both, '{"a": 3}')
    assert fits(both, write_calls(form, CALLS[1:]))
    assert not fits(both, '{"a": "b"}')


def test_templates_without_a_form_have_calls_as_json() -> None:
    for template in ("{{ messages[0].content }}", "{{ raise_exception('no') }}", "{{ tools }}"):
        assert form_of(template) == BARE
    text = write_calls(BARE, CALLS[:1])
    assert json.loads(text) == {"name": CALLS[0][0], "arguments": CALLS[0][1]}
    assert fits(constraint_of(BARE), text)


def test_control_tokens_are_named_by_their_ids() -> None:
    tokenizer = PieceTokenizer(LETTERS, HERMES)
    tokenizer.added_tokens = {"<tool_call>": AddedToken(7, True), "</tool_call>": AddedToken(8, True)}
    masks = ReplyMasks(
        calls_constraint(TOOLS, form_of(HERMES), tokenizer, one=True), tokenizer, len(LETTERS), frozenset({0})
    )
    inner = b'\n{"name": "now", "arguments": {}}\n'
    assert masks.fitting(0, [7, *inner, 8, 0]) == len(inner) + 3
    assert masks.fitting(0, [*b"<tool_call>"]) == 0


def test_schemas_that_cannot_be_enforced_promise_less() -> None:
    odd = freeze_tools(
        [
            {"name": "now", "parameters": {"type": "object", "properties": {"a": {"type": "strin"}}}},
            {"name": "look", "parameters": {"properties": {"b": {"oneOf": [{"type": "string"}, {"minLength": 2}]}}}},
        ]
    )
    constraint = calls_constraint(odd, BARE, PieceTokenizer(LETTERS), one=True)
    assert fits(constraint, '{"name": "now", "arguments": {"anything": 3}}')
    assert fits(constraint, '{"name": "look", "arguments": {"b": "c"}}')
    assert not fits(constraint, '{"name": "look", "arguments": {"c": "c"}}')


@needs_source
@pytest.mark.soak
def test_most_published_templates_have_a_form_that_is_read_again() -> None:
    """Of seventy templates some know no calls, and some write them as no reply is written."""
    found = 0
    for path in TEMPLATES:
        template = path.read_text(encoding="utf-8")
        form = form_of(template)
        if form is BARE:
            continue
        found += 1
        calls = CALLS if form.between is not None and form.empty is not None else CALLS[:1]
        assert fits(constraint_of(form), write_calls(form, calls)) or form.tags is not None, path.name
    assert found > 58
