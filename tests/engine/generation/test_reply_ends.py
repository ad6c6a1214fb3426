"""Where a reply ends, what ended it, and what its result says."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from math import exp
from pathlib import Path
from typing import Any

import pytest

from engine.config import GenerationRequest, SamplingConfig
from engine.constraint import Constraint
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled, ContextFull, DecoderBusy, InvalidRequest, TokenOutOfRange
from engine.events import Finished, TokenEvent
from engine.loaded import load
from engine.sampling.distribution import distribution
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.joint import Prefix, chi_square_p

PROMPT = [1, 2]
END = 5
DRAWN: dict[str, Any] = {"temperature": 1.0, "seed": 3}


def _decoder(ends: tuple[int, ...] = (END,)) -> SpeculativeDecoder:
    return load(FakeBackend(6, 11, eos_token_ids=ends), FakeBackend(6, 23))


def _exact(least: int) -> dict[Prefix, float]:
    """The probability of each beginning of three tokens, where the end may not be among the first `least`."""
    target = FakeBackend(6, 11)
    joint: dict[Prefix, float] = {(): 1.0}
    for position in range(3):
        longer: dict[Prefix, float] = {}
        rules = SamplingConfig(1.0, banned_tokens=(END,) if position < least else ())
        for prefix, probability in joint.items():
            shares = distribution(target.row([*PROMPT, *prefix]), rules, [])
            longer |= {(*prefix, token): probability * float(s) for token, s in enumerate(shares) if s > 0.0}
        joint = longer
    return joint


def _drawn(samples: int = 500, **options: Any) -> Counter[Prefix]:
    decoder = _decoder()
    replies = (decoder.generate(PROMPT, temperature=1.0, seed=s, max_tokens=3, **options) for s in range(samples))
    return Counter(reply.tokens for reply in replies)


@pytest.mark.parametrize("speculation", [{"lookahead": 0}, {"lookahead": 3}, {"lookahead": 3, "acceptance": "exact"}])
def test_a_late_end_is_the_targets_own_without_it(speculation: dict[str, Any]) -> None:
    drawn = _drawn(min_tokens=2, **speculation)
    assert chi_square_p(drawn, _exact(2)) > 0.001
    assert chi_square_p(drawn, _exact(3)) < 1e-6  # The end comes third as often as it may.


def test_replies_without_an_end() -> None:
    drawn = _drawn(lookahead=3, ignore_eos=True)
    assert chi_square_p(drawn, _exact(3)) > 0.001
    assert not any(END in tokens for tokens in drawn)


@pytest.mark.parametrize("lookahead", [0, 4])
def test_a_stop_token_and_a_stop_string_are_named(lookahead: int) -> None:
    decoder = _decoder(())
    whole = decoder.generate(PROMPT, max_tokens=12, lookahead=lookahead)
    assert (whole.finish_reason, whole.stop_reason) == ("length", None)
    by_token = decoder.generate(PROMPT, stop_tokens=whole.tokens[3], lookahead=lookahead)
    assert by_token.stop_reason == whole.tokens[3] == by_token.tokens[-1]
    word = whole.text[4:6]
    by_text = decoder.generate(PROMPT, stop=("nowhere", word), lookahead=lookahead)
    assert (by_text.finish_reason, by_text.stop_reason) == ("stop", word)
    later = decoder.generate(PROMPT, stop_tokens=whole.tokens[3], min_tokens=12, max_tokens=12, lookahead=lookahead)
    assert whole.tokens[3] not in later.tokens
    assert len(later.tokens) == 12
    assert decoder.generate(PROMPT, on_token=lambda _event: False).stop_reason is None


def test_a_constraint_goes_before_a_late_end(bundled_target: Path) -> None:
    with load(bundled_target, threads=1, context_length=256) as decoder:
        reply = decoder.generate("Hello!", constraint=Constraint.regex("(yes|no)"), min_tokens=20, max_tokens=40)
        assert reply.content in ("yes", "no")
        assert reply.finish_reason == "stop"


def test_real_replies_end_late_and_never(bundled_target: Path, bundled_draft: Path) -> None:
    with load(bundled_target, bundled_draft, threads=1, context_length=512) as decoder:
        usual = decoder.generate("Hello!", lookahead=4)
        assert usual.finish_reason == "stop"
        assert usual.stop_reason == usual.tokens[-1]
        least = len(usual.tokens) + 20
        for lookahead in (0, 4):
            late = decoder.generate("Hello!", min_tokens=least, lookahead=lookahead)
            assert len(late.tokens) > least
            assert late.tokens[: len(usual.tokens) - 1] == usual.tokens[:-1]
            never = decoder.generate("Hello!", ignore_eos=True, max_tokens=least + 9, lookahead=lookahead)
            assert (len(never.tokens), never.finish_reason) == (least + 9, "length")


@pytest.mark.parametrize(
    "options",
    [
        *({"min_tokens": -1}, {"min_tokens": 1.5}, {"min_tokens": 9, "max_tokens": 8}, {"max_time": 0}),
        *({"max_time": "1"}, {"max_time": float("nan")}, {"ignore_eos": True, "constraint": "json"}),
    ],
    ids=repr,
)
def test_what_makes_no_sense(options: Any) -> None:
    with pytest.raises(InvalidRequest):
        GenerationRequest("x", **({"constraint": Constraint.json()} if "constraint" in options else {}) | options)


def test_a_reply_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is made to pass: at the third round it is over."""
    now = [100.0]
    monkeypatch.setattr("engine.decoder.perf_counter", lambda: now[0])
    monkeypatch.setattr("engine.generation.planner.perf_counter", lambda: now[0])

    def pass_time(event: TokenEvent) -> None:
        now[0] += 1.0

    reply = _decoder(()).generate(PROMPT, max_time=2.5, lookahead=0, max_tokens=50, on_token=pass_time)
    assert (reply.finish_reason, len(reply.tokens)) == ("time", 3)


