"""The server's further interfaces: responses, messages, several replies, tokens, gaps and embeddings."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest

from engine.backends.llama_cpp.embedding import LlamaCppEmbedder
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import BackendClosed, ModelNotSupported
from engine.events import Event, Finished, GenerationResult, TokenEvent
from engine.formats.gguf import types
from engine.library.names import bundled_pair
from engine.loading.open import open_embedder
from engine.messages.parts import ToolCall
from engine.server.guard import Limits
from engine.server.interfaces.form import Form, ReplyContext
from engine.server.interfaces.messages import MessageForm
from engine.server.interfaces.replies import ReplyForm
from engine.server.interfaces.responses import ResponsesForm
from engine.server.registry import ModelRegistry, Offer
from engine.stats import GenerationStats
from helpers.decoding.serving import NAME, posted, served
from helpers.models.gguf_writer import Entry, GgufDraft
from helpers.models.marked_models import write_marked_gguf
from helpers.models.pairs import open_files
from helpers.models.random_bert import write_random_bert
from helpers.paths import SHARED_MODELS

QUESTION: Any = [{"role": "user", "content": "Tell me a story about a fox."}]
STORIES = SHARED_MODELS / "gguf" / "stories260K-F32.gguf"
GAP = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")


@pytest.fixture(scope="module")
def url(decoder: SpeculativeDecoder) -> Iterator[str]:
    with served(decoder, Limits()) as address:
        for path, body in (("/v1/completions", {"prompt": "a", "max_tokens": 1}), ("/tokenize", {"content": "a"})):
            assert posted(address, path, body)[0] == 200
        yield address


def events_of(text: str) -> list[dict[str, Any]]:
    """The events of a stream, each of which is named by its type."""
    found = []
    for block in text.strip().split("\n\n"):
        head, data = block.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert head == f"event: {found[-1]['type']}"
    return found


def test_a_response_is_what_generate_writes(client: openai.OpenAI, decoder: SpeculativeDecoder) -> None:
    reply = client.responses.create(model=NAME, input="Tell me a story about a fox.", max_output_tokens=24)
    own = decoder.generate(QUESTION, max_tokens=24)
    assert reply.output_text == own.content
    assert reply.status == "incomplete"
    assert reply.incomplete_details is not None
    assert reply.incomplete_details.reason == "max_output_tokens"
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (own.prompt_tokens, 24)


def test_a_streamed_response_adds_up(client: openai.OpenAI, decoder: SpeculativeDecoder) -> None:
    history: Any = [
        {"role": "user", "content": [{"type": "input_text", "text": "Hello!"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]},
        {"role": "user", "content": "Tell me a story about a fox."},
    ]
    with client.responses.stream(model=NAME, input=history, instructions="Be kind.", max_output_tokens=16) as stream:
        events = list(stream)
    kinds = [event.type for event in events]
    final: Any = events[-1]
    messages = [("system", "Be kind."), ("user", "Hello!"), ("assistant", "Hi."), ("user", QUESTION[0]["content"])]
    own = decoder.generate([{"role": role, "content": text} for role, text in messages], max_tokens=16)
    assert final.response.output_text == own.content
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.incomplete"
    assert "response.output_text.delta" in kinds
    assert kinds.count("response.output_item.done") == 1


def test_a_response_in_a_schema_with_logprobs(client: openai.OpenAI) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"age": {"enum": [1, 2]}}, "required": ["age"]}
    schema["additionalProperties"] = False
    wanted: Any = {"format": {"type": "json_schema", "name": "age", "schema": schema}}
    reply = client.responses.create(
        model=NAME, input="Hi", text=wanted, include=["message.output_text.logprobs"], top_logprobs=2
    )
    assert json.loads(reply.output_text)["age"] in (1, 2)
    content: Any = reply.output[0]
    assert "".join(each["token"] for each in content.model_dump()["content"][0]["logprobs"]) == reply.output_text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"input": 3}, '"input" must be'),
        ({"input": "a", "previous_response_id": "resp_1"}, "is not kept here"),
        ({"input": "a", "conversation": "conv_1"}, "No conversations are kept"),
        ({"input": "a", "tools": 3}, '"tools" must be a list'),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "needs an address"),
        (
            {
                "input": [
                    {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA=="}]}
                ]
            },
            "cannot see pictures",
        ),
        ({"input": "a", "tool_choice": "sometimes"}, '"tool_choice" must be'),
    ],
)
def test_responses_that_are_refused(url: str, body: object, said: str) -> None:
    status, answer = posted(url, "/v1/responses", body)
    assert status == 400
    assert said in answer["error"]["message"]


def test_a_message_is_what_generate_writes(url: str, decoder: SpeculativeDecoder) -> None:
    body = {"model": NAME, "max_tokens": 24, "system": [{"type": "text", "text": "Be kind."}], "messages": QUESTION}
    status, reply = posted(url, "/v1/messages", body)
    own = decoder.generate([{"role": "system", "content": "Be kind."}, *QUESTION], max_tokens=24)
    assert status == 200
    assert reply["content"] == [{"type": "text", "text": own.content}]
    assert (reply["type"], reply["role"], reply["stop_reason"]) == ("message", "assistant", "max_tokens")
    counted = reply["usage"]
    assert counted["input_tokens"] + counted["cache_read_input_tokens"] == own.prompt_tokens
    assert counted["output_tokens"] == 24
    stops, word = {**body, "max_tokens": 200, "stop_sequences": ["zzz", "."]}, "."
    _, stopped = posted(url, "/v1/messages", stops)
    assert (stopped["stop_reason"], stopped["stop_sequence"]) == ("stop_sequence", word)
    status, count = posted(url, "/v1/messages/count_tokens", {k: v for k, v in body.items() if k != "max_tokens"})
    assert (status, count) == (200, {"input_tokens": own.prompt_tokens})


def test_a_streamed_message_adds_up(url: str) -> None:
    body = {"max_tokens": 20, "messages": QUESTION}
    _, whole = posted(url, "/v1/messages", body)
    status, text = posted(url, "/v1/messages", body | {"stream": True})
    events = events_of(text)
    kinds = [event["type"] for event in events]
    assert status == 200
    assert kinds[:3] == ["message_start", "ping", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    said = "".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta")
    assert said == whole["content"][0]["text"]
    assert events[-2]["delta"]["stop_reason"] == "max_tokens"
    assert events[-2]["usage"]["output_tokens"] == 20


def test_calls_and_their_results_are_read(url: str) -> None:
    messages = [
        *QUESTION,
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": ""},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"where": "here"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "nothing"}]},
    ]
    tools = [{"name": "look", "description": "Look.", "input_schema": {"type": "object"}}]
    status, reply = posted(url, "/v1/messages", {"max_tokens": 4, "messages": messages, "tools": tools})
    assert status == 200, reply
    assert reply["usage"]["output_tokens"] == 4


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"messages": [], "max_tokens": 1}, 400, "invalid_request_error"),
        ({"messages": [{"role": "critic", "content": "a"}], "max_tokens": 1}, 400, "invalid_request_error"),
        ({"messages": QUESTION, "max_tokens": -5}, 400, "invalid_request_error"),
    ],
)
def test_messages_that_are_refused(url: str, body: object, status: int, kind: str) -> None:
    told, answer = posted(url, "/v1/messages", body)
    assert (told, answer["type"], answer["error"]["type"]) == (status, "error", kind)


def told_by(form: Form) -> str:
    """What a stream of this form says of a reply that thinks, answers and calls."""
    call = ToolCall("", "look", {"where": "here"})
    stats = GenerationStats(plain_tokens=3)
    result = GenerationResult("…", (1, 2, 3), 7, 5, "stop", "a", 0, stats, 0, "Hm.", "Yes.", (call,))
    told: list[Event] = [
        TokenEvent(1, "", "plain", 1, 0, -0.1, channel="reasoning", added=(("reasoning", "Hm."),)),
        TokenEvent(2, "", "plain", 2, 1, -0.1, added=(("content", "Yes."),)),
        Finished(result),
    ]
    data = b""
    for event in told:
        form.note(0, event)
        data += b"".join(form.pieces(0, event))
    return (data + b"".join(form.end())).decode()


def test_thoughts_and_calls_are_parts_of_their_own() -> None:
    events = events_of(told_by(MessageForm(NAME, ReplyContext())))
    blocks = [event["content_block"]["type"] for event in events if event["type"] == "content_block_start"]
    assert blocks == ["thinking", "text", "tool_use"]
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    given = next(event for event in events if event.get("delta", {}).get("type") == "input_json_delta")
    assert json.loads(given["delta"]["partial_json"]) == {"where": "here"}
    events = events_of(told_by(ResponsesForm(NAME, ReplyContext(), {})))
    final = openai.types.responses.Response.model_validate(events[-1]["response"])
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call"]
    assert final.output_text == "Yes."
    assert final.usage is not None
    assert final.usage.output_tokens_details.reasoning_tokens == 1
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    chunks = [
        line[6:] for line in told_by(ReplyForm("chat", NAME, ReplyContext())).splitlines() if line.startswith("data: {")
    ]
    deltas = [json.loads(chunk)["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0]["reasoning_content"] == "Hm."
    assert deltas[2]["tool_calls"][0]["function"]["arguments"] == '{"where": "here"}'


@pytest.mark.parametrize("stream", [False, True])
def test_several_replies_differ(client: openai.OpenAI, stream: bool) -> None:
    reply: Any = client.chat.completions.create(
        model=NAME, messages=QUESTION, n=3, seed=4, temperature=1.0, max_tokens=12, stream=stream
    )
    said = ["", "", ""]
    if stream:
        for piece in reply:
            for choice in piece.choices:
                said[choice.index] += choice.delta.content or ""
    else:
        said = [choice.message.content for choice in reply.choices]
        assert reply.usage.completion_tokens == 36
    assert len(set(said)) == 3
    again: Any = client.chat.completions.create(model=NAME, messages=QUESTION, seed=5, temperature=1.0, max_tokens=12)
    assert again.choices[0].message.content == said[1], "each has the next seed"


def test_logit_bias_and_penalties_are_heard(client: openai.OpenAI, decoder: SpeculativeDecoder) -> None:
    plain = decoder.generate(QUESTION, max_tokens=12)
    changed = client.chat.completions.create(
        model=NAME, messages=QUESTION, max_tokens=12, logit_bias={str(plain.tokens[0]): -100}, frequency_penalty=1.5
    )
    own = decoder.generate(QUESTION, max_tokens=12, logit_bias={plain.tokens[0]: -100}, frequency_penalty=1.5)
    assert changed.choices[0].message.content == own.content != plain.content


def test_tokens_of_texts_and_back(url: str, decoder: SpeculativeDecoder) -> None:
    text = "Once upon a time"
    status, told = posted(url, "/tokenize", {"content": text})
    assert (status, told["tokens"]) == (200, decoder.encode(text))
    assert told["count"] == len(told["tokens"])
    assert posted(url, "/detokenize", {"tokens": told["tokens"]})[1]["content"] == text
    _, pieces = posted(url, "/tokenize", {"content": text, "with_pieces": True})
    assert "".join(each["piece"] for each in pieces["tokens"]) == text
    own = decoder.generate(QUESTION, max_tokens=1)
    assert posted(url, "/tokenize", {"messages": QUESTION})[1]["count"] == own.prompt_tokens
    for path, body in (
        ("/tokenize", {"content": 3}),
        ("/detokenize", {"tokens": [-1]}),
        ("/detokenize", {"tokens": "a"}),
    ):
        assert posted(url, path, body)[0] == 400


def test_gaps_are_filled_by_models_that_can(url: str, tmp_path: Path) -> None:
    body = {"input_prefix": "Once upon a ", "input_suffix": " there was a fox.", "n_predict": 5}
    status, answer = posted(url, "/infill", body)
    assert status == 400
    assert "cannot fill gaps" in answer["error"]["message"]
    if not STORIES.exists():
        pytest.skip("the shared models are not here")
    draft = GgufDraft.of_file(STORIES)
    texts, kinds = draft.entries["tokenizer.ggml.tokens"], draft.entries["tokenizer.ggml.token_type"]
    for token, mark in zip((508, 509, 510), GAP, strict=True):
        texts.value[token], kinds.value[token] = mark, 3
    path = tmp_path / "gaps.gguf"
    draft.write(path)
    with open_files(path, None) as loaded, served(loaded, Limits()) as other:
        _, reply = posted(other, "/infill", body)
        begin = loaded.encode("", add_special=True)
        prompt = [*begin, 508, *loaded.encode("Once upon a "), 509, *loaded.encode(" there was a fox."), 510]
        assert reply["content"] == loaded.generate(prompt, max_tokens=5).text
        assert (reply["tokens_predicted"], reply["tokens_evaluated"], reply["stop_type"]) == (5, len(prompt), "limit")
        told = {"prompt": body["input_prefix"], "suffix": body["input_suffix"], "max_tokens": 5}
        assert posted(other, "/v1/completions", told)[1]["choices"][0]["text"] == reply["content"]
        several = {**told, "prompt": [body["input_prefix"], "A fox "]}
        choices = posted(other, "/v1/completions", several)[1]["choices"]
        assert [choice["text"] for choice in choices][:1] == [reply["content"]]


@pytest.mark.parametrize(
    "marks",
    [
        ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
        ("<\uff5cfim\u2581begin\uff5c>", "<\uff5cfim\u2581hole\uff5c>", "<\uff5cfim\u2581end\uff5c>"),
        ("<a>", "<b>", "<c>"),
    ],
)
def test_a_suffix_is_written_as_the_file_says(marks: tuple[str, str, str], tmp_path: Path) -> None:
    """By names that families have, or by what the file names: token for token as by hand."""
    if not STORIES.exists():
        pytest.skip("the shared models are not here")
    kinds = ("prefix", "suffix", "middle") if marks[0] == "<a>" else ()
    ids = {f"ggml__{kind}_token_id": Entry(types.UINT32, 509 + place) for place, kind in enumerate(kinds)}
    path = write_marked_gguf(STORIES, tmp_path / "gaps.gguf", marks, **ids)
    with open_files(path, None) as loaded, served(loaded, Limits()) as other:
        before, behind = "Once upon a ", " there was <fim_middle> a fox."
        asked_for = {"prompt": before, "suffix": behind, "max_tokens": 6}
        told = posted(other, "/v1/completions", asked_for)[1]["choices"][0]["text"]
        prompt = [*loaded.encode("", add_special=True), 509, *loaded.encode(before), 510, *loaded.encode(behind), 511]
        assert told == loaded.generate(prompt, max_tokens=6).text


@pytest.fixture(scope="module")
def embedding_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real model, whose file says that the states of its tokens are to be averaged."""
    if not STORIES.exists():
        pytest.skip("the shared models are not here")
    draft = GgufDraft.of_file(STORIES)
    draft.entries["llama.pooling_type"] = Entry(types.UINT32, 1)
    path = tmp_path_factory.mktemp("embedding") / "pooled.gguf"
    draft.write(path)
    return path


