"""Reasoning and content of a reply while it is generated: channels of the events, parts of the result."""

from collections.abc import Sequence

import pytest

from engine.decoder import SpeculativeDecoder
from engine.events import Finished, GenerationResult, TokenEvent
from engine.library.names import bundled_pair
from helpers.decoding.fakes import ScriptedBackend, recite

PIECES = [b"", b"a", b"", b"", b"so", b"Hel", b"lo", b"<think>", b" <", b"</think>"]
END, PROMPT, OPENING, CLOSING, SO, HEL, LO, OPENED, LESS, CLOSED = range(10)
MARKERS = {END: "<end>", OPENING: "<think>", CLOSING: "</think>"}


def reply(
    tokens: Sequence[int], prompt: str = "a", limit: int | None = None
) -> tuple[list[TokenEvent], GenerationResult]:
    """Return the events of the tokens, and the result."""
    script = recite(tokens, prompt_length=1 + prompt.count("<think>"))
    backend = ScriptedBackend(PIECES, script, eos_token_ids=[END], markers=MARKERS)
    decoder = SpeculativeDecoder()
    decoder.attach_target(backend)
    events = list(decoder.stream(prompt, raw=True, lookahead=0, max_tokens=limit))
    assert isinstance(events[-1], Finished)
    return [event for event in events if isinstance(event, TokenEvent)], events[-1].result


def added(events: Sequence[TokenEvent], channel: str) -> str:
    return "".join(text for event in events for name, text in event.added if name == channel)


def test_control_tokens_part_the_reply_and_are_in_no_text() -> None:
    events, result = reply([OPENING, SO, CLOSING, HEL, LO])
    assert (result.text, result.reasoning, result.content) == ("soHello", "so", "Hello")
    assert [event.channel for event in events] == ["reasoning", "reasoning", "content", "content", "content", "content"]
    assert [event.added for event in events] == [
        *((), (("reasoning", "so"),), ()),
        *((("content", "Hel"),), (("content", "lo"),), ()),
    ]
    assert "".join(event.text for event in events) == result.text


def test_markers_that_are_text_stay_in_the_text_alone() -> None:
    events, result = reply([OPENED, SO, CLOSED, HEL])
    assert (result.text, result.reasoning, result.content) == ("<think>so</think>Hel", "so", "Hel")
    assert (added(events, "reasoning"), added(events, "content")) == ("so", "Hel")


def test_a_thought_that_the_prompt_opened_begins_with_the_first_token() -> None:
    events, result = reply([SO, SO, CLOSED, HEL], "a<think>")
    assert events[0].channel == "reasoning"
    assert events[0].added == (("reasoning", "so"),)
    assert (result.reasoning, result.content) == ("soso", "Hel")


@pytest.mark.parametrize(("limit", "reasoning"), [(2, "so"), (9, "so <")])
def test_what_may_be_half_a_marker_is_shown_where_the_model_ends_the_reply(limit: int, reasoning: str) -> None:
    events, result = reply([SO, LESS], "a<think>", limit)
    assert result.text == "so <"
    assert result.reasoning.rstrip() == added(events, "reasoning").rstrip() == reasoning


def test_an_honest_model_says_content() -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_target(bundled_pair()[0])
    events = list(decoder.stream("Hello!", max_tokens=12))
    decoder.close()
    tokens = [event for event in events if isinstance(event, TokenEvent)]
    assert isinstance(events[-1], Finished)
    result = events[-1].result
    assert result.content == result.text == added(tokens, "content")
    assert (result.reasoning, result.tool_calls) == ("", ())
