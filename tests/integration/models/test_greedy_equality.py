"""Greedy speculative text is the target's own, token for token, with every pair and every lookahead."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.config import Prompt
from engine.decoder import SpeculativeDecoder
from helpers.decoding.invariants import check_counters
from helpers.models.pairs import CLOSE, PAIRS, assert_same_greedy, held_out_prompts, open_files, open_shared
from helpers.seldom import often

LOOKAHEADS = (1, 2, 4, 8, 16, 32)
PROMPTS = ("Once upon a time", "The little dog", "Lily and Tom went", "One day", "She was very happy because")


@pytest.fixture(params=often(PAIRS, *PAIRS[::2], PAIRS[7]), ids=lambda pair: f"{pair[0]}-with-{pair[1]}")
def pair(request: pytest.FixtureRequest, shared_gguf: Callable[[str], Path]) -> Iterator[SpeculativeDecoder]:
    for name in request.param:
        shared_gguf(name)
    with open_shared(*request.param) as decoder:
        yield decoder


def _compare(decoder: SpeculativeDecoder, prompt: str, lookaheads: tuple[Any, ...], **options: Any) -> tuple[int, int]:
    """How many tokens were alike and how many there were, over all lookaheads."""
    assert decoder.target is not None
    tokens = decoder.target.tokenizer.encode(prompt, add_special=True, parse_special=False)
    alike = total = 0
    plain = decoder.generate(tokens, lookahead=0, **options)
    for lookahead in lookaheads:
        other = decoder.generate(tokens, lookahead=lookahead, **options)
        assert other.stats.proposed > 0
        check_counters(other)
        alike += assert_same_greedy(decoder.target, tokens, plain, other)
        total += len(plain.tokens)
    return alike, total


def test_every_pair(pair: SpeculativeDecoder) -> None:
    alike, total = _compare(pair, PROMPTS[0], LOOKAHEADS, max_tokens=100)
    assert alike > 0.9 * total


@pytest.mark.parametrize("options", [{"force_n1": True}, {"acceptance": "exact"}, {"repeat_penalty": 1.3}])
def test_other_settings(shared_gguf: Callable[[str], Path], options: dict[str, Any]) -> None:
    shared_gguf(PAIRS[0][0])
    with open_shared(*PAIRS[0]) as decoder:
        _compare(decoder, PROMPTS[0], (4, "adaptive", "auto"), max_tokens=100, **options)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("prompt", PROMPTS)
def test_every_pair_at_length(pair: SpeculativeDecoder, prompt: str) -> None:
    _compare(pair, prompt, (*LOOKAHEADS, "adaptive", "auto"), max_tokens=400)


def _compare_chat(decoder: SpeculativeDecoder, prompts: list[Prompt], lookaheads: tuple[int, ...], most: int) -> None:
    assert decoder.target is not None
    for prompt in prompts:
        plain = decoder.generate(prompt, lookahead=0, max_tokens=most)
        tokens = list(decoder.target.tokens)[: plain.prompt_tokens]
        assert len(tokens) == plain.prompt_tokens
        for lookahead in lookaheads:
            other = decoder.generate(prompt, lookahead=lookahead, max_tokens=most)
            check_counters(other)
            assert_same_greedy(decoder.target, tokens, plain, other)


def test_bundled_pair(bundled_target: Path, bundled_draft: Path) -> None:
    with open_files(bundled_target, bundled_draft, threads=1) as decoder:
        _compare_chat(decoder, held_out_prompts(4), (1, 4, 32), most=80)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_bundled_pair_with_fifty_prompts(bundled_target: Path, bundled_draft: Path) -> None:
    prompts = held_out_prompts(50)
    assert len({str(prompt) for prompt in prompts}) == 50
    with open_files(bundled_target, bundled_draft, threads=1) as decoder:
        _compare_chat(decoder, prompts, LOOKAHEADS, most=200)


def test_the_excuse_needs_a_gap(shared_gguf: Callable[[str], Path]) -> None:
    """Two replies that differ where the target is sure are not excused."""
    shared_gguf(PAIRS[0][0])
    with open_shared(PAIRS[0][0], None) as decoder:
        assert decoder.target is not None
        tokens = decoder.target.tokenizer.encode(PROMPTS[0], add_special=True, parse_special=False)
        plain = decoder.generate(tokens, max_tokens=12)
        drawn = decoder.generate(tokens, max_tokens=12, temperature=3.0, seed=1)
        assert plain.tokens != drawn.tokens
        with pytest.raises(AssertionError, match="gap"):
            assert_same_greedy(decoder.target, tokens, plain, drawn)
        assert CLOSE == 1e-3
