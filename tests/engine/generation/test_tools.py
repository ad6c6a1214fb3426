"""Functions that a model may call: checked, shown to the chat template, and their calls told in the result."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.chat import render
from engine.chat.reply_grammar import GrammarRequest, open_grammar
from engine.cli.main import main
from engine.config import GenerationRequest, LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import ContextFull, InvalidRequest
from engine.loaded import load
from engine.messages.message import Message
from engine.messages.parts import ReasoningPart, TextPart, ToolCall
from engine.messages.tools import described, freeze_tools
from helpers.campaigns import Campaign
from helpers.decoding.fakes import PieceTokenizer, ScriptedBackend, recite
from helpers.models.calling import HERMES, write_calling_demo
from helpers.upstream import TEMPLATES, needs_source

LETTERS = [bytes([code]) for code in range(128)]
TOOLS = [{"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}]
WHOLE = {"type": "function", "function": TOOLS[0]}
TEMPLATE = """{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' }}
{%- if m.tool_calls %}{%- for c in m.tool_calls %}
{{- '<tool_call>\\n{"name": "' + c.function.name + '", "arguments": ' }}
{{- c.function.arguments | tojson + '}\\n</tool_call>' }}
{%- endfor %}{%- else %}{{- m.content }}{%- endif %}{{- '<|im_end|>\\n' }}{%- endfor %}
{%- if tools %}{{- tools | tojson }}{%- endif %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""
CALL = '<tool_call>\n{"name": "look", "arguments": {"at": "it"}}\n</tool_call>'


def _reading(template: str, reply: str = "") -> tuple[SpeculativeDecoder, list[str]]:
    """Return a decoder whose model says `reply`, and the prompts that it read."""
    read: list[str] = []

    def script(history: Any) -> int:
        if not read:
            read.append(bytes(history).decode())
        return recite([*reply.encode(), 0], len(read[0]))(history)

    backend = ScriptedBackend(LETTERS, script, chat_template=template, eos_token_ids=[0], context_length=4096)
    backend.tokenizer = PieceTokenizer(LETTERS, template)
    decoder = SpeculativeDecoder()
    decoder.attach_target(backend)
    return decoder, read


def test_the_template_sees_them() -> None:
    decoder, read = _reading("{{ tools | tojson }}{{ messages[0].content }}")
    decoder.generate("Go", tools=TOOLS, max_tokens=1, lookahead=0)
    assert read == [json.dumps([WHOLE]) + "Go"]
    decoder, read = _reading("{{ tools | tojson }}{{ messages[0].content }}")
    decoder.generate("Go", max_tokens=1, lookahead=0)
    assert read == ["nullGo"]


def test_the_template_for_tools_is_taken() -> None:
    decoder, read = _reading("usual")
    assert decoder.target is not None
    decoder.target.tokenizer.chat_templates["tool_use"] = "for {{ tools[0].function.name }}"  # type: ignore[index]
    decoder.generate("Go", tools=[WHOLE], max_tokens=1, lookahead=0)
    assert read == ["for look"]


def test_calls_are_told() -> None:
    render.keep_warm(test_calls_are_told)
    try:
        if open_grammar(GrammarRequest(TEMPLATE)) is None:
            pytest.skip("llama.cpp was compiled without the door")
        decoder, _ = _reading(TEMPLATE, CALL)
        result = decoder.generate("Go", tools=TOOLS, lookahead=0)
        (call,) = result.tool_calls
        assert (call.name, call.arguments) == ("look", {"at": "it"})
        assert (result.text, result.content) == (CALL, "")
    finally:
        render.release(test_calls_are_told)


@pytest.mark.parametrize(
    ("wanted", "reply"), [({}, CALL), ({"must_call": "look"}, '{"name": "look", "arguments": {"at": "it"}}')]
)
def test_names_keys_and_braces_of_calls_are_proposed(wanted: dict[str, Any], reply: str) -> None:
    """Of a call that is demanded, and of one that nobody demanded, by the tools' schemas: at no model pass.

    Before the index of n-grams, which could propose some of what the prompt says of the tools.
    """
    render.keep_warm(test_calls_are_told)
    try:
        if open_grammar(GrammarRequest(TEMPLATE)) is None:
            pytest.skip("llama.cpp was compiled without the door")
        decoder, _ = _reading(TEMPLATE, reply)
        schema = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
        tools = [{"name": "look", "parameters": {**schema, "additionalProperties": False}}]
        if not wanted:  # The vocabulary is read behind the first reply with a call: no reply waits for it.
            first = decoder.generate("Go", tools=tools, method="ngram", lookahead=8)
            assert "constraint" not in {each.name for each in first.stats.by_method}
        result = decoder.generate("Go", tools=tools, method="ngram", lookahead=8, **wanted)
        assert (result.text, result.tool_calls[0].arguments) == (reply, {"at": "it"})
        (figures,) = (each for each in result.stats.by_method if each.name == "constraint")
        assert figures.accepted > (4 if wanted else 20), figures
        assert figures.proposed - figures.accepted <= 1, figures  # A guess may take the call for one of several.
        plain, _ = _reading(TEMPLATE, reply)
        assert plain.generate("Go", tools=tools, lookahead=0, **wanted).tokens == result.tokens
    finally:
        render.release(test_calls_are_told)


def test_thirty_tools_are_read_once(tmp_path: Path) -> None:
    """With a real model: the second turn finds them in the cache, also behind a call and its result."""
    tools = [{"name": f"tool_{number}", "description": "Does it.", "parameters": {}} for number in range(30)]
    path = write_calling_demo(tmp_path / "calling.gguf", HERMES.replace("tools[0].function.name", "tools | tojson"))
    with load(path, context_length=4096) as decoder:
        messages = [Message("user", "Go")]
        first = decoder.generate(messages, tools=tools, must_call="tool_7", max_tokens=60, temperature=0)
        assert first.prompt_evaluated == first.prompt_tokens > 600
        assert first.tool_calls[0].name == "tool_7"
        messages += [first.message, Message("tool", "Done."), Message("user", "And now?")]
        second = decoder.generate(messages, tools=tools, max_tokens=1)
        assert second.prompt_tokens > first.prompt_tokens
        assert second.prompt_evaluated < 100


@needs_source
@pytest.mark.soak
@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_demanded_calls_of_every_family_are_calls(path: Path, tmp_path: Path, campaign: Campaign) -> None:
    """Drawn at 0.8 by a small model that has the template of another family. A thought is no part of the call."""
    city = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]}
    tools = [{"name": "weather", "description": "Weather", "parameters": city}, {"name": "now", "parameters": {}}]
    made = write_calling_demo(tmp_path / "family.gguf", path.read_text(encoding="utf-8"))
    with load(LoadConfig(made, trusted=True)) as decoder:
        options: dict[str, Any] = {"thinking": "off"} if "off" in decoder.thinking_modes else {}
        try:
            first = decoder.generate([Message("user", "Go")], tools=tools, must_call="now", max_tokens=40, **options)
        except ContextFull:
            pytest.skip("the family's prompt does not fit the small model's context")
        if first.reasoning and not first.tool_calls:
            pytest.skip("a model that is not of the family never ends the thought that the template begins")
        for seed in range(campaign.tries(100)):
            wanted = ("weather", "now") if seed % 2 else ("weather",)
            options |= {"must_call": wanted, "one_call": True, "seed": seed, "max_tokens": 400}
            result = decoder.generate([Message("user", "Go")], tools=tools, temperature=0.8, **options)
            assert result.finish_reason == "stop", result.text
            assert result.tool_calls, result.text
            for call in result.tool_calls:
                assert call.name in wanted
                assert call.arguments in ([{}] if call.name == "now" else [{"city": "Paris"}, {"city": "Rome"}])


