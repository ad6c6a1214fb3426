"""The generation loop: events in order, costs, counters, and every way in which a reply ends."""

from collections.abc import Sequence
from typing import Any

import pytest

from engine.backends.base import Backend
from engine.backends.prefix import CHUNK
from engine.decoder import SpeculativeDecoder
from engine.errors import ContextFull, DegenerateDistribution, InvalidRequest, TokenOutOfRange
from engine.events import Event, Finished, GenerationResult, PromptProgress, RoundEvent, TokenEvent
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.fakes import ScriptedBackend, letters, recite
from helpers.decoding.invariants import check_counters

PROMPT = [1]


def _decoder(target: Backend, draft: Backend | None = None) -> SpeculativeDecoder:
    decoder = SpeculativeDecoder()
    decoder.attach_target(target)
    decoder.attach_draft(draft)
    return decoder


def _pair(
    said: Sequence[int], drafted: Sequence[int], **options: Any
) -> tuple[SpeculativeDecoder, ScriptedBackend, ScriptedBackend]:
    """A target that recites `said` and a draft that recites `drafted`."""
    target = ScriptedBackend(letters(), recite(said), **options)
    draft = ScriptedBackend(letters(), recite(drafted))
    return _decoder(target, draft), target, draft


def test_events_in_order() -> None:
    decoder, _, _ = _pair([2, 3, 4, 5, 6, 7], [2, 3, 7, 7, 6, 7])
    events = list(decoder.stream(PROMPT, lookahead=3, max_tokens=6))
    kinds = [type(event) for event in events]
    first = kinds.index(TokenEvent)
    assert set(kinds[:first]) == {PromptProgress}
    assert kinds[first:] == [TokenEvent] * 3 + [RoundEvent] + [TokenEvent] + [RoundEvent] + [
        *[TokenEvent] * 2,
        RoundEvent,
        Finished,
    ]
    tokens = [event for event in events if isinstance(event, TokenEvent)]
    assert [event.token for event in tokens] == [2, 3, 4, 5, 6, 7]
    assert [event.origin for event in tokens] == [
        *("accepted", "accepted", "correction"),
        "correction",
        *("accepted", "bonus"),
    ]
    assert [event.position for event in tokens] == list(range(6))
    assert [event.round for event in tokens] == [1, 1, 1, 2, 3, 3]
    assert [event.text for event in tokens] == list("cdefgh")
    assert [event.draft_logprob is None for event in tokens] == [False, False, True, True, False, True]
    rounds = [event for event in events if isinstance(event, RoundEvent)]
    assert [(r.proposed, r.accepted, r.lookahead, r.source) for r in rounds] == [
        (3, 2, 3, "draft-model"),
        (2, 0, 3, "draft-model"),
        (1, 1, 3, "draft-model"),
    ]
    # What the target did not keep is told, with the draft's own probability of it.
    assert [[token for token, _ in r.rejected] for r in rounds] == [[7], [7, 6], []]
    assert all(logprob is not None and -0.1 < logprob <= 0.0 for r in rounds for _, logprob in r.rejected)


def test_prompt_progress_counts_up_to_the_end() -> None:
    target = FakeBackend()
    events = list(_decoder(target).stream([1] * (2 * CHUNK + 10), max_tokens=1))
    progress = [(event.evaluated, event.total) for event in events if isinstance(event, PromptProgress)]
    total = 2 * CHUNK + 10
    assert progress[0] == (0, total)
    assert progress[-1] == (total, total)
    assert progress == sorted(progress)
    assert target.forwards[:3] == [CHUNK, CHUNK, 9]


def test_alternatives_only_when_asked_for() -> None:
    decoder = _decoder(FakeBackend(8, 1), FakeBackend(8, 2))
    for top in (0, 1, 5):
        events = decoder.stream(PROMPT, max_tokens=12, top=top, temperature=1.0, seed=1)
        tokens = [event for event in events if isinstance(event, TokenEvent)]
        assert {len(event.top) for event in tokens} == {top}
        for event in tokens if top else ():
            assert [share for _, share in event.top] == sorted((share for _, share in event.top), reverse=True)
            assert event.logprob <= event.top[0][1] + 1e-6


