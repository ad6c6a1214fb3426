"""Messages: their parts, what is text in them, what JSON says of them, and what is refused."""

import copy
import json
from typing import Any

import pytest

from engine import (
    FilePart,
    ImagePart,
    InvalidRequest,
    Message,
    OtherField,
    OtherPart,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
    Translatable,
)
from engine.host import parts_from_json

CALL = ToolCall("call-1", "weather", {"place": "Köln", "days": 3})
EVERYTHING = Message(
    "assistant",
    [
        ReasoningPart("They want the weather."),
        TextPart("I look."),
        CALL,
        TextPart("And again."),
        ImagePart("data:image/png;base64,AAAA", "low"),
        FilePart("notes.py", "print(1)"),
        OtherPart({"type": "input_audio", "input_audio": {"data": "AAAA"}}),
        OtherField("tool_plan", ["look", None, 1.5]),
    ],
)
TOLD: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": "Be kind."},
    {"role": "user", "content": "", "name": "Ann"},
    {"role": "user", "content": [{"type": "text", "text": "What is it?"}, {"type": "text", "text": "And why?"}]},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
    {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]},
    {"role": "assistant", "content": "So.", "reasoning_content": "Well."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "now", "arguments": "{}"}}],
    },
    {
        "role": "assistant",
        "content": "Both.",
        "tool_calls": [
            {"id": "b", "type": "function", "function": {"name": "one", "arguments": '{"x": 1}'}},
            {"type": "function", "function": {"name": "two", "arguments": '{"é": [true, null, 1.0]}'}},
        ],
        "refusal": {"why": "no"},
    },
    {"role": "tool", "content": "12:00", "tool_call_id": "a", "name": "now"},
    {"role": "tool", "content": "12:00"},
]


@pytest.mark.parametrize("told", TOLD, ids=lambda told: f"{told['role']}-{len(told)}")
def test_what_the_chat_interface_says_comes_back(told: dict[str, Any]) -> None:
    message = Message.from_mapping(told)
    assert message.to_dict() == told
    again = Message.from_mapping(json.loads(json.dumps(message.to_dict())))
    assert again == message
    assert hash(again) == hash(message)
    assert parts_from_json(json.loads(json.dumps([part.to_dict() for part in message.parts]))) == message.parts


def test_parts_keep_their_order() -> None:
    told = json.loads(json.dumps([part.to_dict() for part in EVERYTHING.parts]))
    assert Message("assistant", parts_from_json(told)) == EVERYTHING
    assert Message.from_mapping({"role": "assistant", "content": told}) == EVERYTHING
    assert copy.deepcopy(EVERYTHING) == EVERYTHING


def test_content_is_what_is_said() -> None:
    assert Message("user", "Hi").parts == (TextPart("Hi"),)
    assert Message("user", [TextPart("One"), TextPart("Two")]).content == "One\nTwo"
    quoted = "File: a.py\n```python\nx\n```"
    assert Message("user", [FilePart("a.py", "x"), TextPart("Why?")]).content == f"{quoted}\n\nWhy?"
    assert FilePart("a", "```").quoted == "File: a\n````\n```\n````"
    assert EVERYTHING.content.startswith("I look.\nAnd again.\n\nFile: notes.py\n")
    assert EVERYTHING.reasoning == "They want the weather."
    assert EVERYTHING.tool_calls == (CALL,)
    result = Message("tool", [ToolResult("a", "now", "12:00")])
    assert (result.content, result.tool_result) == ("12:00", ToolResult("a", "now", "12:00"))
    assert Message("tool", "12:00").tool_result == ToolResult("", "", "12:00")
    beside = EVERYTHING.letters - len(EVERYTHING.content)
    assert beside >= len(EVERYTHING.reasoning) + len(CALL.arguments_json)


def test_other_content_makes_another_message() -> None:
    plain = Message("user", "Hi")
    others = [
        Message("assistant", "Hi"),
        Message("user", [TextPart("Hi"), OtherField("name", "Ann")]),
        Message("user", [TextPart("Hi"), ImagePart("x")]),
    ]
    assert len({plain, *others, Message("user", [TextPart("Hi")])}) == 4
    one, two = (Message("assistant", [ToolCall("", "f", arguments)]) for arguments in ({"a": 1}, {"a": 2}))
    assert one != two
    CALL.arguments["place"] = "elsewhere"
    assert CALL.arguments["place"] == "Köln"