def test_time_that_is_over_while_the_prompt_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, now = _decoder(()), [100.0]
    monkeypatch.setattr("engine.decoder.perf_counter", lambda: now[0])
    monkeypatch.setattr("engine.generation.planner.perf_counter", lambda: now[0])
    events = decoder.stream([1, 2] * 2000, max_time=5.0, max_tokens=3)
    next(events)
    now[0] += 6.0
    last = list(events)[-1]
    assert isinstance(last, Finished)
    assert (last.result.finish_reason, last.result.tokens) == ("time", ())
    assert 0 < last.result.prompt_evaluated < 4000
    assert decoder.generate([1, 2] * 2000, max_tokens=3).prompt_evaluated < 4000


def test_the_seed_of_the_result_repeats_the_reply() -> None:
    decoder = _decoder(())
    first = decoder.generate(PROMPT, temperature=1.0, lookahead=3, max_tokens=30)
    assert isinstance(first.seed, int)
    assert first.seed < 2**53
    again = decoder.generate(PROMPT, temperature=1.0, lookahead=3, max_tokens=30, seed=first.seed)
    assert again.tokens == first.tokens
    assert decoder.generate(PROMPT, seed=2**64 - 1, max_tokens=2).seed == 2**64 - 1


def test_the_shares_of_the_result_are_those_of_the_events() -> None:
    decoder = _decoder(())
    events = list(decoder.stream(PROMPT, **DRAWN, top=2, max_tokens=9, lookahead=3))
    told = [event for event in events if isinstance(event, TokenEvent)]
    result = events[-1].result  # type: ignore[union-attr]
    assert result.logprobs == tuple(event.logprob for event in told)
    assert result.top == tuple(event.top for event in told)
    assert all(0.0 < exp(share) <= 1.0 for share in result.logprobs)
    said = json.loads(json.dumps(result.to_dict()))
    assert said["logprobs"] == list(result.logprobs)
    assert said["top"][0][1] == {"token": told[0].top[1][0], "logprob": told[0].top[1][1]}
    assert decoder.generate(PROMPT, max_tokens=2).top == ()


def test_turns_that_must_stay(bundled_target: Path) -> None:
    long = [{"role": "user", "content": "Tell me a story. " * 12}, {"role": "assistant", "content": "Once. " * 12}] * 4
    messages = [*long, {"role": "user", "content": "Go on."}]
    with load(bundled_target, threads=1, context_length=256) as decoder:
        assert decoder.generate(messages, max_tokens=2).dropped_turns > 0
        with pytest.raises(ContextFull):
            decoder.generate(messages, max_tokens=2, drop_turns=False)
        assert decoder.generate(messages[-1:], max_tokens=2, drop_turns=False).dropped_turns == 0


