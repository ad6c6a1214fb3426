"""The local server, asked by the openai package and by raw connections, with real models."""

import asyncio
import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any

import openai
import pytest

from engine.decoder import SpeculativeDecoder
from engine.generation import sources
from engine.library.names import bundled_pair
from engine.server.guard import Limits
from engine.server.request_queue import RequestQueue, TooMany
from helpers.decoding.ngram import two_core_cost
from helpers.decoding.serving import NAME, asked, served
from helpers.models.pairs import open_files

QUESTION: Any = [{"role": "user", "content": "Tell me a story about a fox."}]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"animal": {"enum": ["fox", "owl"]}, "age": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["animal", "age"],
    "additionalProperties": False,
}
REFUSED = {"type": "json_schema", "json_schema": {"schema": {"not": {}}}}


@pytest.fixture(scope="module")
def url(decoder: SpeculativeDecoder) -> Iterator[str]:
    with served(decoder, Limits(body_seconds=1.0, most_bytes=100_000)) as address:
        assert asked(address, "/v1/completions", b'{"prompt": "Once", "max_tokens": 1}')[0] == 200
        yield address


def test_a_chat_is_what_generate_writes(client: openai.OpenAI, decoder: SpeculativeDecoder) -> None:
    reply = client.chat.completions.create(model=NAME, messages=QUESTION, max_completion_tokens=24)
    own = decoder.generate(QUESTION, max_tokens=24)
    assert reply.choices[0].message.content == own.content
    assert reply.choices[0].finish_reason == "length"
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (own.prompt_tokens, 24)
    timings: Any = reply.model_extra["timings"] if reply.model_extra else {}
    assert timings["predicted_n"] == 24
    assert 0 <= timings["draft_n_accepted"] <= timings["draft_n"]


