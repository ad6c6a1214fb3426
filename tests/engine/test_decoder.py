"""The decoder as a caller sees it: models, prompts, callbacks, iterators, figures, ending."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.backends.base import Logits
from engine.config import GenerationRequest, LoadConfig, SamplingConfig, SpeculationConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import (
    InvalidLookahead,
    InvalidRequest,
    InvalidSampling,
    LoadFailed,
    ModelFileBroken,
    ModelNotLoaded,
    ModelNotSupported,
    NotAvailable,
    PairWarning,
    TextNotEncodable,
    TokenOutOfRange,
    UnknownMethod,
    VocabularyMismatch,
)
from engine.events import Event, Finished, RoundEvent, TokenEvent
from engine.loaded import load
from engine.methods import DraftMethod
from engine.stats import GenerationStats
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.fakes import ScriptedBackend, letters, recite

PROMPT = [1, 2]
DRAWN: dict[str, Any] = {"temperature": 1.0, "seed": 3, "max_tokens": 24}


def _decoder(**options: Any) -> SpeculativeDecoder:
    decoder = SpeculativeDecoder(**options)
    decoder.attach_target(FakeBackend(8, 1))
    decoder.attach_draft(FakeBackend(8, 1, sharpness=0.8))
    return decoder


def test_generating_without_a_target() -> None:
    decoder = SpeculativeDecoder()
    assert not decoder.is_loaded
    with pytest.raises(ModelNotLoaded, match="No target model is loaded"):
        decoder.generate("hi")
    decoder.attach_target(FakeBackend())
    assert decoder.is_loaded
    assert decoder.generate(PROMPT, max_tokens=2).method == "ngram"
    assert decoder.generate(PROMPT, max_tokens=2, lookahead=4).method == "autoregressive"


def test_draft_method_without_a_draft() -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_target(FakeBackend())
    with pytest.raises(ModelNotLoaded, match="No draft model"):
        decoder.generate(PROMPT, method="draft-model")


def test_draft_first_then_target() -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_draft(FakeBackend(8, 2))
    with pytest.raises(ModelNotLoaded):
        decoder.generate(PROMPT)
    decoder.attach_target(FakeBackend(8, 1))
    assert decoder.generate(PROMPT, max_tokens=4).method == "draft-model"


def test_draft_can_be_taken_off() -> None:
    decoder = _decoder()
    assert decoder.generate(PROMPT, max_tokens=2).method == "draft-model"
    decoder.attach_draft(None)
    assert decoder.draft is None
    assert decoder.generate(PROMPT, max_tokens=2).method == "ngram"
    assert decoder.generate(PROMPT, max_tokens=2, lookahead=4).method == "autoregressive"


def test_draft_without_any_text_is_refused_and_the_old_one_stays() -> None:
    decoder = _decoder()
    old = decoder.draft
    other = ScriptedBackend([b""] * 300, recite([]))
    with pytest.raises(VocabularyMismatch, match="cannot draft for"):
        decoder.attach_draft(other)
    assert decoder.draft is old
    assert decoder.generate(PROMPT, max_tokens=4).method == "draft-model"


@pytest.mark.parametrize("content", [b"", b"GGUF", b"not a model at all" * 99])
def test_broken_file_is_refused_and_the_old_model_stays(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    decoder = _decoder()
    old = decoder.target
    with pytest.raises(ModelFileBroken, match=r"Cannot load broken\.gguf: "):
        decoder.attach_target(path)
    assert decoder.target is old
    assert decoder.generate(PROMPT, max_tokens=2).stats.emitted == 2


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match="there is no such file"):
        load(tmp_path / "nowhere.gguf")
    with pytest.raises(ModelNotSupported, match=r"no config\.json"):
        load(tmp_path)


def test_load_takes_backends() -> None:
    with load(FakeBackend(8, 1), FakeBackend(8, 2)) as decoder:
        assert decoder.generate(PROMPT, max_tokens=4).stats.emitted == 4
    assert not decoder.is_loaded
    decoder.close()
    with pytest.raises(ModelNotLoaded):
        decoder.generate(PROMPT)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"temperature": -1}, InvalidSampling),
        ({"lookahead": 33}, InvalidLookahead),
        ({"method": "magic"}, UnknownMethod),
        ({"method": DraftMethod("later", "Later", "what no version can do yet is proposed")}, NotAvailable),
        ({"method": "eagle2"}, ModelNotLoaded),
        ({"max_tokens": 0}, InvalidRequest),
        ({"nonsense": 1}, InvalidRequest),
        ({"stop": ""}, InvalidRequest),
        ({"top": 29}, InvalidRequest),
    ],
)
def test_bad_requests_leave_the_decoder_usable(options: dict[str, Any], error: type[Exception]) -> None:
    decoder = _decoder()
    with pytest.raises(error):
        decoder.generate(PROMPT, **options)
    assert decoder.generate(PROMPT, max_tokens=2).stats.emitted == 2


@pytest.mark.parametrize("prompt", ["", [], (), [{"role": "user"}], 5, None, b"x"])
def test_bad_prompts(prompt: Any) -> None:
    with pytest.raises(InvalidRequest):
        _decoder().generate(prompt)


def test_what_of_a_prompt_is_not_read_is_told(bundled_target: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    sound = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    with load(bundled_target, trusted=True) as decoder:
        for part in (picture, sound):
            notes = decoder.generate([{"role": "user", "content": [part]}], max_tokens=1).notes
            assert notes[0].startswith("Parts of messages that are no text were left out")
        assert "lone surrogates" in decoder.generate("a\ud83db", max_tokens=1).notes[0]
        assert decoder.generate("a\U0001f600b", max_tokens=1).notes == ()
        with pytest.raises(TextNotEncodable, match=r"U\+D83D"):
            decoder.encode("a\ud83db")
        with pytest.raises(TextNotEncodable):
            decoder.count("\udc00")
        with pytest.raises(InvalidRequest, match=r"^The prompt is empty: it must have some text\.$"):
            decoder.generate("")


def test_a_warning_names_the_line_of_the_caller(bundled_target: Path, bundled_draft: Path) -> None:
    with pytest.warns(PairWarning) as told, load(bundled_draft, bundled_target, trusted=True):
        assert [Path(each.filename) for each in told] == [Path(__file__)]
    with pytest.warns(PairWarning) as told, _in_turns(bundled_draft, bundled_target):
        assert [Path(each.filename) for each in told] == [Path(__file__)]


def _in_turns(target: Path, draft: Path) -> SpeculativeDecoder:
    decoder = SpeculativeDecoder()
    decoder.attach_target(LoadConfig(target, trusted=True))
    decoder.attach_draft(LoadConfig(str(draft), trusted=True))
    return decoder


def test_text_that_has_no_tokens() -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_target(ScriptedBackend(letters(), recite([])))
    with pytest.raises(InvalidRequest, match="no tokens"):
        decoder.generate("XYZ", raw=True)


def test_the_three_kinds_of_prompt() -> None:
    template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    decoder = SpeculativeDecoder()
    decoder.attach_target(ScriptedBackend(letters(), recite([3], 2), chat_template=template))
    for prompt in ("ab", [{"role": "user", "content": "ab"}], [0, 1], GenerationRequest("ab", raw=True)):
        result = decoder.generate(prompt, max_tokens=1)
        assert (result.text, result.prompt_tokens) == ("d", 2)


def test_a_request_can_be_changed_by_options() -> None:
    request = GenerationRequest(
        (1, 2), sampling=SamplingConfig(1.0, seed=3), speculation=SpeculationConfig(lookahead=2), max_tokens=24
    )
    decoder = _decoder()
    assert decoder.generate(request).tokens == decoder.generate(PROMPT, lookahead=2, **DRAWN).tokens
    assert decoder.generate(request, max_tokens=3, lookahead=0).lookahead == 0
    assert request.max_tokens == 24


def test_the_decoders_own_settings_hold_where_none_are_given() -> None:
    decoder = _decoder(
        sampling=SamplingConfig(1.0, seed=3), speculation=SpeculationConfig(lookahead=7, acceptance="exact")
    )
    result = decoder.generate(PROMPT, max_tokens=24)
    assert result.lookahead == 7
    assert result.tokens == _decoder().generate(PROMPT, lookahead=7, acceptance="exact", **DRAWN).tokens


@pytest.mark.parametrize("lookahead", [0, 1, 4, 16])
def test_seed_repeats(lookahead: int) -> None:
    tokens = {_decoder().generate(PROMPT, lookahead=lookahead, **DRAWN).tokens for _ in range(3)}
    assert len(tokens) == 1
    others = {
        _decoder().generate(PROMPT, lookahead=lookahead, **DRAWN | {"seed": seed}).tokens for seed in range(10, 20)
    }
    assert len(others) == 10


def test_without_a_seed_replies_differ() -> None:
    decoder = _decoder()
    replies = {decoder.generate(PROMPT, temperature=1.0, max_tokens=24).tokens for _ in range(8)}
    assert len(replies) == 8


def test_exact_match_gives_the_text_of_plain_decoding() -> None:
    """The target's draws are keyed by position, so here even a drawn text is the same with and without a draft."""
    plain = _decoder().generate(PROMPT, lookahead=0, **DRAWN)
    for lookahead in (1, 4, 9):
        assert _decoder().generate(PROMPT, lookahead=lookahead, acceptance="exact", **DRAWN).tokens == plain.tokens


