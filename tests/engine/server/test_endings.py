"""How replies of the server end: what broke off is never told as complete, and whose fault it was is told by status."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

from engine.decoder import SpeculativeDecoder
from engine.errors import BackendFailure, EngineError, LoadFailed, ModelTooLarge
from engine.server.guard import Limits
from engine.server.registry import ModelRegistry, Offer
from helpers.decoding.serving import NAME, posted, served
from helpers.models.pairs import open_files

QUESTION: Any = [{"role": "user", "content": "Tell me a story about a fox."}]
END_TOKEN = 4
CHAT = {"messages": QUESTION, "max_tokens": 1500, "logit_bias": {str(END_TOKEN): -100}}
"""Too long to be over before something happens to it."""
INTERFACES = {
    "/v1/chat/completions": CHAT,
    "/v1/completions": {"prompt": "Once", "max_tokens": 1500, "logit_bias": {str(END_TOKEN): -100}},
    "/v1/responses": {"input": "Once", "max_output_tokens": 1500, "logit_bias": {str(END_TOKEN): -100}},
    "/v1/messages": CHAT,
    "/completion": {"prompt": "Once", "n_predict": 1500, "logit_bias": {str(END_TOKEN): -100}},
    "/api/chat": {**CHAT, "stream": False},
}
ENDS = (
    '"finish_reason":"',
    "response.completed",
    "response.incomplete",
    "output_item.done",
    "message_delta",
    '"stop":true',
    '"done":true',
)
"""What clients take for the end of a reply."""


@pytest.fixture(scope="module")
def url(decoder: SpeculativeDecoder) -> Iterator[str]:
    with served(decoder, Limits(), ollama=True) as address:
        for path, body in (("/v1/completions", {"prompt": "a", "max_tokens": 1}), ("/tokenize", {"content": "a"})):
            assert posted(address, path, body)[0] == 200
        yield address


@pytest.fixture
def breaks(decoder: SpeculativeDecoder, monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Have the target fail at its twelfth forward from now on."""

    def fail_with(error: Exception) -> None:
        forward, left = decoder.target.forward, [12]  # type: ignore[union-attr]

        def broken(*given: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise error
            return forward(*given)

        monkeypatch.setattr(decoder.target, "forward", broken)

    return fail_with


@contextmanager
def changed_midway(decoder: SpeculativeDecoder) -> Iterator[None]:
    """Attach the draft anew as soon as a reply is being written, as somebody does at the window."""
    draft, over = decoder.draft, threading.Event()

    def change() -> None:
        while not over.is_set():
            if decoder._model_lock._token is not None:
                over.wait(0.2)
                decoder.attach_draft(draft)
                return
            over.wait(0.005)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(30)


def told(answer: Any) -> str:
    """The message of an error; Ollama's interface tells nothing beside it."""
    return str(answer["error"] if isinstance(answer["error"], str) else answer["error"]["message"])


@pytest.mark.parametrize("path", INTERFACES)
def test_a_reply_that_fails_midway_has_no_end(url: str, path: str, breaks: Callable[[Exception], None]) -> None:
    breaks(BackendFailure("the card is gone", 7))
    status, answer = posted(url, path, INTERFACES[path])
    assert status == 500
    assert "the card is gone" in told(answer)
    assert path == "/api/chat" or answer["error"]["type"] in ("server_error", "api_error")


@pytest.mark.parametrize("path", INTERFACES)
def test_a_stream_that_fails_midway_has_no_end(url: str, path: str, breaks: Callable[[Exception], None]) -> None:
    breaks(BackendFailure("the card is gone", 7))
    status, text = posted(url, path, {**INTERFACES[path], "stream": True})
    assert status == 200
    assert "the card is gone" in text
    assert not [end for end in ENDS if end in text]


@pytest.mark.logs("A reply broke off")
def test_a_stream_that_an_unknown_error_ends_says_so(url: str, breaks: Callable[[Exception], None]) -> None:
    breaks(ZeroDivisionError("nobody knows it"))
    _, text = posted(url, "/v1/chat/completions", {**CHAT, "stream": True})
    assert "Its log says more." in text
    assert "nobody knows it" not in text
    assert not [end for end in ENDS if end in text]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", INTERFACES)
def test_a_reply_that_a_change_of_models_cuts_is_told_so(
    url: str, decoder: SpeculativeDecoder, path: str, stream: bool
) -> None:
    with changed_midway(decoder):
        status, answer = posted(url, path, {**INTERFACES[path], "stream": stream})
    if stream:
        assert "The reply was cancelled." in answer
        assert not [end for end in ENDS if end in answer]
    else:
        assert status == 503
        assert "was cancelled" in told(answer)
    assert posted(url, path, {**INTERFACES[path], "max_tokens": 2, "max_output_tokens": 2})[0] == 200


def test_one_of_several_replies_that_is_cut_ends_all(url: str, decoder: SpeculativeDecoder) -> None:
    with changed_midway(decoder):
        status, _ = posted(url, "/v1/chat/completions", {**CHAT, "n": 3})
    assert status == 503


def test_clients_libraries_raise_what_broke_off(url: str, breaks: Callable[[Exception], None]) -> None:
    breaks(BackendFailure("the card is gone"))
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        with pytest.raises(openai.InternalServerError, match="the card is gone"):
            client.chat.completions.create(model=NAME, messages=QUESTION)
        with pytest.raises(openai.APIError, match="the card is gone"):
            list(client.chat.completions.create(model=NAME, messages=QUESTION, stream=True))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (LoadFailed("a.gguf", "it is damaged."), 500),
        (ModelTooLarge("a.gguf", 2**40, 2**30), 503),
        (BackendFailure("the card is gone"), 500),
    ],
)
def test_what_the_engine_cannot_do_is_not_the_clients_fault(error: EngineError, status: int) -> None:
    def load(_: object) -> Any:
        raise error

    with served(ModelRegistry([Offer("a", load, load)]), Limits(), ollama=True) as address:
        for path, body in (*INTERFACES.items(), ("/tokenize", {"content": "a"}), ("/v1/embeddings", {"input": "a"})):
            for stream in (False, True):
                said, answer = posted(address, path, {**body, "stream": stream})
                assert (said, told(answer)) == (status, str(error))