def test_plain_decoding_is_one_forward_of_one_token_for_each() -> None:
    target = FakeBackend(8, 1)
    result = _decoder(target).generate([1, 2, 3], lookahead=0, max_tokens=50, temperature=1.0, seed=1)
    assert target.forwards == [2] + [1] * 50
    assert result.stats.target_forwards == result.stats.rounds == result.stats.plain_tokens == 50
    assert result.method == "autoregressive"
    assert result.stats.draft_forwards == 0


@pytest.mark.parametrize("lookahead", [1, 2, 4, 8, 32])
def test_one_target_forward_a_round(lookahead: int) -> None:
    target, draft = FakeBackend(8, 1), FakeBackend(8, 1, sharpness=0.8)
    decoder = _decoder(target, draft)
    events = list(decoder.stream([1, 2, 3], lookahead=lookahead, max_tokens=80, temperature=1.0, seed=1))
    rounds = [event for event in events if isinstance(event, RoundEvent)]
    assert len(target.forwards) == 1 + len(rounds)
    assert max(target.forwards[1:]) == lookahead + 1
    assert isinstance(events[-1], Finished)
    stats = events[-1].result.stats
    assert stats.target_forwards == len(rounds) == stats.rounds
    assert stats.draft_forwards == len(draft.forwards) - 1


def test_forcing_one_feeds_one_token_a_round() -> None:
    target, draft = FakeBackend(8, 1), FakeBackend(8, 1, sharpness=0.8)
    result = _decoder(target, draft).generate([1, 2], max_tokens=40, temperature=1.0, seed=1, force_n1=True)
    assert set(target.forwards) == {1}
    assert result.stats.n1_fallbacks == result.stats.rounds == 40
    assert result.stats.accepted > 0
    check_counters(result)


def test_no_acceptance_reads_zero() -> None:
    decoder, _, _ = _pair([2] * 20, [3] * 20)
    stats = decoder.generate(PROMPT, lookahead=4, max_tokens=20).stats
    assert (stats.accepted, stats.acceptance_rate, stats.corrections, stats.mean_length) == (0, 0.0, 19, 1.0)
    # The last token of a reply has no room for a proposal.
    assert (stats.plain_tokens, stats.proposed) == (1, 4 * 16 + 3 + 2 + 1)


def test_full_acceptance() -> None:
    said = [2, 3, 4, 5] * 5
    decoder, _, _ = _pair(said, said)
    result = decoder.generate(PROMPT, lookahead=4, max_tokens=20)
    stats = result.stats
    assert list(result.tokens) == said
    assert (stats.rounds, stats.accepted, stats.bonus_tokens, stats.acceptance_rate) == (4, 16, 4, 1.0)
    assert stats.mean_length == 5.0
    assert stats.acceptance_by_position == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("seed", range(25))
def test_identities(seed: int) -> None:
    target = FakeBackend(6, 1, eos_token_ids=[5])
    decoder = _decoder(target, FakeBackend(6, 1, sharpness=0.8))
    result = decoder.generate([1, 2], lookahead=seed % 9, max_tokens=30, temperature=1.0, seed=seed, stop=["bca"])
    check_counters(result)
    assert decoder.stats == result.stats


def test_tokens_past_the_end_count_nowhere() -> None:
    """The end token is the second of five accepted: the three behind it were never proposed."""
    decoder, _, _ = _pair([2, 7, 3, 4, 5], [2, 7, 3, 4, 5], eos_token_ids=[7])
    draft = decoder.draft
    assert isinstance(draft, ScriptedBackend)
    events = list(decoder.stream(PROMPT, lookahead=5, stop=["never"]))
    assert isinstance(events[-1], Finished)
    stats = events[-1].result.stats
    assert (stats.proposed, stats.accepted, stats.rejected, stats.emitted, stats.bonus_tokens) == (2, 2, 0, 2, 0)

    decoder, _, _ = _pair([2, 3, 4, 5, 6], [2, 3, 4, 5, 6])
    stats = decoder.generate(PROMPT, lookahead=5, stop="d").stats
    assert (stats.proposed, stats.accepted, stats.rejected, stats.emitted, stats.bonus_tokens) == (2, 2, 0, 2, 0)


def _end(result: GenerationResult) -> tuple[str, str, int]:
    check_counters(result)
    return result.finish_reason, result.text, len(result.tokens)


