"""What is said beside a text: what a model reads of it, what stays when it is edited, what is searched and exported."""

import itertools
import json
from typing import Any

import pytest

from app.state.chat.attachments import Attachment, join_question
from app.state.chat.messages import (
    edited,
    further_parts,
    further_words,
    messages_from_json,
    messages_to_json,
    question_messages,
    reply_messages,
    text_of_messages,
)
from app.state.chat.transcript import Transcript
from app.state.conversations.conversation import Conversation
from app.state.conversations.files import ConversationRefused, from_json, to_json
from app.state.conversations.markdown import to_markdown
from app.state.conversations.stored import exchanges
from engine import FilePart, ImagePart, Message, OtherField, OtherPart, ReasoningPart, TextPart, ToolCall, ToolResult
from helpers.chats import FIVE_TURNS

IMAGE = ImagePart("data:image/png;base64,AAAA")


def _imported(told: Any) -> Conversation:
    return from_json(json.dumps(told).encode(), itertools.count(500).__next__).conversation


def _prompt(conversation: Conversation) -> list[Message]:
    """What a model would read of the conversation, as the window asks it."""
    transcript = Transcript()
    transcript.entries = [*exchanges(conversation)]
    *before, _ = transcript.messages_for(transcript.ask("And?"))
    system = conversation.settings.get("system", "")
    return [Message("system", system), *before] if system else before


def test_files_are_parts_and_read_as_before() -> None:
    text = join_question("Where?", [Attachment("a.py", "x = 1"), Attachment("b.txt", "```\nfox\n```")])
    (message,) = question_messages(text)
    assert message.parts == (FilePart("a.py", "x = 1"), FilePart("b.txt", "```\nfox\n```"), TextPart("Where?"))
    assert message.content == text
    only = join_question("", [Attachment("a.py", "x = 1")])
    assert question_messages(only) == (Message("user", [FilePart("a.py", "x = 1")]),)
    for odd in ("", "Hi", "File: a.py\n```\nx", f"{text}\n", "File: a.py\n```python\nx\n```\n\n \n"):
        assert [each.content for each in question_messages(odd)] == [odd]
    assert reply_messages("<think>x</think>y") == (Message("assistant", "<think>x</think>y"),)


def test_an_edit_keeps_what_lies_beside_the_text() -> None:
    assert edited((), "New") == ()
    said = (Message("developer", "Be kind."), Message("user", [IMAGE, TextPart("Old"), OtherField("name", "Ann")]))
    kept = Message("user", [TextPart("New"), IMAGE, OtherField("name", "Ann")])
    assert edited(said, "New") == (said[0], kept)
    assert edited((said[0], Message("user", "Old")), "New") == (said[0], Message("user", "New"))
    assert edited((Message("user", "One"), Message("user", "Two")), "New") == ()
    assert edited((Message("user", [IMAGE]), Message("user", "Two")), "New") == (
        Message("user", [TextPart("New"), IMAGE]),
    )


def test_messages_become_text_and_json_and_back() -> None:
    call = ToolCall("a", "look", {"where": "there", "deep": [{"n": 7}]})
    said = (
        Message("assistant", [ReasoningPart("Hm."), TextPart("I look."), call, TextPart("Wait.")]),
        Message("tool", [ToolResult("a", "look", "A fox, and a lantern.")]),
        Message("assistant", [TextPart("A fox."), IMAGE, OtherPart({"type": "odd", "x": None})]),
    )
    text = text_of_messages(said)
    assert text == "<think>\nHm.\n</think>\n\nI look.\nWait.\n\nA fox."
    assert messages_from_json(json.loads(json.dumps(messages_to_json(said)))) == said
    assert [type(part) for part in further_parts(said, text)] == [ToolCall, ToolResult, ImagePart, OtherPart]
    assert further_words(said, text) == "look there 7\nA fox, and a lantern."
    # What the model wrote with its own markers is in the text.
    raw = '<tool_call>{"name": "look", "arguments": {"where": "there", "deep": [{"n": 7}]}}</tool_call>'
    assert not list(further_parts((Message("assistant", [call]),), raw))


