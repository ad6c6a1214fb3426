"""The events of a reply are immutable, and a reply is a message."""

from typing import Any

import pytest

from engine.events import GenerationResult
from engine.messages.message import Message
from engine.messages.parts import ReasoningPart, TextPart, ToolCall
from engine.stats import GenerationStats


@pytest.mark.parametrize(
    ("text", "reasoning", "content", "calls", "parts"),
    [
        ("Hi", "", "Hi", (), (TextPart("Hi"),)),
        (" Hi", "", "Hi", (), (TextPart(" Hi"),)),
        ("Hi", "", "", (), (TextPart("Hi"),)),
        ("<think>\n\n</think>\n\nHi", "", "Hi", (), (TextPart("Hi"),)),
        ("soHi", "so\n", "Hi", (), (ReasoningPart("so"), TextPart("Hi"))),
        ("{}", "", "", (ToolCall("", "f", {}),), (ToolCall("", "f", {}),)),
    ],
)
def test_a_reply_as_a_message(text: str, reasoning: str, content: str, calls: Any, parts: Any) -> None:
    result = GenerationResult(
        text, (), 1, 1, "stop", "plain", 0, GenerationStats(), 0, reasoning=reasoning, content=content, tool_calls=calls
    )
    assert result.message == Message("assistant", parts)
