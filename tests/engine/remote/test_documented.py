"""Servers as vLLM, SGLang and others document them: what is asked of them, and what is made of their answers."""

import json
import re
from typing import Any

import pytest

from engine.config import GenerationRequest, SamplingConfig
from engine.constraint import Constraint
from engine.errors import InvalidRequest, NotAvailable, ServerFailed
from engine.events import Event, Finished, GenerationResult, TextEvent
from engine.messages.message import Message
from engine.remote.body import make_body
from engine.remote.connect import connect_server
from engine.remote.kinds import KINDS, UNKNOWN, ServerKind
from engine.sampling_rules import RULES
from engine.stats import GenerationStats
from helpers.remote.documented import SGLANG_MODELS, VLLM_MODELS, sglang_stream, usage, vllm_metrics, vllm_stream
from helpers.remote.scripted import Scripted, answer, as_json, piece, stream

QUESTION = "Tell me a story about a fox."


def result_of(events: list[Event]) -> GenerationResult:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.result


def asked_vllm(server: Scripted, *pages: str) -> list[Event]:
    """The events of a reply of vLLM, whose counters read so before and behind it."""
    server.script["/v1/models"] = as_json(VLLM_MODELS)
    server.chats(*stream(vllm_stream()))
    server.script["/metrics"] = [answer(pages[0].encode(), kind="text/plain")]
    events: list[Event] = []
    for event in connect_server(server.url).stream(QUESTION):
        events.append(event)
        server.script["/metrics"] = [answer(pages[1].encode(), kind="text/plain")]
    return events


BEFORE = vllm_metrics(replies=5, tokens=1000, drafts=90, proposed=270, accepted=(60, 40, 20))