def test_several_replies_to_several_prompts() -> None:
    decoder = _decoder(())
    many = list(decoder.generate_many([PROMPT, [3, 4, 1]], n=2, temperature=1.0, seed=7, lookahead=2, max_tokens=8))
    assert [reply.seed for reply in many] == [7, 8, 7, 8]
    alone = decoder.generate([3, 4, 1], temperature=1.0, seed=8, lookahead=2, max_tokens=8)
    assert many[3].tokens == alone.tokens
    assert many[1].prompt_evaluated == 1  # The prompt was read for the first of its replies.
    request = GenerationRequest((1, 2), sampling=SamplingConfig(1.0, seed=4), max_tokens=3)
    assert [reply.seed for reply in decoder.generate_many([request], n=2)] == [4, 5]
    assert len({reply.seed for reply in decoder.generate_many([PROMPT], n=3, max_tokens=1)}) == 3
    anything: Any = 0
    with pytest.raises(InvalidRequest, match="n must be"):
        decoder.generate_many([PROMPT], n=anything)


def test_a_cancelled_reply_is_the_last_of_many() -> None:
    decoder = _decoder(())
    replies = decoder.generate_many([PROMPT] * 3, max_tokens=5)
    next(replies)
    decoder.cancel_token.cancel()
    with pytest.raises(Cancelled):
        next(replies)
    assert list(replies) == []
    assert decoder.generate(PROMPT, max_tokens=2).stats.emitted == 2


def test_a_reply_in_an_event_loop() -> None:
    decoder, threads = _decoder(()), set()

    async def ask() -> None:
        result = await decoder.agenerate(PROMPT, max_tokens=6, on_token=lambda _: threads.add(threading.get_ident()))
        assert result.tokens == decoder.generate(PROMPT, max_tokens=6).tokens
        with pytest.raises(InvalidRequest):
            await decoder.agenerate(PROMPT, max_tokens=0)

    asyncio.run(ask())
    assert threads
    assert threading.get_ident() not in threads


def test_a_time_out_ends_the_reply_and_frees_the_decoder(shared_gguf: Callable[[str], Path]) -> None:
    with load(shared_gguf("stories260K-F32"), threads=1) as decoder:

        async def ask() -> None:
            begun = asyncio.Event()
            loop = asyncio.get_running_loop()

            def tell(_event: TokenEvent) -> None:
                loop.call_soon_threadsafe(begun.set)

            task = asyncio.create_task(decoder.agenerate("Once", raw=True, ignore_eos=True, on_token=tell))
            await begun.wait()
            with pytest.raises(DecoderBusy):
                await decoder.agenerate("Once", max_tokens=2)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(task, 0.01)
            assert (await decoder.agenerate("Once", raw=True, max_tokens=4)).stats.emitted == 4

        asyncio.run(ask())
        assert decoder.generate("Once", raw=True, max_tokens=4).finish_reason == "length"


def test_tokens_of_a_text_and_back(bundled_target: Path) -> None:
    with load(bundled_target, threads=1, context_length=64) as decoder:
        text = "The dragon said: «ä»"
        tokens = decoder.encode(text)
        assert decoder.count(text) == len(tokens)
        assert decoder.decode(tokens) == text
        assert "�" in decoder.decode(decoder.encode("ä")[-1:]) or len(decoder.encode("ä")) == 1
        whole = decoder.encode(text, add_special=True)
        assert whole[-len(tokens) :] == tokens
        assert decoder.target is not None
        (end,) = list(decoder.target.eos_token_ids)[:1]
        marker = decoder.decode([end], markers=True)
        assert (decoder.decode([end]), decoder.encode(marker, parse_special=True)) == ("", [end])
        for wrong in ([-1], [10**9], [1.5], ["a"]):
            with pytest.raises(TokenOutOfRange):
                decoder.decode(wrong)  # type: ignore[arg-type]
        for nothing in ("text", 5, None):
            with pytest.raises(InvalidRequest):
                decoder.decode(nothing)  # type: ignore[arg-type]


def test_requests_keep_what_they_were_given() -> None:
    request = GenerationRequest((1, 2), min_tokens=3, max_time=2.0, ignore_eos=True, drop_turns=False)
    assert replace(request, max_tokens=5).min_tokens == 3
    assert _decoder().generate(request, max_tokens=5).stats.emitted == 5