def test_on_token_sees_every_token() -> None:
    seen: list[TokenEvent] = []
    result = _decoder().generate(PROMPT, on_token=seen.append, **DRAWN)
    assert tuple(event.token for event in seen) == result.tokens
    assert "".join(event.text for event in seen) == result.text


@pytest.mark.parametrize("answer", [None, True, 0])
def test_only_false_ends_the_reply(answer: Any) -> None:
    assert _decoder().generate(PROMPT, on_token=lambda _: answer, **DRAWN).stats.emitted == 24


def test_on_token_that_raises_leaves_the_decoder_usable() -> None:
    def fail(event: TokenEvent) -> None:
        if event.position == 3:
            raise KeyError(event.position)

    decoder = _decoder()
    try:
        decoder.generate(PROMPT, on_token=fail, **DRAWN)
    except KeyError:
        # Even while the error is being handled.
        assert decoder.generate(PROMPT, max_tokens=2).stats.emitted == 2
    else:
        pytest.fail("the error was swallowed")


def test_stream_is_generate_in_pieces() -> None:
    events = list(_decoder().stream(PROMPT, **DRAWN))
    assert isinstance(events[-1], Finished)
    assert events[-1].result.tokens == _decoder().generate(PROMPT, **DRAWN).tokens


def test_one_reply_at_a_time() -> None:
    decoder = _decoder()
    events = decoder.stream(PROMPT, **DRAWN)
    next(events)
    with pytest.raises(InvalidRequest, match="already generating a reply"):
        decoder.generate(PROMPT)
    assert isinstance(list(events)[-1], Finished)
    assert decoder.generate(PROMPT, max_tokens=2).stats.emitted == 2