def test_vllm_tells_its_counters() -> None:
    with Scripted() as server:
        after = vllm_metrics(replies=6, tokens=1010, drafts=93, proposed=279, accepted=(63, 42, 21))
        events = asked_vllm(server, BEFORE, after)
        body = next(asked.body for asked in server.asked if asked.method == "POST")
    result = result_of(events)
    assert (result.text, result.reasoning) == ("A fox ran.", "Let me see. ")
    assert (result.prompt_tokens, result.prompt_evaluated, result.stats.emitted) == (17, 1, 10)
    assert (result.stats.proposed, result.stats.accepted) == (9, 6)
    assert result.stats.acceptance_by_position == (1.0, 2 / 3, 1 / 3)
    assert "acceptance" not in result.stats.untold
    assert [event.tokens for event in events if isinstance(event, TextEvent)] == [4, 7, 9]
    assert body["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}


@pytest.mark.parametrize(
    "after",
    [
        vllm_metrics(replies=7, tokens=1030, drafts=99, proposed=297, accepted=(66, 45, 23)),
        vllm_metrics(replies=6, tokens=1000, drafts=90, proposed=270, accepted=(60, 40, 20)),
        vllm_metrics(replies=6, tokens=1024, drafts=93, proposed=279, accepted=(63, 42, 21)),
        "",
    ],
    ids=["two replies", "not counted yet", "others too", "nothing"],
)
def test_counters_that_speak_of_others_too_are_not_told(after: str) -> None:
    with Scripted() as server:
        result = result_of(asked_vllm(server, BEFORE, after))
    assert "acceptance" in result.stats.untold
    assert result.to_dict()["stats"]["acceptance_rate"] is None
    assert result.stats.emitted == 10


def test_sglang_tells_its_account() -> None:
    with Scripted() as server:
        server.script["/v1/models"] = as_json(SGLANG_MODELS)
        server.chats(*stream(sglang_stream()))
        result = connect_server(server.url).generate(QUESTION, top_k=20, repeat_penalty=1.1)
        body = server.asked[-1].body
    assert (result.stats.proposed, result.stats.accepted, result.stats.emitted) == (12, 7, 12)
    assert (result.stats.rounds, result.stats.mean_length) == (4, 3.0)
    assert (body["top_k"], body["repetition_penalty"], body["return_meta_info"]) == (20, 1.1, True)


def test_a_prediction_is_told_to_a_server_of_our_own() -> None:
    body = make_body(GenerationRequest(QUESTION, prediction="A fox ran."), "m", KINDS["outrider"])
    assert body.content["prediction"] == {"type": "content", "content": "A fox ran."}
    tokens = make_body(GenerationRequest(QUESTION, prediction=(1, 2)), "m", KINDS["outrider"])
    assert "prediction" not in tokens.content
    assert "prediction" in tokens.notes[0]


def test_what_an_unknown_server_does_not_tell_is_not_guessed() -> None:
    with Scripted() as server:
        server.chats(*stream([piece("Hello"), piece(" there.", finish="stop")]))
        result = connect_server(server.url).generate(QUESTION, top_k=20, prediction="Hello.")
        body = server.asked[-1].body
    assert (result.text, result.finish_reason) == ("Hello there.", "stop")
    assert set(result.stats.untold) == {"prompt", "cached", "tokens", "acceptance", "rounds", "endings", "times"}
    told = result.to_dict()
    assert told["prompt_tokens"] is told["stats"]["emitted"] is told["stats"]["tokens_per_second"] is None
    assert told["stats"]["total_ms"] > 0
    assert result.notes == ("Not sent to the server, which has no such setting: top_k, prediction.",)
    assert set(body) == {
        *("model", "stream", "stream_options", "messages", "temperature", "top_p"),
        *("presence_penalty", "frequency_penalty"),
    }
    assert GenerationStats.from_dict(json.loads(json.dumps(told["stats"]))) == result.stats
    both = result.stats + GenerationStats(plain_tokens=3)
    assert both.untold == result.stats.untold


def test_tool_calls_come_in_pieces() -> None:
    def call(index: int, **function: str) -> dict[str, Any]:
        told = {"index": index, "id": "c7", "function": function}
        return {"choices": [{"delta": {"tool_calls": [told]}, "finish_reason": None}]}

    with Scripted() as server:
        parts = [
            call(0, name="find", arguments='{"wo'),
            call(0, arguments='rd": "fox"}'),
            call(1, name="x", arguments="{"),
        ]
        server.chats(*stream([*parts, piece("", finish="tool_calls"), {"choices": [], **usage(9)}]))
        tools = [{"name": "find", "description": "finds", "parameters": {}}]
        result = connect_server(server.url).generate(QUESTION, tools=tools)
        assert server.asked[-1].body["tools"][0]["function"]["name"] == "find"
    assert [(call.id, call.name, call.arguments) for call in result.tool_calls] == [("c7", "find", {"word": "fox"})]
    assert result.notes == ("A call of x was left out: it is not complete.",)
    assert result.message.tool_calls == result.tool_calls


def test_a_server_that_does_not_stream_is_heard_too() -> None:
    with Scripted() as server:
        whole = {"choices": [{"message": {"content": "Hi.", "reasoning_content": "Hm."}, "finish_reason": "stop"}]}
        server.chats(*as_json(whole | usage(3)))
        result = connect_server(server.url).generate(QUESTION)
    assert (result.text, result.reasoning, result.stats.emitted, result.finish_reason) == ("Hi.", "Hm.", 3, "stop")


def test_what_cannot_be_asked_is_refused() -> None:
    with Scripted() as server:
        remote = connect_server(server.url)
        with pytest.raises(NotAvailable, match="Going on with a reply"):
            remote.generate([Message("user", "Hi"), Message("assistant", "Ho")])
        with pytest.raises(NotAvailable, match="JSON of a schema"):
            remote.generate(QUESTION, constraint=Constraint.regex("a+"))
        for ask in (
            lambda: remote.count("a"),
            lambda: remote.token_text(3),
            lambda: remote.fit([Message("user", "a")]),
        ):
            with pytest.raises(NotAvailable, match="the target is a server"):
                ask()
        assert not remote.capabilities.tokens
        remote.close()
        with pytest.raises(InvalidRequest, match="was closed"):
            remote.generate(QUESTION)


def test_which_model_is_asked() -> None:
    listed = {"data": [{"id": name} for name in ("one", "two")]}
    with Scripted({"/v1/models": as_json(listed)}) as server:
        with pytest.raises(InvalidRequest, match=r"several models\. Choose one: one, two"):
            connect_server(server.url)
        with pytest.raises(InvalidRequest, match="no model 'three'"):
            connect_server(server.url, "three")
        assert connect_server(server.url, "two").model == "two"
        server.script["/v1/models"] = as_json({"data": []})
        with pytest.raises(ServerFailed, match="names no model"):
            connect_server(server.url)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://", "is no address of a server"),
        ("ftp://localhost", "is no address of a server"),
        ("http://a b", "is no address of a server"),
        ("http://localhost:99999", "is no address of a server"),
        ("http://me:secret@localhost", "cannot hold a name or a password"),
        ("http://localhost/?x=1", "has no ? and no #"),
    ],
)
def test_addresses_that_are_none(address: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(said)):
        connect_server(address)


def test_the_key_is_sent_and_never_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTRIDER_API_KEY", "secret-of-env")
    with Scripted() as server:
        server.chats(*as_json({"error": {"message": "wrong key secret-of-env"}}, 401))
        remote = connect_server(server.url)
        assert server.asked[-1].headers["authorization"] == "Bearer secret-of-env"
        with pytest.raises(ServerFailed, match="refuses the key") as failure:
            remote.generate(QUESTION)
        assert "secret" not in str(failure.value)
        monkeypatch.delenv("OUTRIDER_API_KEY")
        with pytest.raises(ServerFailed, match="wants a key"):
            connect_server(server.url).generate(QUESTION)
        assert "authorization" not in server.asked[-1].headers


@pytest.mark.parametrize("kind", [*KINDS.values(), UNKNOWN], ids=lambda kind: kind.name)
def test_every_rule_of_sampling_is_sent_or_named(kind: ServerKind) -> None:
    for rule in RULES:
        value: Any = 0.5 if rule.most == 1 else 3
        body = make_body(GenerationRequest("Hi", sampling=SamplingConfig(**{rule.name: value})), "m", kind)
        sent = {rule.name, kind.sampling.get(rule.name)} & body.content.keys()
        assert sent or rule.name in body.notes[0], rule.name