def test_a_reply_without_a_call_is_guessed_nothing() -> None:
    render.keep_warm(test_calls_are_told)
    try:
        decoder, _ = _reading(TEMPLATE, "Well, no {call} of it.")
        result = decoder.generate("Go", tools=TOOLS, method="ngram", lookahead=8)
        assert "constraint" not in {each.name for each in result.stats.by_method}
    finally:
        render.release(test_calls_are_told)


def test_the_command_line_goes_on_with_the_calls_of_a_reply() -> None:
    decoder, _ = _reading("{{ messages[0].content }}", "Hello")
    plain = decoder.generate("Go", lookahead=0)
    assert plain.message == Message("assistant", "Hello")
    calling = replace(plain, reasoning="So", tool_calls=(ToolCall("1", "look", {}),))
    assert calling.message.parts == (ReasoningPart("So"), TextPart("Hello"), ToolCall("1", "look", {}))


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ("look", "must be a list"),
        ({"name": "look"}, "must be a list"),
        ([1], 'needs a "name"'),
        ([{"function": {}}], 'needs a "name"'),
        ([{"name": ""}], 'needs a "name"'),
        ([{"type": "retrieval", "function": {"name": "f"}}], 'type "function"'),
        ([{"name": "f", "description": 1}], "must be text"),
        ([{"name": "f", "parameters": []}], "must be a JSON schema"),
        ([{"name": "f", "parameters": {"a": {1, 2}}}], "not plain JSON"),
        ([{"name": "f", "parameters": {"a": float("nan")}}], "not plain JSON"),
    ],
)
def test_bad_tools_are_one_sentence(tools: Any, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        GenerationRequest("Hi", tools=tools)


def test_tools_need_a_chat() -> None:
    for prompt, raw in (("Hi", True), ((1, 2), False)):
        with pytest.raises(InvalidRequest, match="Tools need the chat template"):
            GenerationRequest(prompt, raw=raw, tools=freeze_tools(TOOLS))
    assert GenerationRequest("Hi", raw=True, tools=None).tools == ()  # type: ignore[arg-type]


def test_they_are_copied() -> None:
    given: list[dict[str, Any]] = [{"name": "f", "parameters": {}}]
    frozen = freeze_tools(given)
    given[0]["parameters"]["a"] = 1
    assert frozen == ({"type": "function", "function": {"name": "f", "parameters": {}}},)
    assert freeze_tools(frozen) == frozen
    assert described(freeze_tools([{"name": "f"}]))[0]["function"] == {"name": "f", "description": "", "parameters": {}}


def test_what_can_be_some_texts_alone_is_text() -> None:
    told = {"properties": {"a": {"enum": ["x", "y"]}, "b": {"enum": [1, "x"]}, "enum": {"type": "array"}}}
    (made,) = described(freeze_tools([{"name": "f", "parameters": told}]))
    wanted = {**told["properties"], "a": {"type": "string", "enum": ["x", "y"]}}
    assert made["function"]["parameters"] == {"properties": wanted}


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS))
    common = ("generate", "--json", "--target", "demo", "--draft", "none", "--max-tokens", "2")
    assert main([*common, "--tools", str(path), "Hello!"]) == 0
    with_tools = json.loads(capsys.readouterr().out)
    assert main([*common, "Hello!"]) == 0
    without = json.loads(capsys.readouterr().out)
    assert with_tools["prompt_tokens"] == without["prompt_tokens"], "the template of the demo knows no tools"
    assert "says nothing of tools" in with_tools["notes"][0]
    assert without["notes"] == []
    path.write_text("{")
    assert main([*common, "--tools", str(path), "Hello!"]) == 2
    assert "is not JSON" in capsys.readouterr().err