def test_iterator_that_is_never_started_blocks_nothing() -> None:
    decoder = _decoder()
    waiting = decoder.stream(PROMPT, **DRAWN)
    assert decoder.generate(PROMPT, max_tokens=2).stats.emitted == 2
    assert isinstance(list(waiting)[-1], Finished)


@pytest.mark.asyncio
async def test_astream_gives_the_same_events() -> None:
    where: set[int] = set()

    class Noting(FakeBackend):
        def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
            where.add(threading.get_ident())
            return super().forward(tokens, n_outputs)

    decoder = SpeculativeDecoder()
    decoder.attach_target(Noting(8, 1))
    decoder.attach_draft(FakeBackend(8, 1, sharpness=0.8))
    events = [event async for event in decoder.astream(PROMPT, **DRAWN)]
    assert isinstance(events[-1], Finished)
    assert events[-1].result.tokens == _decoder().generate(PROMPT, **DRAWN).tokens
    assert where
    assert threading.get_ident() not in where


async def _first_tokens(events: AsyncIterator[Event], count: int) -> list[int]:
    tokens: list[int] = []
    async for event in events:
        if isinstance(event, TokenEvent):
            tokens.append(event.token)
            if len(tokens) == count:
                break
    return tokens


@pytest.mark.asyncio
async def test_astream_closed_early() -> None:
    decoder = _decoder()
    events = decoder.astream(PROMPT, **DRAWN)
    tokens = await _first_tokens(events, 5)
    await events.aclose()
    assert decoder.generate(PROMPT, **DRAWN).tokens[:5] == tuple(tokens)


