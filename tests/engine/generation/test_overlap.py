"""Drafting while the target verifies: really at the same time, exact, and nothing stale is left anywhere."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from engine.backends.base import Logits, Rewind
from engine.cancel import CancelToken
from engine.config import Overlap
from engine.decoder import SpeculativeDecoder
from engine.errors import BackendFailure, Cancelled, InvalidRequest
from engine.events import GenerationResult, RoundEvent, TokenEvent
from engine.generation.overlap import overlap_pays
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.invariants import check_caches, check_counters

PROMPT = [1, 2, 3]
VOCABULARY = 5
WAIT_S = 20.0


def _decoder(target: FakeBackend | None = None, draft: FakeBackend | None = None) -> SpeculativeDecoder:
    decoder = SpeculativeDecoder()
    decoder.attach_target(target or FakeBackend(VOCABULARY, 3))
    decoder.attach_draft(draft or FakeBackend(VOCABULARY, 3, sharpness=0.7))
    return decoder


def _generate(decoder: SpeculativeDecoder, **options: Any) -> GenerationResult:
    merged: dict[str, Any] = {"max_tokens": 60, "temperature": 1.0, "seed": 5, "overlap": "on"} | options
    result = decoder.generate(PROMPT, **merged)
    check_counters(result)
    check_caches(decoder, [*PROMPT, *result.tokens])
    return result


def test_both_compute_at_the_same_time() -> None:
    """No verification but the last ends before the draft has begun a forward of its own meanwhile."""
    verifying, met = threading.Event(), threading.Event()

    class Target(FakeBackend):
        meetings = 0

        def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
            if n_outputs > 1 and self.meetings < 5:
                met.clear()
                verifying.set()
                assert met.wait(WAIT_S)
                self.meetings += 1
                verifying.clear()
            return super().forward(tokens, n_outputs)

    class Draft(FakeBackend):
        def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
            if verifying.is_set():
                met.set()
            return super().forward(tokens, n_outputs)

    target = Target(VOCABULARY, 3)
    _generate(_decoder(target, Draft(VOCABULARY, 3, sharpness=0.7)), lookahead=3)
    assert target.meetings == 5


@pytest.mark.parametrize("lookahead", [1, 2, 3, 4, 8, 32])
def test_greedy_text_is_the_same(lookahead: int) -> None:
    plain = _decoder().generate(PROMPT, lookahead=0, max_tokens=80)
    result = _generate(_decoder(), temperature=0.0, lookahead=lookahead, max_tokens=80)
    assert result.tokens == plain.tokens
    assert result.stats.overlapped_rounds > 0


@pytest.mark.parametrize("lookahead", [1, 2, 5, 9])
def test_caches_and_counters_after_every_round(lookahead: int) -> None:
    """The draft may hold live proposals behind the committed tokens; everything before them is committed."""
    decoder = _decoder()
    options: dict[str, Any] = {"temperature": 1.0, "seed": 7, "max_tokens": 120, "overlap": "on"}
    committed = list(PROMPT)
    live = 0
    assert decoder.target is not None
    assert decoder.draft is not None
    for event in decoder.stream(PROMPT, lookahead=lookahead, **options):
        if isinstance(event, TokenEvent):
            committed.append(event.token)
        elif isinstance(event, RoundEvent):
            assert list(decoder.target.tokens) == committed[:-1]
            held = list(decoder.draft.tokens)
            common = min(len(held), len(committed))
            assert held[:common] == committed[:common]
            assert len(held) >= len(committed) - 2
            live = max(live, len(held) - len(committed))
    check_caches(decoder, committed)
    assert live > 0 or lookahead == 1


def test_a_perfect_draft_is_accepted_whole() -> None:
    """The guess counts as a token of the draft: all are accepted, none is a bonus."""
    result = _generate(_decoder(draft=FakeBackend(VOCABULARY, 3)), temperature=0.0, lookahead=3, max_tokens=41)
    stats = result.stats
    assert stats.acceptance_rate == 1.0
    assert stats.rounds == 11
    assert stats.overlapped_rounds == 10
    assert (stats.accepted, stats.bonus_tokens, stats.corrections) == (40, 0, 0)


def test_repeats_with_a_seed() -> None:
    replies = [_generate(_decoder(), lookahead=4).tokens for _ in range(3)]
    assert len(set(replies)) == 1


@pytest.mark.parametrize("confidence", [0.3, 0.5, 0.9])
def test_a_draft_that_declines(confidence: float) -> None:
    """Declined before the draw, ahead as well; the target is followed all the same."""
    plain = _decoder().generate(PROMPT, lookahead=0, max_tokens=60)
    result = _generate(_decoder(), temperature=0.0, lookahead=3, min_draft_confidence=confidence)
    assert result.tokens == plain.tokens


@pytest.mark.parametrize("seed", range(8))
def test_end_token_in_the_work_ahead(seed: int) -> None:
    result = _generate(_decoder(FakeBackend(VOCABULARY, 3, eos_token_ids=[4])), seed=seed, lookahead=3)
    assert result.finish_reason == "stop"
    assert result.tokens.index(4) == len(result.tokens) - 1


@pytest.mark.parametrize("max_tokens", range(1, 14))
def test_length(max_tokens: int) -> None:
    result = _generate(_decoder(), lookahead=4, max_tokens=max_tokens)
    assert len(result.tokens) == max_tokens


@pytest.mark.parametrize("rewind", [Rewind("snapshots", 1), Rewind("window", 3), Rewind("none")], ids=lambda r: r.kind)
def test_drafts_that_cannot_work_ahead_do_not(rewind: Rewind) -> None:
    result = _generate(_decoder(draft=FakeBackend(VOCABULARY, 3, sharpness=0.7, rewind=rewind)), lookahead=3)
    assert result.stats.overlapped_rounds == 0
    assert result.stats.accepted > 0


def test_consumer_leaves_in_the_middle() -> None:
    decoder = _decoder()
    for wanted in range(1, 12):
        events = decoder.stream(PROMPT, overlap="on", lookahead=3, temperature=1.0, seed=wanted)
        tokens: list[int] = []
        for event in events:
            if isinstance(event, TokenEvent):
                tokens.append(event.token)
                if len(tokens) == wanted:
                    break
        events.close()
        check_caches(decoder, [*PROMPT, *tokens])


def test_cancelled_from_another_thread() -> None:
    cancel = CancelToken()
    decoder = _decoder()
    seen = 0
    for event in decoder.stream(PROMPT, cancel=cancel, overlap="on", lookahead=4, temperature=1.0):
        seen += isinstance(event, TokenEvent)
        if seen == 20:
            threading.Thread(target=cancel.cancel).start()
        assert seen < 5000
    assert _generate(decoder).finish_reason == "length"


class _Fails(FakeBackend):
    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        if self.length > len(PROMPT) + 9:
            raise BackendFailure("it is out of order", self.length)
        return super().forward(tokens, n_outputs)


def test_a_failure_of_the_thread_ends_the_reply_with_its_error() -> None:
    decoder = _decoder(draft=_Fails(VOCABULARY, 3))
    with pytest.raises(BackendFailure, match="out of order"):
        decoder.generate(PROMPT, overlap="on", lookahead=3, max_tokens=60)
    decoder.attach_draft(FakeBackend(VOCABULARY, 3))
    assert _generate(decoder).finish_reason == "length"


def test_second_reply_starts_from_the_cache() -> None:
    decoder = _decoder()
    first = _generate(decoder, lookahead=3)
    again = decoder.generate([*PROMPT, *first.tokens, 0], overlap="on", max_tokens=9)
    assert again.prompt_evaluated == 2


def _placed(device: str, threads: int, weight_bytes: int) -> FakeBackend:
    backend = FakeBackend(VOCABULARY)
    backend.device, backend.threads, backend.weight_bytes = device, threads, weight_bytes
    return backend


BIG = 2**30


@pytest.mark.parametrize(
    ("overlap", "target", "draft", "expected"),
    [
        ("auto", ("cuda:0", 1, BIG), ("cpu", 8, BIG), True),
        ("auto", ("cuda:0", 1, BIG), ("cuda:0", 1, BIG), False),
        ("auto", ("cpu", 3, BIG), ("cpu", 1, BIG), True),
        ("auto", ("cpu", 4, BIG), ("cpu", 4, BIG), False),
        ("auto", ("cpu", 1, 2**20), ("cpu", 1, 2**20), False),
        ("on", ("cpu", 4, BIG), ("cpu", 4, BIG), True),
        ("off", ("cuda:0", 1, BIG), ("cpu", 8, BIG), False),
    ],
)
def test_auto(
    overlap: Overlap,
    target: tuple[str, int, int],
    draft: tuple[str, int, int],
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.generation.overlap.physical_cores", lambda: 4)
    assert overlap_pays(overlap, _placed(*target), _placed(*draft)) is expected


@pytest.mark.parametrize("overlap", ["on", "off", "auto"])
def test_nothing_to_overlap_without_a_draft(overlap: Overlap) -> None:
    assert not overlap_pays(overlap, _placed("cpu", 1, BIG), None)


def test_other_words_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="Overlap must be"):
        _decoder().generate(PROMPT, overlap="maybe")  # type: ignore[arg-type]
    assert replace(_decoder()._speculation, overlap="on").overlap == "on"


@pytest.mark.parametrize("count", range(14, 50, 3))
def test_cancelled_in_the_work_ahead(count: int) -> None:
    """The draft knows of the round that was committed before its work ahead was given up."""
    cancel = CancelToken()

    class Cancels(FakeBackend):
        def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
            self.forwards.append(len(tokens))
            if len(self.forwards) >= count:
                cancel.cancel()
                raise Cancelled
            return super().forward(tokens, n_outputs)

    decoder = _decoder(draft=Cancels(VOCABULARY, 3))
    result = decoder.generate(PROMPT, cancel=cancel, overlap="on", lookahead=3, max_tokens=200)
    assert result.finish_reason == "cancelled"
    check_caches(decoder, [*PROMPT, *result.tokens])