def test_a_stream_adds_up_to_the_whole(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model=NAME, messages=QUESTION, max_tokens=20, temperature=0.8, seed=5)
    pieces = list(
        client.chat.completions.create(
            model=NAME,
            messages=QUESTION,
            max_tokens=20,
            temperature=0.8,
            seed=5,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    told = [piece.choices[0].delta for piece in pieces if piece.choices]
    assert told[0].role == "assistant"
    assert "".join(each.content or "" for each in told) == whole.choices[0].message.content
    assert [piece.choices[0].finish_reason for piece in pieces if piece.choices][-1] == "length"
    assert pieces[-1].usage is not None
    assert whole.usage is not None
    assert pieces[-1].usage.completion_tokens == whole.usage.completion_tokens


def test_stop_logprobs_and_completions(client: openai.OpenAI, decoder: SpeculativeDecoder) -> None:
    reply = client.chat.completions.create(
        model=NAME, messages=QUESTION, max_tokens=30, stop=["."], logprobs=True, top_logprobs=3
    )
    assert "." not in (reply.choices[0].message.content or "")
    assert reply.choices[0].logprobs is not None
    listed = reply.choices[0].logprobs.content or []
    assert "".join(each.token for each in listed).startswith(reply.choices[0].message.content or "?")
    for each in listed:
        assert [top.logprob for top in each.top_logprobs] == sorted(
            (t.logprob for t in each.top_logprobs), reverse=True
        )
        assert each.logprob == pytest.approx(each.top_logprobs[0].logprob), "greedy: the best one"
    text = client.completions.create(model=NAME, prompt="Once upon a time", max_tokens=12)
    assert text.choices[0].text == decoder.generate("Once upon a time", raw=True, max_tokens=12).text
    assert decoder.target is not None
    ids = decoder.target.tokenizer.encode("Once upon a time", add_special=True, parse_special=False)
    tokens = client.completions.create(model=NAME, prompt=ids, max_tokens=3, logprobs=2)
    assert tokens.usage is not None
    assert tokens.usage.prompt_tokens == len(ids)
    assert tokens.choices[0].logprobs is not None
    assert len(tokens.choices[0].logprobs.token_logprobs or []) == 3


@pytest.mark.parametrize("stream", [False, True])
def test_a_schema_holds(client: openai.OpenAI, stream: bool) -> None:
    wanted: Any = {"type": "json_schema", "json_schema": {"name": "animal", "schema": SCHEMA, "strict": True}}
    reply: Any = client.chat.completions.create(
        model=NAME, messages=QUESTION, response_format=wanted, temperature=1.0, seed=2, stream=stream
    )
    if stream:
        said = "".join(piece.choices[0].delta.content or "" for piece in reply)
    else:
        said = reply.choices[0].message.content
    assert json.loads(said)["animal"] in ("fox", "owl")


def test_a_prediction_is_used_and_counted(client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_cost", lambda *_: two_core_cost)  # Whatever this machine does beside.

    def ask(**fields: Any) -> Any:
        return client.chat.completions.create(model=NAME, messages=QUESTION, max_tokens=24, temperature=0, **fields)

    told = ask(extra_body={"lookahead": 0})
    text = told.choices[0].message.content
    for content in (text, [{"type": "text", "text": text[:9]}, {"type": "text", "text": text[9:]}]):
        reply = ask(prediction={"type": "content", "content": content}, extra_body={"lookahead": 8})
        assert reply.choices[0].message.content == text
        counted = reply.usage.completion_tokens_details
        assert counted.accepted_prediction_tokens > 8
    wrong = ask(prediction={"type": "content", "content": "QQQQ QQQQ QQQQ"}, extra_body={"lookahead": 8})
    assert wrong.choices[0].message.content == text
    assert wrong.usage.completion_tokens_details.rejected_prediction_tokens > 0
    without = ask(extra_body={"lookahead": 4}).usage.completion_tokens_details
    assert (without.accepted_prediction_tokens, without.rejected_prediction_tokens) == (0, 0)
    for bad in ({"type": "other"}, "text", {"type": "content", "content": 7}, {"type": "content", "content": [{}]}):
        with pytest.raises(openai.BadRequestError, match="prediction"):
            ask(extra_body={"prediction": bad})


def test_tools_are_taken(client: openai.OpenAI) -> None:
    tool: Any = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    reply = client.chat.completions.create(model=NAME, messages=QUESTION, tools=[tool], max_tokens=5)
    assert reply.choices[0].finish_reason in ("length", "stop", "tool_calls")


def test_models_health_and_metrics(client: openai.OpenAI, url: str) -> None:
    assert [model.id for model in client.models.list()] == [NAME]
    assert client.models.retrieve(NAME).id == NAME
    assert asked(url, "/health") == (200, {"status": "ok"})
    client.chat.completions.create(model=NAME, messages=QUESTION, max_tokens=3)
    status, text = asked(url, "/metrics")
    assert status == 200
    counted = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert int(counted['vllm:generation_tokens_total{model_name="demo"}']) >= 3
    assert counted['vllm:num_requests_running{model_name="demo"}'] == "0"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_streams(url: str) -> None:
    body = json.dumps({"messages": QUESTION, "max_tokens": 4, "stream": True})
    ask = ["curl", "-sN", f"{url}/v1/chat/completions", "-H", "Content-Type: application/json", "-d", body]
    lines = subprocess.run(ask, capture_output=True, text=True, timeout=60, check=True).stdout.split("\n\n")
    assert lines[-2] == "data: [DONE]"
    assert all(line.startswith("data: ") for line in lines if line)


def test_a_closed_connection_ends_the_reply(url: str, decoder: SpeculativeDecoder) -> None:
    for stream in (True, False):
        decoder.reset_stats()
        host, port = url.removeprefix("http://").rsplit(":", 1)
        body = json.dumps({"messages": QUESTION, "stream": stream, "temperature": 1.5, "stop_tokens": []}).encode()
        with socket.create_connection((host, int(port)), 20) as connection:
            head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            if stream:
                assert connection.recv(1000).startswith(b"HTTP/1.1 200")
            else:
                time.sleep(0.05)
        assert asked(url, "/v1/completions", b'{"prompt": "Once", "max_tokens": 1}')[0] == 200, (
            "the engine is free again"
        )


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "not JSON"),
        (b"[]", 400, "must be a JSON object"),
        (b"[" * 50_000, 400, "not JSON"),
        (b"{}", 400, '"messages" must be a list'),
        (b'{"messages": [{"role": "user", "content": "a"}], "temperature": "hot"}', 400, "temperature"),
        (b'{"messages": [{"role": "user", "content": "a"}], "n": 17}', 400, '"n" must be a whole number from 1 to 16'),
        (b'{"messages": [{"role": "user", "content": "a"}], "max_tokens": "x"}', 400, "max_tokens"),
        (
            b'{"messages": [{"role": "user", "content": "a"}], "top_logprobs": -1, "logprobs": true}',
            400,
            "top_logprobs",
        ),
        (b'{"messages": [{"role": "user", "content": "a"}], "stream": "yes"}', 400, '"stream" must be true or false'),
        (json.dumps({"messages": QUESTION, "response_format": REFUSED}).encode(), 400, "cannot be enforced: not."),
        (
            b'{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]}',
            400,
            "cannot see pictures",
        ),
        (b'{"messages": "' + b"a" * 100_000 + b'"}', 413, "too large"),
    ],
)
def test_bad_requests_are_refused_in_words(url: str, body: bytes, status: int, said: str) -> None:
    told, answer = asked(url, "/v1/chat/completions", body)
    assert told == status
    assert said in answer["error"]["message"]


def test_unknown_fields_are_ignored_and_noted(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "outrider.server"):
        body = {"messages": QUESTION, "max_tokens": 1, "frobnicate": "SECRET"}
        assert asked(url, "/v1/chat/completions", json.dumps(body).encode())[0] == 200
    assert "frobnicate" in caplog.text
    assert "SECRET" not in caplog.text
    assert "fox" not in caplog.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "localhost:99999"}, 200),
        ({"Host": "[::1]:1"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Length": "999999999999"}, 413),
    ],
)
def test_web_pages_and_other_forms_are_kept_out(url: str, headers: dict[str, str], status: int) -> None:
    told, _ = asked(url, "/v1/completions", b'{"prompt": "Once", "max_tokens": 1}', **headers)
    assert told == status