@pytest.mark.parametrize("lookahead", [0, 1, 4])
@pytest.mark.parametrize(
    ("options", "end"),
    [
        ({}, ("stop", "cde", 4)),
        ({"max_tokens": 3}, ("length", "cde", 3)),
        ({"max_tokens": 4}, ("stop", "cde", 4)),
        ({"stop": "e"}, ("stop", "cd", 3)),
        ({"stop": ["zz", "de"]}, ("stop", "c", 3)),
        ({"stop": "cde", "max_tokens": 3}, ("stop", "", 3)),
        ({"stop": "ex"}, ("stop", "cde", 4)),
        ({"stop": "ex", "max_tokens": 3}, ("length", "cde", 3)),
        ({"stop_tokens": [3]}, ("stop", "c", 2)),
        ({"stop_tokens": 2}, ("stop", "", 1)),
    ],
)
def test_finish_reasons(lookahead: int, options: dict[str, Any], end: tuple[str, str, int]) -> None:
    decoder, _, _ = _pair([2, 3, 4, 7, 5, 6], [2, 3, 4, 7, 5, 6], eos_token_ids=[7])
    events = list(decoder.stream(PROMPT, lookahead=lookahead, **options))
    assert isinstance(events[-1], Finished)
    assert _end(events[-1].result) == end
    assert "".join(event.text for event in events if isinstance(event, TokenEvent)) == end[1]


@pytest.mark.parametrize("lookahead", [0, 1, 4])
def test_end_of_the_context(lookahead: int) -> None:
    decoder, target, _ = _pair([2, 3] * 8, [2, 3] * 8, context_length=6)
    result = decoder.generate(PROMPT, lookahead=lookahead)
    assert _end(result) == ("context", "cdcdcd", 6)
    assert target.length == 6


def test_prompt_that_fills_the_context() -> None:
    decoder = _decoder(FakeBackend(context_length=4))
    assert decoder.generate([1, 2, 3, 4]).finish_reason == "context"
    with pytest.raises(ContextFull, match="has 5 tokens, but the context holds only 4"):
        decoder.generate([1, 2, 3, 4, 5])
    assert decoder.generate([1, 2, 3, 4]).stats.emitted == 1


def test_token_that_does_not_exist() -> None:
    decoder = _decoder(FakeBackend(8), FakeBackend(8, 1))
    for prompt in ([9, 1], [1, 9], [-1, 1], [1, -1], [2**70]):
        with pytest.raises(TokenOutOfRange, match="not in the vocabulary"):
            decoder.generate(prompt, max_tokens=4)
    assert decoder.generate([1, 2], max_tokens=4).stats.emitted == 4


@pytest.mark.parametrize("lookahead", [0, 4])
def test_error_in_the_middle_keeps_what_there_is(lookahead: int) -> None:
    def script(history: Sequence[int]) -> int | None:
        return 2 if len(history) < 9 else None

    target = ScriptedBackend(letters(), script)
    decoder = _decoder(target, ScriptedBackend(letters(), recite([3] * 40)))
    seen: list[Event] = []
    with pytest.raises(DegenerateDistribution):
        seen.extend(decoder.stream(PROMPT, lookahead=lookahead))
    assert isinstance(seen[-1], Finished)
    result = seen[-1].result
    assert result.finish_reason == "error"
    assert 0 < len(result.tokens) <= 8
    assert list(target.tokens) == [*PROMPT, *result.tokens][:-1]


def test_error_before_the_first_token() -> None:
    decoder = _decoder(ScriptedBackend(letters(), lambda _: None))
    with pytest.raises(DegenerateDistribution):
        list(decoder.stream(PROMPT))
    assert decoder.target is not None
    assert decoder.target.length == 0


def test_broken_draft_ends_the_reply_as_an_error() -> None:
    decoder = _decoder(FakeBackend(8), ScriptedBackend(letters(), lambda _: None))
    with pytest.raises(DegenerateDistribution):
        decoder.generate(PROMPT, max_tokens=4)
    decoder.attach_draft(None)
    assert decoder.generate(PROMPT, max_tokens=4).stats.emitted == 4


def test_unknown_option() -> None:
    with pytest.raises(InvalidRequest, match="Unknown option 'temprature'"):
        _decoder(FakeBackend()).generate(PROMPT, temprature=1.0)  # type: ignore[call-arg]
