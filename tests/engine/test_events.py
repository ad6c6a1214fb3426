"""The events of a reply, and drafts: immutable values, told apart by their kind."""

from copy import deepcopy
from typing import Any

import pytest

from engine.config import SamplingConfig
from engine.drafting.base import Draft
from engine.drafting.none import NoDrafter
from engine.events import Finished, GenerationResult, PromptProgress, RoundEvent, TokenEvent
from engine.generation.loop import GenerationLoop
from engine.messages.message import Message
from engine.messages.parts import ReasoningPart, TextPart, ToolCall
from engine.stats import GenerationStats
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.loop_plans import loop_plan

TOKEN = TokenEvent(5, "ab", "accepted", 3, 7, -0.5)
ROUND = RoundEvent(3, "ngram", 4, 4, 2, 0.5, 9.0)


def test_the_events_of_a_reply_are_frozen() -> None:
    plan = loop_plan(FakeBackend(seed=1), NoDrafter(), SamplingConfig(), [1, 2, 3], length=3)
    kinds = set()
    for event in GenerationLoop(plan).run():
        kinds.add(type(event))
        for name in (event._fields[0], "other"):
            with pytest.raises(AttributeError):
                setattr(event, name, 7)
    assert kinds == {PromptProgress, TokenEvent, RoundEvent, Finished}


@pytest.mark.parametrize("value", [TOKEN, ROUND, Draft((1, 2), source="ngram")])
def test_equal_values_are_equal(value: Any) -> None:
    assert deepcopy(value) == value == type(value)(**value._asdict())
    assert value._replace(**{value._fields[0]: 9}) != value
    assert repr(value).startswith(f"{type(value).__name__}({value._fields[0]}=")


def test_optional_fields() -> None:
    assert (TOKEN.draft_logprob, TOKEN.top, ROUND.speedup) == (None, (), None)
    assert Draft() == Draft((), None, (), None, "")


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="token"):
        TokenEvent()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="other"):
        RoundEvent(*ROUND, other=1)  # type: ignore[call-arg]


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