def test_a_length_that_is_none_is_refused(url: str) -> None:
    host, port = url.removeprefix("http://").rsplit(":", 1)
    with socket.create_connection((host, int(port)), 20) as connection:
        head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Content-Length: -1\r\n\r\n")  # No body: what is left unread resets a connection.
        assert b" 400 " in connection.recv(1000)


def test_a_slow_body_is_given_up(url: str) -> None:
    host, port = url.removeprefix("http://").rsplit(":", 1)
    with socket.create_connection((host, int(port)), 20) as connection:
        head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Content-Length: 50\r\n\r\n{")
        assert asked(url, "/health")[0] == 200, "others are answered meanwhile"
        assert b" 408 " in connection.recv(1000)


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/chat", "/../etc/passwd", "/v1/models/..%2f..%2fetc", "//"])
def test_there_is_nothing_else(url: str, path: str) -> None:
    assert asked(url, path)[0] == 404


def test_a_key_is_asked_for() -> None:
    with (
        open_files(*bundled_pair()) as loaded,
        served(loaded, Limits(key="right", origins=("https://mine.example",))) as url,
    ):
        assert asked(url, "/health")[0] == 200
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer "}, {"X_Api_Key": "ä"}):
            status, answer = asked(url, "/v1/models", None, **headers)
            assert (status, answer["error"]["code"]) == (401, "invalid_api_key")
        assert asked(url, "/v1/models", Authorization="Bearer right")[0] == 200
        assert asked(url, "/v1/models", Authorization="Bearer right", Origin="https://mine.example")[0] == 200


def test_many_at_once_each_get_their_own(client: openai.OpenAI, decoder: SpeculativeDecoder) -> None:
    questions = [f"Write {word}." for word in ("one", "two", "three", "four", "five", "six")]
    replies: dict[str, str | None] = {}

    def ask(question: str) -> None:
        told: Any = [{"role": "user", "content": question}]
        reply = client.chat.completions.create(model=NAME, messages=told, max_tokens=8)
        replies[question] = reply.choices[0].message.content

    threads = [threading.Thread(target=ask, args=(question,)) for question in questions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == {question: decoder.generate(question, max_tokens=8).content for question in questions}


@pytest.mark.soak
def test_sixty_four_requests_of_eight_clients_go_round(url: str, decoder: SpeculativeDecoder) -> None:
    """None is lost or mixed up, and no client waits for more than one request of each other one."""
    ended: list[int] = []
    wrong: list[str] = []
    lock = threading.Lock()

    def ask(number: int) -> None:
        for turn in range(8):
            prompt = f"Client {number} asks for the {turn}. time"
            body = json.dumps({"prompt": prompt, "max_tokens": 24}).encode()
            status, answer = asked(url, "/v1/completions", body, X_Client_Id=str(number))
            with lock:
                ended.append(number)
                if status != 200 or answer["choices"][0]["text"] != expected[prompt]:
                    wrong.append(prompt)

    prompts = [f"Client {number} asks for the {turn}. time" for number in range(8) for turn in range(8)]
    expected = {prompt: decoder.generate(prompt, raw=True, max_tokens=24).text for prompt in prompts}
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sorted(ended) == sorted(8 * list(range(8)))
    for number in range(8):
        places = [place for place, client in enumerate(ended) if client == number]
        assert max(later - before for before, later in pairwise(places)) <= 2 * 8


def test_turns_go_round_the_clients() -> None:
    order: list[str] = []

    async def work(queue: RequestQueue, client: str, name: str) -> None:
        async with queue.take(client):
            order.append(name)
            await asyncio.sleep(0)

    async def all_of_it() -> None:
        queue = RequestQueue(5)
        names = ["a1", "a2", "a3", "b1", "a4", "b2"]
        tasks = [asyncio.create_task(work(queue, name[0], name)) for name in names]
        await asyncio.sleep(0)
        with pytest.raises(TooMany):
            await work(queue, "c", "c1")
        tasks[1].cancel()
        await asyncio.wait(tasks)
        assert (queue.running, queue.waiting) == (0, 0)

    asyncio.run(all_of_it())
    assert order == ["a1", "a3", "b1", "a4", "b2"]


def test_a_turn_is_not_lost_where_the_last_one_to_wait_has_just_left() -> None:
    """Who was cancelled counts as waiting until its task runs; whoever comes in that moment has the engine at once."""

    async def meet() -> None:
        queue = RequestQueue(9)
        async with asyncio.timeout(10):
            first, last = queue.take("first"), queue.take("last")
            await first.__aenter__()
            left = asyncio.create_task(queue.take("left").__aenter__())
            await asyncio.sleep(0)
            assert queue.waiting == 1
            left.cancel()
            await first.__aexit__(None, None, None)
            await last.__aenter__()
            assert (queue.running, queue.waiting) == (1, 1)
            with suppress(asyncio.CancelledError):
                await left
            await last.__aexit__(None, None, None)
            assert (queue.running, queue.waiting) == (0, 0)

    asyncio.run(meet())
