"""The loop of replies and results: what is asked, what is run, what the model reads of it, and where it ends."""

from typing import Any, cast

import pytest

from engine import (
    Cancelled,
    CancelToken,
    Finished,
    ImagePart,
    Message,
    Permission,
    Responder,
    Tool,
    Toolbox,
    ToolCall,
    ToolCallAsked,
    ToolCallEnded,
    ToolCallStarted,
    ToolOutput,
    ToolResult,
    ToolsEnded,
    run_tools,
)
from engine.tools.loop import with_hint
from engine.tools.tool import MOST_RESULT_BYTES, plain_text
from helpers.tools.fake_tools import FunctionHost, Replies, reply

ADD = ToolCall("a", "add", {"x": 1, "y": 2})


def _once(_tool: Tool, _arguments: object) -> Permission:
    return Permission.once


def _run(decoder: Replies, box: Toolbox, ask: Any = _once, **options: Any) -> list[Any]:
    return list(run_tools(cast("Responder", decoder), [Message("user", "1 + 2?")], box, ask, **options))


def test_a_call_is_asked_run_and_its_result_read() -> None:
    host = FunctionHost({"add": lambda x, y: x + y})
    decoder = Replies(reply("", ADD), reply("It is 3."))
    asked: list[object] = []

    def ask(tool: Tool, arguments: object) -> Permission:
        asked.append((tool.name, arguments))
        return Permission.once

    events = _run(decoder, Toolbox([host]), ask, must_call="any")
    kinds = [type(event) for event in events]
    assert kinds == [Finished, ToolCallAsked, ToolCallStarted, ToolCallEnded, Finished, ToolsEnded]
    assert asked == [("add", {"x": 1, "y": 2})]
    assert host.calls == asked
    assert (events[3].output, events[3].message.tool_result) == (ToolOutput("3"), ToolResult("a", "add", "3"))
    last = events[-1]
    assert isinstance(last, ToolsEnded)
    assert [message.role for message in last.messages] == ["user", "assistant", "tool", "assistant"]
    assert (last.reason, last.calls) == ("answered", 1)
    assert decoder.read[1][:2] == list(last.messages[:2])
    read = decoder.read[1][2].tool_result
    assert read is not None
    assert (read.call_id, read.name) == ("a", "add")
    assert read.text.startswith("3\n\nThis is the result of the tool add. Answer")
    # Only the first reply is demanded: the second may answer.
    assert ["must_call" in options for options in decoder.options] == [True, False]
    assert decoder.options[0]["tools"][0]["function"]["name"] == "add"


def test_never_is_told_the_model_and_nothing_runs() -> None:
    host = FunctionHost({"add": lambda x, y: x + y})
    events = _run(Replies(reply("", ADD), reply("No.")), Toolbox([host]), lambda *_: Permission.never)
    assert host.calls == []
    assert not [event for event in events if isinstance(event, ToolCallStarted)]
    assert "does not allow" in events[-1].messages[2].content
    assert with_hint(events[-1].messages[:3]) == events[-1].messages[:3]


def test_the_hint_after_a_result_leaves_the_rest_of_its_message() -> None:
    picture = ImagePart("data:image/png;base64,AA==")
    (made,) = with_hint([Message("tool", [picture, ToolResult("a", "see", "a cat")])])
    assert made.pictures == (picture,)
    assert made.content.startswith("a cat\n\nThis is the result of the tool see.")
    assert with_hint([Message("user", "Hello")]) == [Message("user", "Hello")]


def test_what_fails_is_told_the_model() -> None:
    def broken() -> str:
        raise OSError("no\x1b[2J such disk")

    events = _run(
        Replies(reply("", ToolCall("", "broken", {}), ToolCall("", "gone", {})), reply("Sorry.")),
        Toolbox([FunctionHost({"broken": broken})]),
    )
    first, second = (event for event in events if isinstance(event, ToolCallEnded))
    assert (first.output.is_error, second.output.is_error) == (True, True)
    assert first.output.text == "The tool broken failed: no[2J such disk"
    assert second.output.text == "There is no tool gone. There are: broken."
    assert len([event for event in events if isinstance(event, ToolCallAsked)]) == 1


