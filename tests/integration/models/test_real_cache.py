"""The caches of real models after every round, and what a second turn costs."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from engine.decoder import SpeculativeDecoder
from engine.events import TokenEvent
from helpers.decoding.invariants import check_caches, follow
from helpers.models.pairs import PAIRS, open_files, open_shared
from helpers.seldom import often

CHOSEN = [PAIRS[0], PAIRS[6], PAIRS[7], PAIRS[8], PAIRS[10]]
DRAWN: dict[str, Any] = {"temperature": 0.8, "seed": 3}


@pytest.fixture(scope="module", params=CHOSEN, ids=lambda pair: f"{pair[0]}-with-{pair[1]}")
def pair(request: pytest.FixtureRequest, shared_gguf: Callable[[str], Path]) -> Iterator[SpeculativeDecoder]:
    for name in request.param:
        shared_gguf(name)
    with open_shared(*request.param) as decoder:
        yield decoder


def _prompt(decoder: SpeculativeDecoder, text: str = "Once upon a time") -> list[int]:
    assert decoder.target is not None
    return decoder.target.tokenizer.encode(text, add_special=True, parse_special=False)


@pytest.mark.parametrize("lookahead", often([1, 2, 4, 7, 16, 32, "adaptive", "auto"], 1, 4, 16, "auto"))
@pytest.mark.parametrize("sampling", [{}, DRAWN], ids=["greedy", "drawn"])
def test_after_every_round(pair: SpeculativeDecoder, lookahead: Any, sampling: dict[str, Any]) -> None:
    prompt = _prompt(pair)
    seen = follow(pair, prompt, pair.stream(prompt, lookahead=lookahead, max_tokens=70, **sampling))
    assert seen.result is not None
    assert seen.text == seen.result.text
    assert len(seen.rounds) == seen.result.stats.target_forwards


@pytest.mark.parametrize("options", [{"force_n1": True}, {"min_draft_confidence": 0.6}, {"stop": "the"}])
def test_other_rounds(pair: SpeculativeDecoder, options: dict[str, Any]) -> None:
    prompt = _prompt(pair)
    follow(pair, prompt, pair.stream(prompt, max_tokens=60, **options, **DRAWN))


def test_what_is_in_the_cache_is_what_was_fed(pair: SpeculativeDecoder) -> None:
    """The row after a speculative reply is the row of a fresh reading: nothing rejected is left in the state."""
    prompt = _prompt(pair)
    result = pair.generate(prompt, lookahead=7, max_tokens=60, temperature=1.5, seed=3)
    assert result.stats.rejected > 0
    for backend in (pair.target, pair.draft):
        assert backend is not None
        held = [*prompt, *result.tokens][: backend.length]
        assert list(backend.tokens) == held
        row = backend.forward([result.tokens[-1]], 1)[0].copy()
        backend.truncate(0)
        for token in held:
            backend.forward([token], 0)
        assert backend.forward([result.tokens[-1]], 1)[0] == pytest.approx(row, abs=0.02)


def test_iterator_closed_early(pair: SpeculativeDecoder) -> None:
    prompt = _prompt(pair)
    for steps in (1, 3, 6, 9):
        events = pair.stream(prompt, lookahead=5, **DRAWN)
        tokens = [event.token for event in islice(events, steps) if isinstance(event, TokenEvent)]
        events.close()
        if tokens:
            check_caches(pair, [*prompt, *tokens])


def test_second_turn_reads_only_what_is_new(pair: SpeculativeDecoder) -> None:
    prompt = _prompt(pair)
    first = pair.generate(prompt, lookahead=4, max_tokens=20, **DRAWN)
    following = [*prompt, *first.tokens, *_prompt(pair, "Then")[-2:]]
    second = pair.generate(following, lookahead=4, max_tokens=20, **DRAWN)
    assert second.prompt_tokens == len(following)
    assert second.prompt_evaluated == 3
    fresh = pair.generate([following[0]], max_tokens=1)
    assert fresh.prompt_evaluated == 1


def test_second_turn_of_a_chat(bundled_target: Path, bundled_draft: Path) -> None:
    with open_files(bundled_target, bundled_draft, threads=1) as decoder:
        turns = [{"role": "user", "content": "Hello! How are you today?"}]
        first = decoder.generate(turns, max_tokens=200)
        assert first.finish_reason == "stop"
        assert first.prompt_evaluated == first.prompt_tokens
        turns += [{"role": "assistant", "content": first.text}, {"role": "user", "content": "Tell me a story."}]
        second = decoder.generate(turns, max_tokens=50)
        assert second.prompt_tokens > first.prompt_tokens + len(first.tokens)
        # All of the first turn and the reply, but for the tokens around the end of the reply, was in the cache.
        assert second.prompt_evaluated <= second.prompt_tokens - first.prompt_tokens - len(first.tokens) + 3