def test_embeddings(embedding_file: Path, decoder: SpeculativeDecoder) -> None:
    registry = ModelRegistry(
        [Offer("vectors", embed=lambda cancel: open_embedder(LoadConfig(embedding_file), cancel=cancel))],
        decoder=decoder,
        name=NAME,
    )
    texts = ["Once upon a time", "there was a little girl", "Once upon a tree"]
    with (
        served(registry, Limits()) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        told = client.embeddings.create(model="vectors", input=texts)
        vectors = np.array([each.embedding for each in told.data])
        short = client.embeddings.create(model="vectors", input=texts[0], dimensions=8, encoding_format="float")
        packed = posted(url, "/v1/embeddings", {"input": texts[0], "encoding_format": "base64"})[1]
        with pytest.raises(openai.BadRequestError, match="makes no embeddings"):
            client.embeddings.create(model=NAME, input="a")
        with pytest.raises(openai.BadRequestError, match="is an embedding model"):
            client.chat.completions.create(model="vectors", messages=QUESTION)
        for wrong in ([], "", ["a", ""], [1, "a"], 3):
            assert posted(url, "/v1/embeddings", {"model": "vectors", "input": wrong})[0] == 400
    assert [model.name for model in registry._offers.values()] == [NAME, "vectors"]
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert vectors[0] @ vectors[2] > vectors[0] @ vectors[1], "texts that begin alike are closer"
    cut = vectors[0][:8] / np.linalg.norm(vectors[0][:8])
    assert np.array(short.data[0].embedding) == pytest.approx(cut, abs=1e-5)
    data = np.frombuffer(base64.b64decode(packed["data"][0]["embedding"]), "<f4")
    assert data == pytest.approx(vectors[0], abs=1e-6)
    embedder = LlamaCppEmbedder.open(LoadConfig(embedding_file, trusted=True))
    counts = sum(len(embedder.encode(text)) for text in texts)
    embedder.close()
    assert told.usage.prompt_tokens == counts


def test_a_model_that_only_encodes(tmp_path: Path) -> None:
    """Its weights are of chance; it passes the trial, and a text has the same vector each time."""
    embedder = open_embedder(LoadConfig(write_random_bert(tmp_path / "bert.gguf")))
    texts = ("once upon a time", "fox", "once upon a time")
    first, other, again = (embedder.embed(embedder.encode(text)) for text in texts)
    embedder.close()
    assert np.array_equal(first, again)
    assert np.linalg.norm(first) == pytest.approx(1.0, abs=1e-5)
    assert not np.allclose(first, other, atol=1e-3)
    with pytest.raises(BackendClosed):
        embedder.embed([1, 2])
    with pytest.raises(ModelNotSupported, match="no embedding model"):
        open_embedder(LoadConfig(bundled_pair()[0]))