@pytest.mark.asyncio
async def test_astream_whose_task_is_cancelled() -> None:
    decoder = _decoder()
    begun = asyncio.Event()

    async def consume() -> None:
        async for event in decoder.astream(PROMPT, temperature=1.0, seed=1):
            if isinstance(event, RoundEvent):
                begun.set()

    task = asyncio.create_task(consume())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not decoder.cancel_token.cancelled
    assert decoder.generate(PROMPT, max_tokens=2).stats.emitted == 2


@pytest.mark.asyncio
async def test_astream_hands_errors_over() -> None:
    with pytest.raises(InvalidSampling):
        async for _ in _decoder().astream(PROMPT, temperature=-1):
            pass


def test_stats_add_up_until_reset() -> None:
    decoder = _decoder()
    results = [decoder.generate(PROMPT, **DRAWN | {"seed": seed}) for seed in range(3)]
    assert decoder.stats.emitted == 72
    assert decoder.stats.rounds == sum(result.stats.rounds for result in results)
    decoder.reset_stats()
    assert decoder.stats == GenerationStats()


def test_speedup_is_none_until_plain_decoding_was_measured() -> None:
    decoder = _decoder()
    first = decoder.generate(PROMPT, **DRAWN)
    assert first.stats.speedup is None
    assert first.to_dict()["stats"]["time_saved_ms"] is None
    plain = decoder.generate(PROMPT, lookahead=0, **DRAWN)
    second = decoder.generate(PROMPT, **DRAWN)
    assert second.stats.plain_tokens_per_second == plain.stats.tokens_per_second
    assert second.stats.speedup == pytest.approx(second.stats.tokens_per_second / plain.stats.tokens_per_second)
    decoder.attach_target(FakeBackend(8, 2))
    assert decoder.generate(PROMPT, **DRAWN).stats.speedup is None


def test_result_as_json() -> None:
    result = _decoder().generate(PROMPT, **DRAWN)
    data = result.to_dict()
    assert set(data) == {
        *("text", "tokens", "prompt_tokens", "prompt_evaluated", "finish_reason", "method", "lookahead", "stats"),
        *("advice", "notes", "dropped_turns", "reasoning", "content", "tool_calls"),
        *("stop_reason", "seed", "logprobs", "top"),
    }
    assert data["tokens"] == list(result.tokens)
    assert GenerationStats.from_dict(data["stats"]) == result.stats


def test_times_are_those_of_the_clock() -> None:
    stats = _decoder().generate(PROMPT, **DRAWN).stats
    assert 0 < stats.prompt_ms < stats.total_ms
    assert stats.draft_ms + stats.target_ms < stats.total_ms - stats.prompt_ms
    expected = 1000 * stats.emitted / (stats.total_ms - stats.prompt_ms)
    assert stats.tokens_per_second == pytest.approx(expected)


def test_the_text_of_one_token_alone(bundled_target: Path) -> None:
    with pytest.raises(ModelNotLoaded):
        SpeculativeDecoder().token_text(0)
    with _decoder() as decoder:
        assert [decoder.token_text(token) for token in range(3)] == ["a", "b", "c"]
        for token in (-1, 8):
            with pytest.raises(TokenOutOfRange):
                decoder.token_text(token)
    with load(bundled_target) as decoder:
        assert decoder.target is not None
        end = next(iter(decoder.target.eos_token_ids))
        assert decoder.token_text(end) == ""
        tokens = decoder.target.tokenizer.encode("Ein Bär 🐻", add_special=False, parse_special=False)
        texts = [decoder.token_text(token) for token in tokens]
        assert "".join(texts).encode().decode("unicode_escape").encode("latin-1").decode() == "Ein Bär 🐻", texts


@pytest.mark.parametrize(
    "prompts", ["Tell me a joke.", b"ab", GenerationRequest("Hi"), {"role": "user", "content": "Hi"}, 5, None]
)
def test_many_prompts_are_several(prompts: Any) -> None:
    with pytest.raises(InvalidRequest, match="list of prompts"):
        _decoder().generate_many(prompts)
