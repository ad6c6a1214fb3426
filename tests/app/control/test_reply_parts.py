"""Thoughts and tool calls of replies in the window: folded from the first token on, kept, and read later."""

from dataclasses import replace

from app.state.chat.displayed_reply import DisplayedReply, messages_of
from app.state.chat.messages import readable
from app.state.chat.transcript import Exchange
from engine import GenerationResult, GenerationStats, Message, ReasoningPart, TextPart, ToolCall

CALL = ToolCall("1", "search", {"word": "fox"})


def result(text: str, reasoning: str = "", content: str = "", calls: tuple[ToolCall, ...] = ()) -> GenerationResult:
    stats = GenerationStats()
    return GenerationResult(text, (), 1, 1, "stop", "plain", 0, stats, 0, reasoning, content, calls)


def test_a_thought_is_between_markers_from_its_first_token_on() -> None:
    shown = DisplayedReply()
    shown.add([("reasoning", "so")])
    assert shown.text == "<think>\nso"
    shown.add([("reasoning", " it"), ("content", "Hi")])
    shown.add([("content", "!")])
    assert shown.text == "<think>\nso it\n</think>\n\nHi!"
    again = DisplayedReply("<think>\nso\n</think>")
    again.add([("reasoning", " on"), ("content", "Hi")])
    assert again.text == "<think>\nso on\n</think>\n\nHi"


def test_what_a_reply_says_beside_its_text() -> None:
    assert messages_of(result("Hi", content="Hi")) == ()
    assert messages_of(result("Hi")) == ()
    assert messages_of(result(" there", content="Hi there"), "Hi") == ()
    # A thought that was switched off leaves nothing.
    assert messages_of(result("<think>\n\n</think>\n\nHi", content="Hi")) == (Message("assistant", [TextPart("Hi")]),)
    told = messages_of(result("soHi{}", "so", "Hi", (CALL,)))
    assert told == (Message("assistant", [ReasoningPart("so"), TextPart("Hi"), CALL]),)


def test_a_reply_shows_what_was_parted_from_it() -> None:
    exchange = Exchange("Where?")
    exchange.add("so", [("reasoning", "so")])
    assert (exchange.reply, exchange.shown) == ("so", "<think>\nso")
    exchange.add("Hi", [("content", "Hi")])
    exchange.end(result("soHi", "so", "Hi", (CALL,)))
    assert exchange.shown == "<think>\nso\n</think>\n\nHi"
    assert exchange.reply == "soHi"
    assert exchange.calls == (CALL,)
    again = Exchange("Where?", reply_messages=exchange.reply_messages)
    again.add("soHi")
    assert again.shown == exchange.shown


def test_a_thought_that_was_cut_goes_on_in_its_fold() -> None:
    exchange = Exchange("Where?")
    exchange.add("so", [("reasoning", "so")])
    exchange.end(replace(result("so", "so"), finish_reason="length"))
    reopened = Exchange("Where?", reply_messages=exchange.reply_messages)
    reopened.add("so")
    reopened.status, reopened.finish_reason = "done", "length"
    for again in (exchange, reopened):
        assert again.unfinished
        again.continue_()
        again.add(" on</think>Hi", [("reasoning", " on"), ("content", "Hi")])
        assert again.shown == "<think>\nso on\n</think>\n\nHi"
        again.end(result(" on</think>Hi", "so on", "Hi"))
        assert again.reply == "so on</think>Hi"
        assert again.reply_messages == (Message("assistant", [ReasoningPart("so on"), TextPart("Hi")]),)


def test_a_thought_whose_markers_are_no_text_is_exported_between_some() -> None:
    said = messages_of(result("soHi", "so", "Hi"))
    assert readable(said, "soHi") == "<think>\nso\n</think>\n\nHi"
    for text in ("<think>so</think>Hi", "so</think>Hi"):
        assert readable(said, text) == text
    assert readable((), "Hi") == "Hi"
