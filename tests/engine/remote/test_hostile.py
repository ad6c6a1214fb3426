"""Servers that fail, lie, drip and flood: a sentence each, nothing lost, and the next reply works."""

import collections
import gzip
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from engine.cancel import CancelToken
from engine.errors import Cancelled, EngineError, ServerFailed
from engine.events import Finished, PromptProgress, RoundEvent, TextEvent
from engine.remote import assembler, http
from engine.remote.connect import connect_server
from engine.remote.http import Patience
from helpers.remote.scripted import CUT, HANG, Scripted, Step, answer, as_json, chunk, piece, stream

QUESTION = "Hello"
GOOD = stream([piece("Fine.", finish="stop")])
BEGUN = [piece("Once"), piece(" upon")]


def event(value: Any) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def calls(told: list[Any]) -> bytes:
    return event({"choices": [{"delta": {"tool_calls": told}}]})


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([CUT], "ended the connection without an answer"),
        ([b"hello\r\n\r\n"], "ended the connection without an answer"),
        (as_json({"error": {"message": "no key"}}, 401), "wants a key"),
        (as_json({}, 403), "wants a key"),
        (as_json({"error": {"message": "The model `x` does not exist."}}, 404), "(404): The model `x` does not exist."),
        (as_json({}, 429, "Retry-After: 7\r\n"), "takes no more requests for now (429). Ask again in 7 s."),
        (as_json({}, 429, "Retry-After: <b>\r\n"), "Ask again later."),
        (as_json({"detail": "prompt too long"}, 400), "refuses the request (400): prompt too long."),
        (as_json({"error": "loading\x1b[31m\nmodel"}, 503), "failed (503): loading [31m model."),
        (as_json({"message": "x" * 5000}, 500), "xxx…"),
        ([answer(b"<html>", status=502, kind="text/html")], "failed (502)."),
        ([answer(b"", status=302, more="Location: http://evil.example/\r\n")], "sends to another address (302)"),
        ([answer(b"<html>hello</html>", kind="text/html")], "it is neither a stream nor JSON"),
        ([answer(gzip.compress(b"{}"), more="Content-Encoding: gzip\r\n")], "it is compressed"),
        ([answer(b"nonsense")], "a piece of it is not JSON"),
        ([answer(b"[" * 100_000)], "a piece of it is not JSON"),
        (stream(["{nonsense"]), "a piece of it is not JSON"),
        (stream(["[1, 2]"]), "a piece of it is no JSON object"),
        (stream([{"choices": 3}]), '"choices" is no list'),
        (stream([{"choices": [{"delta": 3}]}]), '"delta" is no object'),
        (stream([{"choices": [{"delta": {"content": 3}}]}]), "a text in it is something else"),
        (stream([{"choices": [{"delta": {"tool_calls": [{"index": -1, "function": {}}]}}]}]), "tool call is malformed"),
        (stream([{"choices": [{"delta": {"tool_calls": [{"index": 10**9, "function": {}}]}}]}]), "is malformed"),
        (stream([{"error": {"message": "out of memory", "code": 500}}]), "failed: out of memory."),
        (stream([]), "broke off in the middle"),
        ([HEAD], "broke off in the middle"),
    ],
)
def test_each_way_to_fail_is_one_sentence(steps: list[Step], said: str) -> None:
    with Scripted() as server:
        server.chats(*steps)
        remote = connect_server(server.url)
        with pytest.raises(ServerFailed) as failure:
            remote.generate(QUESTION)
        assert said in str(failure.value)
        assert len(str(failure.value)) < 700
        assert str(failure.value).isprintable()
        server.chats(*GOOD)
        assert remote.generate(QUESTION).text == "Fine."


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ([CUT], "broke off in the middle"),
        ([], "broke off in the middle"),
        ([chunk("{nonsense")], "a piece of it is not JSON"),
        ([chunk({"error": {"message": "out of memory"}})], "failed: out of memory."),
        ([chunk({"choices": [{"delta": {"content": {}}}]})], "a text in it is something else"),
        ([HANG], "has sent nothing for 0.3 seconds"),
        *(
            ([chunk(piece(finish=reason)), chunk("[DONE]"), b"0\r\n\r\n"], "broke off in the middle")
            for reason in ("error", "abort", "cancelled")
        ),
    ],
    ids=["reset", "closed", "nonsense", "error", "wrong type", "silence", "as error", "as abort", "as cancelled"],
)
def test_what_came_before_stays(end: list[Step], said: str) -> None:
    with Scripted() as server:
        server.chats(*stream(BEGUN, done=False), *end)
        remote = connect_server(server.url, patience=Patience(between=0.3))
        events: list[Any] = []
        with pytest.raises(ServerFailed) as failure:
            collections.deque(map(events.append, remote.stream(QUESTION)))
        assert said in str(failure.value)
        assert [event.text for event in events if isinstance(event, TextEvent)] == ["Once", " upon"]
        last = events[-1]
        assert isinstance(last, Finished)
        assert (last.result.text, last.result.finish_reason) == ("Once upon", "error")
        server.chats(*GOOD)
        assert remote.generate(QUESTION).text == "Fine."