def test_templates_get_text_and_objects() -> None:
    assert Message("user", "Hi").as_template_dict() == {"role": "user", "content": "Hi"}
    assert Message("developer", "Hi").as_template_dict()["role"] == "system"
    told = EVERYTHING.as_template_dict()
    assert told["content"] == EVERYTHING.content
    assert told["reasoning_content"] == "They want the weather."
    assert told["tool_calls"][0]["function"] == {"name": "weather", "arguments": {"place": "Köln", "days": 3}}
    assert told["tool_plan"] == ["look", None, 1.5]
    result = Message("tool", [ToolResult("a", "now", "12:00")]).as_template_dict()
    assert result == {"role": "tool", "content": "12:00", "tool_call_id": "a", "name": "now"}
    # A model that said nothing and one that said an empty text are two things to templates.
    assert Message("assistant", [CALL]).as_template_dict()["content"] is None
    assert Message("assistant", [TextPart(""), CALL]).as_template_dict()["content"] == ""
    assert Message("assistant", [ReasoningPart("Hm.")]).as_template_dict()["content"] == ""


def test_other_writings_are_understood() -> None:
    bare = Message.from_mapping({"role": "assistant", "tool_calls": [{"name": "f", "arguments": {"a": 1}}]})
    assert bare.tool_calls == (ToolCall("", "f", '{"a": 1}'),)
    assert Message.from_mapping({"role": "assistant", "content": "x", "reasoning": "y"}).reasoning == "y"
    data = {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,SGkK"}}
    assert parts_from_json([data]) == (FilePart("a.txt", "Hi"),)
    pdf = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,SGkK"}}
    assert parts_from_json([pdf])[0].to_dict() == pdf
    listed = {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "12"}]}
    assert Message.from_mapping(listed) == Message("tool", [ToolResult("a", "", "12")])


WRONG: list[tuple[Any, str]] = [
    ("Hi", 'an object with "role" and "content"'),
    ({"role": "user"}, 'an object with "role" and "content"'),
    ({"role": "robot", "content": "x"}, "not 'robot'"),
    ({"role": ["user"], "content": "x"}, "not ['user']"),
    ({"role": "user", "content": 7}, "text or a list of parts, not int"),
    ({"role": "user", "content": None}, "text or a list of parts, not null"),
    ({"role": "user", "content": {"type": "text", "text": "x"}}, "text or a list of parts, not dict"),
    ({"role": "user", "content": ["x"]}, 'an object with a "type"'),
    ({"role": "user", "content": [{"text": "x"}]}, 'an object with a "type"'),
    ({"role": "user", "content": [{"type": "text"}]}, "'text' is incomplete"),
    ({"role": "user", "content": [{"type": "text", "text": 7}]}, "must be text, not int"),
    ({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}, "'image_url' is incomplete"),
    ({"role": "user", "content": [{"type": "file", "file": "x"}]}, "'file' is incomplete"),
    ({"role": "user", "content": "x", "reasoning_content": "y"}, "user cannot hold a part of the kind ReasoningPart"),
    ({"role": "assistant", "content": "x", "reasoning_content": 7}, "reasoning_content must be text"),
    ({"role": "assistant", "content": None, "tool_calls": "x"}, "tool_calls must be a list"),
    ({"role": "assistant", "content": None, "tool_calls": ["x"]}, "A tool call must be an object"),
    ({"role": "assistant", "content": None, "tool_calls": [{"function": {}}]}, "A tool call must be an object"),
    ({"role": "assistant", "tool_calls": [{"name": "f", "arguments": "{"}]}, "'f' must be a JSON object"),
    ({"role": "assistant", "tool_calls": [{"name": "f", "arguments": [1]}]}, "'f' must be a JSON object"),
    ({"role": "assistant", "tool_calls": [{"name": "f", "arguments": "[" * 99_999}]}, "'f' must be a JSON object"),
    ({"role": "tool", "content": [{"type": "function", "name": "f"}]}, "tool cannot hold a part of the kind ToolCall"),
    ({"role": "tool", "content": "x", "tool_call_id": 7}, "must be text, not int"),
    ({"role": "user", "content": "x", "odd": {1, 2}}, "what JSON cannot say"),
    ({"role": "user", "content": [{"type": "odd", "odd": {1, 2}}]}, "what JSON cannot say"),
]


@pytest.mark.parametrize(("told", "why"), WRONG, ids=[str(place) for place in range(len(WRONG))])
def test_a_wrong_shape_gets_one_clear_error(told: Any, why: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Message.from_mapping(told)
    assert why in str(refused.value)
    assert isinstance(refused.value.message, Translatable)


def test_messages_check_their_parts() -> None:
    with pytest.raises(InvalidRequest, match="not bytes"):
        Message("user", b"Hi")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="kind str"):
        Message("user", ["Hi"])  # type: ignore[list-item]
    with pytest.raises(InvalidRequest, match="must hold one result"):
        Message("tool", [])
    with pytest.raises(InvalidRequest, match="text must be text"):
        TextPart(7)  # type: ignore[arg-type]
