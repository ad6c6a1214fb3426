"""The events of a reply are immutable, and a reply is a message."""

from typing import Any

import pytest

from engine.config import SamplingConfig
from engine.drafting.none import NoDrafter
from engine.events import Finished, GenerationResult, PromptProgress, RoundEvent, TokenEvent
from engine.generation.loop import GenerationLoop
from engine.messages.message import Message
from engine.messages.parts import ReasoningPart, TextPart, ToolCall
from engine.stats import GenerationStats
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.loop_plans import loop_plan


def test_the_events_of_a_reply_are_frozen() -> None:
    plan = loop_plan(FakeBackend(seed=1), NoDrafter(), SamplingConfig(), [1, 2, 3], length=3)
    kinds = set()
    for event in GenerationLoop(plan).run():
        kinds.add(type(event))
        for name in (event._fields[0], "other"):
            with pytest.raises(AttributeError):
                setattr(event, name, 7)
    assert kinds == {PromptProgress, TokenEvent, RoundEvent, Finished}


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