def test_a_file_that_is_gone_is_the_servers_fault(tmp_path: Path) -> None:
    def load(_: object) -> SpeculativeDecoder:
        return open_files(tmp_path / "gone.gguf", None)

    with served(ModelRegistry([Offer("gone", load)]), Limits()) as address:
        status, answer = posted(address, "/v1/completions", {"prompt": "Once"})
    assert (status, answer["error"]["type"]) == (500, "server_error")


NO_FLAGS: tuple[Any, ...] = (1, 0, 1.0, 0.0, "true", [], {})


def test_flags_are_true_or_false(url: str) -> None:
    flags = [
        ("/v1/chat/completions", {"messages": QUESTION, "max_tokens": 1}, "stream"),
        ("/v1/chat/completions", {"messages": QUESTION, "max_tokens": 1}, "logprobs"),
        *((path, {**body, "max_tokens": 1, "max_output_tokens": 1}, "stream") for path, body in INTERFACES.items()),
        *(("/tokenize", {"content": "a"}, name) for name in ("with_pieces", "add_special", "parse_special")),
    ]
    for path, body, name in flags:
        for value in NO_FLAGS[4 * (name == "logprobs") :]:  # A number says how many, as with llama.cpp.
            status, answer = posted(url, path, {**body, name: value})
            assert (status, "true or false" in told(answer)) == (400, True), (path, name, value)
        assert posted(url, path, {**body, name: None})[0] == 200
    for inner in ({"stream_options": {"include_usage": 1}}, {"chat_template_kwargs": {"enable_thinking": 0}}):
        assert posted(url, "/v1/chat/completions", {"messages": QUESTION, "max_tokens": 1, **inner})[0] == 400
    chosen = {"messages": QUESTION, "max_tokens": 1, "logprobs": True, "top_logprobs": True}
    assert posted(url, "/v1/chat/completions", chosen)[0] == 400


def test_each_interface_reads_only_what_it_has(url: str, caplog: pytest.LogCaptureFixture) -> None:
    body = {"messages": QUESTION, "max_tokens": 6, "n": 2, "stop": [" ", "e", "a"]}
    told = {
        "input": "Tell me a story about a fox.",
        "max_output_tokens": 6,
        "n": 2,
        "stop": [" ", "e"],
        "max_tokens": 1,
    }
    with caplog.at_level("INFO", "outrider.server"):
        status, message = posted(url, "/v1/messages", body)
        _, stream = posted(url, "/v1/messages", {**body, "stream": True})
        _, response = posted(url, "/v1/responses", told)
    assert (status, message["usage"]["output_tokens"], message["stop_reason"]) == (200, 6, "max_tokens")
    assert stream.count("event: content_block_start") == stream.count("event: message_delta") == 1
    assert (response["usage"]["output_tokens"], len(response["output"])) == (6, 1)
    assert "/v1/messages: left out: 'n'; 'stop'" in caplog.text
    assert "'n'; 'stop'" in caplog.text.partition("/v1/responses: left out: ")[2].splitlines()[0]
    wrong = posted(url, "/v1/messages", {**body, "n": "many"})
    assert wrong[0] == 200, "what is not read cannot be wrong"
    assert len(posted(url, "/v1/completions", {"prompt": "Once", "max_tokens": 2, "n": 2})[1]["choices"]) == 2