def test_silence_before_the_first_word_ends_in_words_too() -> None:
    with Scripted() as server:
        server.chats(HANG)
        remote = connect_server(server.url, patience=Patience(first=0.3))
        with pytest.raises(ServerFailed, match=r"has not answered for 0\.3 seconds"):
            remote.generate(QUESTION)


@pytest.mark.parametrize(
    "steps", [[HANG], [HEAD, HANG], [*stream(BEGUN, done=False), HANG]], ids=["mute", "head", "text"]
)
def test_a_hanging_server_can_be_left_at_once(steps: list[Step]) -> None:
    with Scripted() as server:
        server.chats(*steps)
        remote = connect_server(server.url)
        token = CancelToken()
        threading.Timer(0.2, token.cancel).start()
        began = time.monotonic()
        try:
            result = remote.generate(QUESTION, cancel=token)
            assert (result.text, result.finish_reason) == ("Once upon", "cancelled")
        except Cancelled:
            assert len(steps) < 3
        assert time.monotonic() - began < 30  # not the ten minutes of patience
        server.chats(*GOOD)
        assert remote.generate(QUESTION).text == "Fine."


def test_a_dripping_server_is_read_to_the_end() -> None:
    data = b"".join(
        each for each in stream([piece("Grüße,"), piece(" 世界", finish="stop")]) if isinstance(each, bytes)
    )
    drops: list[Step] = []
    for place in range(0, len(data), 7):
        drops += [data[place : place + 7], 0.001]
    with Scripted() as server:
        server.chats(*drops)
        assert connect_server(server.url).generate(QUESTION).text == "Grüße, 世界"


def test_comments_other_fields_and_long_events_are_nothing_special() -> None:
    body = b": still here\n\nevent: message\nid: 7\ndata: " + json.dumps(piece("One")).encode() + b"\r\n\r\n"
    two = json.dumps(piece(" two", finish="stop"), indent=1).replace("\n", "\ndata: ").encode()
    with Scripted() as server:
        server.chats(HEAD, body, b"data: ", two, b"\n\ndata: [DONE]\n\n")
        assert connect_server(server.url).generate(QUESTION).text == "One two"


def test_floods_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MOST_BYTES", 100_000)
    monkeypatch.setattr(assembler, "_MOST_LETTERS", 1_000)
    flood = b"x" * 50_000
    with Scripted() as server:
        remote = connect_server(server.url)
        server.chats(HEAD, b"data: ", *[flood] * 2000)
        with pytest.raises(ServerFailed, match="a line of the reply is longer than any should be"):
            remote.generate(QUESTION)
        server.chats(*stream([piece("y" * 400)] * 4))
        with pytest.raises(ServerFailed, match="longer than any reply should be"):
            remote.generate(QUESTION)
        server.chats(b"HTTP/1.1 500 No\r\n\r\n", *[flood] * 2000)
        with pytest.raises(ServerFailed, match=r"failed \(500\)\."):
            remote.generate(QUESTION)
        server.script["/v1/models"] = [b"HTTP/1.1 200 OK\r\n\r\n", *[flood] * 2000]
        with pytest.raises(ServerFailed, match="longer than any should be"):
            connect_server(server.url)