@pytest.mark.parametrize("told", [FIVE_TURNS, {"model": "x", "messages": FIVE_TURNS}], ids=["a list", "an object"])
def test_a_chat_of_another_program_is_imported_as_it_is(told: Any) -> None:
    conversation = _imported(told)
    assert _prompt(conversation) == [Message.from_mapping(each) for each in FIVE_TURNS]
    assert [message.role for message in conversation.path] == ["user", "assistant"] * 5
    assert conversation.title == "What is the weather in Cologne?"
    again = from_json(to_json(conversation).encode(), itertools.count(900).__next__).conversation
    assert _prompt(again) == _prompt(conversation)
    assert to_json(again) == to_json(conversation)


def test_odd_orders_lose_nothing() -> None:
    told = [
        {"role": "assistant", "content": "Welcome."},
        {"role": "user", "content": "One"},
        {"role": "user", "content": "Two"},
        {"role": "assistant", "content": "Three", "reasoning_content": "Count."},
        {"role": "assistant", "content": "Four"},
        {"role": "developer", "content": "Stop counting."},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,x"}}]},
        {"role": "assistant", "tool_calls": [{"name": "stop", "arguments": {}}]},
        {"role": "system", "content": "That was all."},
    ]
    conversation = _imported(told)
    assert _prompt(conversation) == [Message.from_mapping(each) for each in told]
    assert conversation.settings == {"system": ""}
    assert [message.text for message in conversation.path][:2] == [
        "One\n\nTwo",
        "<think>\nCount.\n</think>\n\nThree\n\nFour",
    ]


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ([{"role": "robot", "content": "x"}], "message 1: a message's role must be"),
        ([{"role": "user", "content": "x"}, {"role": "user", "content": 7}], "message 2: a message's content must be"),
        ([{"role": "assistant", "content": "x"}], "it has no question"),
        ([{"role": "user", "content": "x"}] * 2_001, "a turn has more than 2000 messages"),
        ([{"role": "user", "content": 7}], "not int. Nothing was changed."),
        ([{"role": "user", "content": "x"}, 7], "message 2"),
        ([7], "not a chat exported by Outrider"),
        ({"messages": [{"role": "user", "content": "x"}], "format": "odd"}, "not a chat exported by Outrider"),
        ([{"role": "user", "content": "\ud800"}], "invalid characters"),
        ([{"role": "user", "content": "x", "y": [[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]}], "nested too deeply"),
    ],
)
def test_what_makes_no_sense_is_refused(told: Any, why: str) -> None:
    with pytest.raises(ConversationRefused) as refused:
        _imported(told)
    assert why.casefold() in str(refused.value).casefold()


def test_large_images_are_read() -> None:
    url = "data:image/png;base64," + "A" * 3_000_000
    told = [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "?"}]}
    ]
    conversation = _imported(told)
    again = _imported(json.loads(to_json(conversation)))
    assert again.path[0].messages == (Message("user", [ImagePart(url), TextPart("?")]),)
    with pytest.raises(ConversationRefused, match="too large"):
        _imported([{"role": "user", "content": [{"type": "text", "text": "x" * 4000}] * 500}])


def test_a_file_of_an_older_outrider_and_one_for_it() -> None:
    conversation = _imported([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}])
    told = json.loads(to_json(conversation))
    assert told["version"] == 1
    assert not any("messages" in message for message in told["messages"])
    assert json.loads(to_json(_imported(FIVE_TURNS)))["version"] == 2


@pytest.mark.parametrize("messages", [7, [7], [{"role": "user"}], [{"role": "x", "content": ""}], {}, "x", [[]]])
def test_damaged_parts_in_a_file_are_refused(messages: Any) -> None:
    told = json.loads(to_json(_imported(FIVE_TURNS)))
    told["messages"][1]["messages"] = messages
    with pytest.raises(ConversationRefused, match="message 2: "):
        _imported(told)


def test_markdown_shows_what_lies_beside_the_text() -> None:
    text = to_markdown(_imported(FIVE_TURNS))
    for said in (
        '**Tool call** `weather`\n\n```json\n{"place": "Cologne"}\n```',
        "**Result of a tool** `weather`\n\n```\nRain, 12 °C\n```",
        "![Image](<data:image/png;base64,AAAA>)",
        "Take an umbrella.",
        "They want a picture explained.",
    ):
        assert said in text
