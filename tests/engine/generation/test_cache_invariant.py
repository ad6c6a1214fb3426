"""After every round both caches hold what ARCHITECTURE.md says (*Cache invariant*), whatever ends round or reply."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import pytest

from engine.backends.base import Logits, Rewind
from engine.cancel import CancelToken
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled
from engine.events import TokenEvent
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.invariants import check_caches, follow

PROMPT = [1, 2, 3]
VOCABULARY = 5
ANY, SNAPSHOTS, WINDOW, NONE = Rewind("any"), Rewind("snapshots", 1), Rewind("window", 3), Rewind("none")
REWINDS = [ANY, SNAPSHOTS, WINDOW, NONE]


def _name(value: object) -> str | None:
    return value.kind if isinstance(value, Rewind) else None


def _decoder(target: FakeBackend | None = None, draft: FakeBackend | None = None) -> SpeculativeDecoder:
    decoder = SpeculativeDecoder()
    decoder.attach_target(target or FakeBackend(VOCABULARY, 3))
    # The draft is a flatter target: about half of what it proposes is accepted.
    decoder.attach_draft(draft or FakeBackend(VOCABULARY, 3, sharpness=0.7))
    return decoder


def _run(decoder: SpeculativeDecoder, **options: Any) -> Any:
    merged: dict[str, Any] = {"max_tokens": 60, "temperature": 1.0, "seed": 5} | options
    seen = follow(decoder, PROMPT, decoder.stream(PROMPT, **merged))
    assert seen.result is not None
    return seen


@pytest.mark.parametrize("lookahead", range(1, 33))
def test_every_lookahead(lookahead: int) -> None:
    seen = _run(_decoder(), lookahead=lookahead, max_tokens=120)
    assert seen.result.stats.emitted == 120
    assert seen.result.stats.accepted > 0
    assert seen.result.stats.corrections > 0


def test_plain_decoding() -> None:
    """A draft that is loaded takes no part, and its cache is left as it was."""
    decoder = _decoder()
    assert decoder.draft is not None
    decoder.generate(PROMPT, lookahead=0, max_tokens=20)
    assert decoder.draft.length == 0
    decoder.attach_draft(None)
    _run(decoder, max_tokens=120)


@pytest.mark.parametrize("draft_rewind", REWINDS, ids=_name)
@pytest.mark.parametrize("target_rewind", REWINDS, ids=_name)
@pytest.mark.parametrize("lookahead", [1, 4, 7])
def test_every_kind_of_cache(target_rewind: Rewind, draft_rewind: Rewind, lookahead: int) -> None:
    target = FakeBackend(VOCABULARY, 3, rewind=target_rewind)
    draft = FakeBackend(VOCABULARY, 3, sharpness=0.7, rewind=draft_rewind)
    seen = _run(_decoder(target, draft), lookahead=lookahead)
    assert seen.result.stats.accepted > 0
    assert seen.result.stats.rejected > 0


@pytest.mark.parametrize("speculation", [{"lookahead": "adaptive"}, {"lookahead": "auto"}, {"force_n1": True}])
def test_other_ways_to_speculate(speculation: dict[str, Any]) -> None:
    _run(_decoder(), max_tokens=200, **speculation)


def test_rounds_without_proposals_do_not_leave_the_draft_behind() -> None:
    """Auto decodes plainly for many rounds where the draft does not pay; the draft has to keep up."""
    decoder = _decoder(draft=FakeBackend(VOCABULARY, 99, sharpness=4.0))
    seen = _run(decoder, lookahead=3, min_draft_confidence=0.999, max_tokens=100)
    assert seen.result.stats.plain_tokens > 50


@pytest.mark.parametrize("seed", range(20))
def test_end_token_inside_a_draft(seed: int) -> None:
    """Nothing behind the end token is emitted, counted or kept."""
    target = FakeBackend(VOCABULARY, 3, eos_token_ids=[4])
    seen = _run(_decoder(target), seed=seed, lookahead=6)
    tokens = seen.result.tokens
    assert seen.result.finish_reason == "stop"
    assert tokens.index(4) == len(tokens) - 1


@pytest.mark.parametrize("max_tokens", range(1, 12))
def test_length_inside_a_draft(max_tokens: int) -> None:
    seen = _run(_decoder(), lookahead=5, max_tokens=max_tokens)
    assert seen.result.finish_reason == "length"
    assert len(seen.result.tokens) == max_tokens
    assert max(event.proposed for event in seen.rounds) < max(max_tokens, 2)


@pytest.mark.parametrize("stop", ["a", "bc", "dda"])
def test_stop_string_inside_a_draft(stop: str) -> None:
    seen = _run(_decoder(), lookahead=6, stop=stop, max_tokens=2000)
    assert seen.result.finish_reason == "stop"
    assert stop not in seen.result.text


@pytest.mark.parametrize("room", [1, 2, 5, 12])
@pytest.mark.parametrize("shorter", ["target", "draft", "both"])
def test_end_of_the_context(room: int, shorter: str) -> None:
    lengths = {name: len(PROMPT) + room if shorter in (name, "both") else 4096 for name in ("target", "draft")}
    target = FakeBackend(VOCABULARY, 3, context_length=lengths["target"])
    draft = FakeBackend(VOCABULARY, 3, sharpness=0.7, context_length=lengths["draft"])
    decoder = _decoder(target, draft)
    result = decoder.generate(PROMPT, lookahead=4, temperature=1.0, seed=1, max_tokens=40)
    expected = min(40, lengths["target"] - len(PROMPT) + 1)
    assert len(result.tokens) == expected
    assert result.finish_reason == ("length" if expected == 40 else "context")
    committed = [*PROMPT, *result.tokens]
    check_caches(decoder, committed, behind=len(committed))


@pytest.mark.parametrize("wanted", range(1, 10))
def test_consumer_ends_the_reply(wanted: int) -> None:
    decoder = _decoder()
    got: list[int] = []

    def take(event: TokenEvent) -> bool:
        got.append(event.token)
        return len(got) < wanted

    result = decoder.generate(PROMPT, on_token=take, lookahead=6, temperature=1.0, seed=8)
    assert list(result.tokens) == got
    assert len(got) == wanted
    assert result.finish_reason == "stop"
    check_caches(decoder, [*PROMPT, *got])


@pytest.mark.parametrize("steps", range(1, 25))
def test_iterator_closed_early(steps: int) -> None:
    decoder = _decoder()
    events = decoder.stream(PROMPT, lookahead=5, temperature=1.0, seed=2)
    tokens = [event.token for event in islice(events, steps) if isinstance(event, TokenEvent)]
    events.close()
    assert decoder.target is not None
    held = list(decoder.target.tokens)
    assert held == [*PROMPT, *tokens][: len(held)]
    if tokens:
        check_caches(decoder, [*PROMPT, *tokens])
    _run(decoder)


class _CancelsAt(FakeBackend):
    """Sets a token at its n-th forward, and gives that forward up as llama.cpp does."""

    def __init__(self, count: int, cancel: CancelToken, **options: Any) -> None:
        super().__init__(VOCABULARY, 3, **options)
        self._left, self._token = count, cancel

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        self._left -= 1
        if self._left == 0:
            self._token.cancel()
            raise Cancelled
        return super().forward(tokens, n_outputs)


CANCELLED_FORWARDS = [*(("target", count) for count in range(1, 9)), *(("draft", count) for count in range(1, 30, 3))]


@pytest.mark.parametrize(("where", "count"), CANCELLED_FORWARDS)
def test_cancel_in_the_middle_of_a_round(where: str, count: int) -> None:
    cancel = CancelToken()
    sharp = {"target": 1.5, "draft": 0.7}
    parts = {
        name: _CancelsAt(count if name == where else 0, cancel, sharpness=sharp[name]) for name in ("target", "draft")
    }
    decoder = _decoder(parts["target"], parts["draft"])
    try:
        result = decoder.generate(PROMPT, cancel=cancel, lookahead=5, temperature=1.0, seed=4)
    except Cancelled:
        committed = PROMPT
    else:
        assert result.finish_reason == "cancelled"
        committed = [*PROMPT, *result.tokens]
        check_caches(decoder, committed)
    for backend in parts.values():
        assert list(backend.tokens) == committed[: backend.length]
    assert not cancel.cancelled
    _run(decoder)


@pytest.mark.parametrize("rewind", REWINDS, ids=_name)
def test_second_turn_reads_only_what_is_new(rewind: Rewind) -> None:
    decoder = _decoder(FakeBackend(VOCABULARY, 3, rewind=rewind))
    first = decoder.generate(PROMPT, max_tokens=20, temperature=1.0, seed=5)
    assert first.prompt_evaluated == len(PROMPT)
    second_prompt = [*PROMPT, *first.tokens, 0, 1]
    second = decoder.generate(second_prompt, max_tokens=20, temperature=1.0, seed=6)
    assert second.prompt_tokens == len(second_prompt)
    # The last token of the first reply is pending: it was never in the cache.
    assert second.prompt_evaluated == 3
    other = decoder.generate([*PROMPT, 4, 4], max_tokens=5)
    assert other.prompt_evaluated == (2 if rewind == ANY else len(PROMPT) + 2)


def test_same_prompt_again() -> None:
    decoder = _decoder()
    replies = [decoder.generate(PROMPT, max_tokens=20, temperature=1.0, seed=5) for _ in range(3)]
    assert len({reply.tokens for reply in replies}) == 1
    assert [reply.prompt_evaluated for reply in replies] == [3, 1, 1]


def test_the_check_can_fail() -> None:
    """A rejected token left in the draft's cache does not bend the distribution: only this check sees it."""

    class Keeps(FakeBackend):
        def truncate(self, length: int) -> None:
            super().truncate(length if length < len(PROMPT) else min(length + 1, self.length))

    for part in ("target", "draft"):
        broken = Keeps(VOCABULARY, 7, sharpness=0.7)
        decoder = _decoder(**{part: broken})
        with pytest.raises(AssertionError):
            _run(decoder, lookahead=4)
