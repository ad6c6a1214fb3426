"""Real servers as the target: our own, and llama.cpp's where one was built."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.cancel import CancelToken
from engine.cli.main import main
from engine.errors import ServerFailed
from engine.events import Event, Finished, GenerationResult, PromptProgress, RoundEvent, TextEvent
from engine.messages.message import Message
from engine.remote.connect import connect_server
from helpers.paths import ROOT
from helpers.processes import run_engine

QUESTION = "Tell me a story about a fox."
MODELS = ROOT / "resources" / "models"
END_TOKEN = 4
"""What the bundled target ends a reply with."""
LLAMA_SERVER = os.environ.get("OUTRIDER_LLAMA_SERVER", "")
"""A server of llama.cpp, as `make bench` builds it."""


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Our own server in a process, with the bundled pair."""
    command = [sys.executable, "-m", "engine", "serve", "--port", "0", "--method", "draft-model", "--lookahead", "4"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "Ctrl+C ends it" in line)
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found is not None
        yield found[0], process
        process.send_signal(signal.SIGTERM)
        process.wait(30)


@pytest.fixture(scope="module", params=["outrider", "llama.cpp"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "outrider":
        yield request.getfixturevalue("served")[0]
        return
    if not Path(LLAMA_SERVER).is_file():
        pytest.skip("OUTRIDER_LLAMA_SERVER names no server of llama.cpp")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    target, draft = MODELS / "demo-target.Q8_0.gguf", MODELS / "demo-draft.Q8_0.gguf"
    command = [LLAMA_SERVER, "-m", str(target), "-md", str(draft), "--spec-type", "draft-simple", "--port", str(port)]
    with subprocess.Popen([*command, "-c", "2048", "-t", "1"], stderr=subprocess.DEVNULL) as process:
        try:
            yield _ready(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            process.wait(30)


def _ready(address: str) -> str:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):  # noqa: S310 - an address of this machine
                return address
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server does not come up")


def posted(address: str, body: dict[str, Any]) -> Any:
    data = json.dumps(body).encode()
    request = urllib.request.Request(f"{address}/v1/chat/completions", data, {"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
        return json.load(response)


def result_of(events: list[Event]) -> GenerationResult:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.result


def test_text_usage_and_acceptance_are_those_of_the_server(url: str) -> None:
    with connect_server(f"{url}/v1") as server:
        events = list(server.stream(QUESTION, max_tokens=60))
        result = result_of(events)
    told = posted(url, {"messages": [{"role": "user", "content": QUESTION}], "max_tokens": 60, "temperature": 0})
    assert result.text == told["choices"][0]["message"]["content"]
    assert result.text == "".join(event.text for event in events if isinstance(event, TextEvent))
    assert (result.prompt_tokens, result.stats.emitted) == (told["usage"]["prompt_tokens"], 60)
    assert told["usage"]["completion_tokens"] == 60
    assert result.finish_reason == told["choices"][0]["finish_reason"] == "length"
    timings, stats = told["timings"], result.stats
    assert (stats.proposed, stats.accepted) == (timings["draft_n"], timings["draft_n_accepted"])
    assert 0 < stats.accepted < stats.proposed
    rounds = [event for event in events if isinstance(event, RoundEvent)]
    assert sum(event.proposed for event in rounds) == stats.proposed
    assert sum(event.accepted for event in rounds) == stats.accepted
    assert any(isinstance(event, PromptProgress) for event in events)
    assert stats.tokens_per_second > 0
    assert set(stats.untold) == {"rounds", "endings", "times"}


def test_a_conversation_goes_on_and_ends_with_a_stop_string(url: str) -> None:
    with connect_server(url) as server:
        first = server.generate([Message("user", QUESTION)], max_tokens=200, stop=("fox",))
        assert (first.finish_reason, "fox" in first.text) == ("stop", False)
        again = server.generate([Message("user", QUESTION), first.message], max_tokens=5)
        assert 0 < len(again.text) < 60
        assert not again.text.startswith(first.text[:12])
        assert server.stats.emitted == first.stats.emitted + again.stats.emitted


def test_a_prompt_without_a_template(url: str) -> None:
    with connect_server(url) as server:
        result = server.generate("Once upon a time", raw=True, max_tokens=8)
        assert (result.finish_reason, result.stats.emitted) == ("length", 8)
        assert result.text


def test_json_of_a_schema(url: str) -> None:
    schema = {"type": "object", "properties": {"age": {"enum": [3, 4]}}, "required": ["age"]}
    with connect_server(url) as server:
        reply = server.generate(QUESTION, constraint={**schema, "additionalProperties": False}, max_tokens=60)
        assert json.loads(reply.text)["age"] in (3, 4)


def test_cancelling_keeps_what_came_and_the_next_reply_works(url: str) -> None:
    with connect_server(url) as server:
        cancel = CancelToken()
        events = []
        for event in server.stream(QUESTION, max_tokens=400, cancel=cancel):
            events.append(event)
            if len([each for each in events if isinstance(each, TextEvent)]) == 3:
                cancel.cancel()
        result = result_of(events)
        assert (result.finish_reason, bool(result.text)) == ("cancelled", True)
        assert server.generate(QUESTION, max_tokens=3).stats.emitted == 3


def test_whoever_reads_a_piece_may_end_the_reply(url: str) -> None:
    with connect_server(url) as server:
        seen: list[str] = []

        def note(event: TextEvent) -> bool:
            seen.append(event.text)
            return len(seen) < 4

        result = server.generate(QUESTION, on_text=note)
        assert (result.finish_reason, result.text, len(seen)) == ("stop", "".join(seen), 4)


def test_it_streams_to_an_event_loop(url: str) -> None:
    async def read() -> list[Event]:
        with connect_server(url) as server:
            return [event async for event in server.astream(QUESTION, max_tokens=6)]

    assert result_of(asyncio.run(read())).stats.emitted == 6


def test_a_server_that_is_killed_leaves_the_partial_reply() -> None:
    command = [sys.executable, "-m", "engine", "serve", "--port", "{port}"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"

    def started() -> subprocess.Popen[bytes]:
        process = subprocess.Popen([*command[:-1], str(port)], cwd=ROOT, stderr=subprocess.DEVNULL)
        _ready(address)
        return process

    process = started()
    server = connect_server(address)
    events: list[Event] = []
    try:

        def listen() -> None:
            # Without an end of its own it is long enough that the server is killed before it is over.
            for event in server.stream(QUESTION, temperature=1.0, seed=1, logit_bias={END_TOKEN: -100}):
                events.append(event)
                if isinstance(event, TextEvent) and len(events) == 8:
                    process.kill()

        with pytest.raises(ServerFailed, match="broke off in the middle") as failure:
            listen()
        assert len(str(failure.value).splitlines()) == 1
        result = result_of(events)
        assert result.finish_reason == "error"
        assert result.text == "".join(event.text for event in events if isinstance(event, TextEvent))
        assert result.text
        process.wait(10)
        with pytest.raises(ServerFailed, match="Check that it is running"):
            server.generate(QUESTION)
        process = started()
        assert server.generate(QUESTION, max_tokens=4).stats.emitted == 4
    finally:
        server.close()
        process.kill()
        process.wait(10)


def test_the_command_line(served: tuple[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    address, _ = served
    done = run_engine("generate", "--target", address, "--json", "--max-tokens", "12", QUESTION)
    told = json.loads(done.stdout)
    assert (done.returncode, told["stats"]["emitted"], told["server"]) == (0, 12, address)
    assert told["server_kind"] == "Outrider"
    assert (told["stats"]["rounds"], told["tokens"]) == (None, [])
    assert main(["generate", "--target", address, "--lookahead", "0", "--json", "--max-tokens", "12", QUESTION]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert (plain["stats"]["proposed"], plain["text"]) == (0, told["text"])
    assert main(["generate", "--target", address, "--max-tokens", "12", QUESTION]) == 0
    written = capsys.readouterr()
    assert written.out.strip() == told["text"].strip()
    assert re.match(r"12 tokens · [\d.]+ tok/s · \d+ % accepted · server, finish reason: length", written.err)
    for options, said in (
        (("--target", address, "--draft", "demo"), "A server drafts by itself: omit --draft."),
        (("--target", address, "--ctx", "99", "--threads", "1"), "omit --ctx, --threads."),
        (("--target", address, "--model", "other"), "has no model 'other'. It has: demo-target.Q8_0."),
        (("--model", "other"), "pass its address as --target"),
        (("--target", "http://127.0.0.1:1"), "Cannot reach the server at http://127.0.0.1:1."),
    ):
        assert main(["generate", *options, QUESTION]) == 2
        complaint = capsys.readouterr().err
        assert said in complaint
        assert len(complaint.splitlines()) == 1