def test_a_call_that_is_repeated_at_once_is_answered_and_not_run() -> None:
    host = FunctionHost({"add": lambda x, y: x + y})
    asked: list[object] = []

    def ask(*call: object) -> Permission:
        asked.append(call)
        return Permission.once

    events = _run(Replies(reply("", ADD), reply("", ADD), reply("It is 3.")), Toolbox([host]), ask)
    assert (len(host.calls), len(asked)) == (1, 1)
    assert "it gave: 3\nAnswer the user now" in events[-1].messages[4].content
    # Who insists is asked about again: the time may have changed.
    _run(Replies(*[reply("", ADD)] * 3, reply("3")), Toolbox([host]))
    assert len(host.calls) == 3


def test_a_loop_of_calls_ends() -> None:
    host = FunctionHost({"add": lambda x, y: x + y})
    decoder = Replies(*[reply("", ADD, ToolCall("b", "add", {"x": 2, "y": 2}))] * 9)
    events = _run(decoder, Toolbox([host]), limit=3)
    assert len(host.calls) == 3
    last = events[-1]
    assert (last.reason, last.calls) == ("limit", 3)
    assert "no more than 3 calls" in last.messages[-1].content
    # Every call has its result: the next question goes on from here.
    assert len([message for message in last.messages if message.role == "tool"]) == 4


def test_cancelling_a_question_ends_the_loop() -> None:
    host = FunctionHost({"add": lambda x, y: x + y})
    cancel = CancelToken()

    def ask(*_: object) -> Permission:
        cancel.cancel()
        return Permission.once

    with pytest.raises(Cancelled):
        _run(Replies(reply("", ADD)), Toolbox([host]), ask, cancel=cancel)
    assert host.calls == []
    assert not cancel.cancelled


def test_a_reply_that_was_cancelled_calls_nothing() -> None:
    host = FunctionHost({"add": lambda x, y: x + y})
    events = _run(Replies(reply("", ADD, reason="cancelled")), Toolbox([host]))
    assert (events[-1].reason, host.calls) == ("cancelled", [])


def test_two_tools_never_look_alike() -> None:
    ours = FunctionHost({"read_file": str, "one": str}, "Outrider")
    theirs = FunctionHost({"readfile": str, "Read-File": str, "read file!": str, "0ne": str}, "Their server")
    box = Toolbox([ours, theirs])
    assert list(box.tools) == [
        *("read_file", "one", "Their_server__readfile", "Their_server__Read-File_2"),
        *("Their_server__read_file__3", "Their_server__0ne"),
    ]
    assert all(name.isascii() and len(name) <= 64 for name in box.tools)
    box.call("Their_server__readfile", {}, cancel=CancelToken())
    assert [name for name, _ in theirs.calls] == ["readfile"]
    box.switch("Outrider/read_file", on=False)
    assert "read_file" not in box.offered
    assert box.call("read_file", {}, cancel=CancelToken()).is_error
    assert [each["function"]["name"] for each in box.functions()] == list(box.offered)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a\r\nb\rc\td", "a\nb\nc\td"),
        ("\x1b]0;x\x07\x00\x9b", "]0;x"),
        ("a\u202eb\u200bc\U000e0041d\ud800", "abcd"),
        ("Grüße 👋", "Grüße 👋"),
    ],
)
def test_results_are_text(given: str, kept: str) -> None:
    assert plain_text(given) == kept


def test_long_results_are_cut_and_say_so() -> None:
    text = plain_text("ü" * 1_000_000)
    assert text.startswith("ü" * 16_000 + "\n[984,000 more characters")
    assert len(text.encode()) < MOST_RESULT_BYTES + 100
    assert plain_text("a" * MOST_RESULT_BYTES) == "a" * MOST_RESULT_BYTES