@pytest.mark.parametrize(
    "models", [[], {}, {"data": 3}, {"data": [3, {"id": 4}, {"id": ""}]}, {"data": None}, {"error": {"message": "no"}}]
)
def test_lists_of_models_that_are_none(models: Any) -> None:
    with Scripted({"/v1/models": as_json(models)}) as server, pytest.raises(EngineError) as failure:
        connect_server(server.url)
    assert "server at http://127.0.0.1" in str(failure.value)


def test_figures_that_cannot_be_are_not_told() -> None:
    odd = [-1, 2.5, "7", True, None, 1e400, 10**30, [], {}]
    with Scripted() as server:
        remote = connect_server(server.url)
        for value in odd:
            told: dict[str, Any] = {
                "usage": {"completion_tokens": value, "prompt_tokens": value, "prompt_tokens_details": value}
            }
            told["timings"] = {"draft_n": 3, "draft_n_accepted": value, "predicted_ms": value, "prompt_ms": value}
            server.chats(*stream([piece("Hi", finish="stop", **told)]))
            result = remote.generate(QUESTION)
            assert result.text == "Hi"
            assert {"prompt", "cached", "tokens", "acceptance"} <= set(result.stats.untold)


def test_half_a_character_is_replaced() -> None:
    with Scripted() as server:
        server.chats(*stream([r'{"choices": [{"delta": {"content": "a\ud83d b"}, "finish_reason": "stop"}]}']))
        assert connect_server(server.url).generate(QUESTION).text == "a� b"


NAMED = {"function": {"name": "n" * 300, "arguments": "a" * 300}}
FLOODS: dict[str, Callable[[int], bytes]] = {
    "lines of one event": lambda _: b"data: x\n" * 100,
    "empty lines of one event": lambda _: b"data:\n" * 100,
    "names": lambda _: calls([{"index": 0, "id": "a", "function": {"name": "n" * 300}}]),
    "arguments": lambda _: calls([{"index": 0, "id": "a", **NAMED}]),
    "ids": lambda _: calls([{"index": 0, "id": "i" * 900}]),
    "calls": lambda number: calls([{"id": str(number), **NAMED}]),
    "short pieces": lambda _: event(piece("a")),
    "short thoughts": lambda _: event(piece(thought="a")),
    "empty pieces": lambda _: event(piece()),
    "rounds": lambda number: event(piece(timings={"draft_n": number, "draft_n_accepted": number})),
}


@pytest.mark.parametrize("name", FLOODS)
def test_floods_of_every_kind_are_cut(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Whatever grows while a reply comes is bounded: lines of one event, calls, names, and pieces that say little."""
    monkeypatch.setattr(http, "MOST_BYTES", 100_000)
    monkeypatch.setattr(assembler, "_MOST_LETTERS", 10_000)
    with Scripted() as server:
        remote = connect_server(server.url)
        server.chats(HEAD, *map(FLOODS[name], range(5000)))
        with pytest.raises(ServerFailed, match=r"longer than any|malformed"):
            remote.generate(QUESTION)
        server.chats(*GOOD)
        assert remote.generate(QUESTION).text == "Fine."


def test_what_is_kept_of_an_account_does_not_grow() -> None:
    told = assembler.ReplyAssembler()
    for number in range(1000):
        told.take({"choices": [{"delta": {}, "meta_info": {f"name {number}": "x" * 100, "spec_verify_ct": number}}]})
    assert told.meta == {"spec_verify_ct": 999}


def test_counts_that_nobody_can_have_counted_are_not_told() -> None:
    odd: list[Any] = [True, -1, 2**60, 10**400, 1e300, "7", None, {}]
    pieces = [
        piece("a", timings={"draft_n": value, "draft_n_accepted": value, "predicted_n": value})
        | {"prompt_progress": each}
        for value in odd
        for each in ({"total": value, "cache": value, "processed": value}, {"total": 9, "cache": 0, "processed": value})
    ]
    with Scripted() as server:
        server.chats(*stream([*pieces, piece("", finish="stop")]))
        events = list(connect_server(server.url).stream(QUESTION))
    assert not [each for each in events if isinstance(each, RoundEvent)]
    assert {each.tokens for each in events if isinstance(each, TextEvent)} == {None}
    assert all(each.evaluated == each.total == 0 for each in events if isinstance(each, PromptProgress))
