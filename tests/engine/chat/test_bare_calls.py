"""Calls that a model writes as plain JSON: they are calls where they are the whole reply, and held back until then."""

import pytest

from engine.chat.reply_grammar import TagGrammar
from engine.chat.reply_parts import BareCalls, ReplyParser, read_calls

NAMES = ("look", "tell")
CALL = '{"name": "look", "arguments": {"at": "it"}}'
OTHER = '{"name": "tell", "arguments": {}}'


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (CALL, ["look"]),
        (f"\n```json\n{CALL}\n```\n", ["look"]),
        (f"```\n{CALL}\n```", ["look"]),
        (f"<tools>\n{CALL}\n</tools>", ["look"]),
        (f"<tool_call>```json\n{CALL}\n```</tool_call>", ["look"]),
        (f"[{CALL}, {OTHER}]", ["look", "tell"]),
        (f"{CALL}\n{OTHER}", ["look", "tell"]),
        (f"```json\n{CALL}\n```\n```json\n{OTHER}\n```", ["look", "tell"]),
        (f"{{{CALL}}}", ["look"]),
        (f"```json\n{{{CALL}}}}}\n{{{OTHER}}}\n```", ["look", "tell"]),
        (f"{CALL}}}", []),
        ('{"function": {"name": "look", "parameters": {}}}', ["look"]),
        ('{"function": "look", "arguments": "{\\"at\\": 1}"}', ["look"]),
        ('{"name": "jump", "arguments": {}}', []),
        ('{"name": "look"}', []),
        ('{"name": "look", "arguments": [1]}', []),
        ('{"name": ["look"], "arguments": {}}', []),
        (f"I call {CALL}", []),
        (f"{CALL} so", []),
        (f"```json\n{CALL}\n``` as you see", []),
        ('{"name": "look", "arguments": {"at": "', []),
        ("", []),
        ("[" * 5000, []),
        ("3", []),
    ],
)
def test_what_is_a_call(text: str, names: list[str]) -> None:
    assert [call.name for call in read_calls(text, NAMES)] == names
    reply = ReplyParser(TagGrammar(), tools=NAMES)
    told = "".join(piece for letter in text for _, piece in reply.feed(letter))
    told += "".join(piece for _, piece in reply.flush())
    parts = reply.finish()
    assert [call.name for call in parts.complete_calls] == names
    assert parts.content == told == ("" if names else text)
    assert len(reply.notes) == bool(names)


@pytest.mark.parametrize(
    "text", ["Hello", "{1", "{{1", "{{{", '{"city"', "```python\np", "<b>b", "[1", "`a b", " - ", "```json\n3"]
)
def test_what_cannot_become_one_is_not_held_back(text: str) -> None:
    bare = BareCalls(NAMES)
    assert "".join(map(bare.take, text)) == text


def test_without_tools_nothing_is_held_back() -> None:
    reply = ReplyParser(TagGrammar())
    assert reply.feed(CALL) == [("content", CALL)]


def test_one_call_is_enough() -> None:
    reply = ReplyParser(TagGrammar(), tools=NAMES, one_call=True)
    reply.feed(f"[{CALL}, {OTHER}]")
    assert [call.name for call in reply.finish().complete_calls] == ["look"]
