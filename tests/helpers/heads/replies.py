"""Replies with draft heads, and what must hold of every one of them."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.events import GenerationResult, TokenEvent
from helpers.decoding.invariants import follow
from helpers.decoding.joint import Prefix, two_sample_p
from helpers.models.pairs import CLOSE, assert_same_greedy

PROMPT = [1, 40, 41, 42, 43, 44]
SAMPLES = 400
PIECE = 16
"""Of so many tokens states behind the norm are computed too."""
Chain = Callable[[Sequence[int], NDArray[np.float32], Sequence[int]], NDArray[np.float32]]


def open_with_heads(target: Path, heads: Path | None, **options: Any) -> SpeculativeDecoder:
    """A decoder with models that are known to be sound."""
    decoder = SpeculativeDecoder()
    decoder.attach_target(LoadConfig(target, threads=1, trusted=True, **options))
    if heads is not None:
        decoder.attach_heads(LoadConfig(heads, trusted=True))
    return decoder


def open_in_folder(target: Path, heads: Path) -> SpeculativeDecoder:
    """A decoder with a target in a folder, and heads."""
    decoder = SpeculativeDecoder()
    try:
        decoder.attach_target(LoadConfig(target, threads=1, device="cpu"))
        decoder.attach_heads(heads)
    except BaseException:
        decoder.close()
        raise
    return decoder


def follow_heads(decoder: SpeculativeDecoder, prompt: list[int] = PROMPT, **options: Any) -> GenerationResult:
    """A reply whose caches are looked at after every round; the head holds the text, and nothing rejected."""
    heads = decoder.heads
    assert heads is not None
    merged: dict[str, Any] = {"temperature": 0.0, "max_tokens": 60, "method": heads.method} | options
    seen = follow(decoder, prompt, decoder.stream(prompt, **merged))
    assert seen.result is not None
    text = [*prompt, *seen.result.tokens]
    assert list(heads.tokens) == text[: heads.length]
    assert heads.length >= len(text) - 2
    return seen.result


def check_text(
    decoder: SpeculativeDecoder, *ways: dict[str, Any], tokens: int = 40, least: int = 3, close: float = CLOSE
) -> list[GenerationResult]:
    """Return a reply in each way; all are the target's own, in one pass a round, with proposals of both ends."""
    assert decoder.target is not None
    assert decoder.heads is not None
    plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=tokens, lookahead=0)
    found = [follow_heads(decoder, max_tokens=tokens, **way) for way in ways]
    for result in found:
        assert_same_greedy(decoder.target, PROMPT, plain, result, close=close)
        assert result.method == decoder.heads.method
        assert result.stats.accepted > least
        assert result.stats.target_forwards == result.stats.rounds
    assert sum(result.stats.rejected for result in found) > least * len(found)
    return found


class Recorder:
    """Shows the states of a text to nobody but the test."""

    def __init__(self, layers: Sequence[int]) -> None:
        self.state_layers = layers
        self.states: list[NDArray[np.float32]] = []

    def read_states(self, first: int, tokens: Sequence[int], states: NDArray[np.float32]) -> None:
        """Keep them."""
        assert len(tokens) == len(states)
        del self.states[first:]
        self.states.extend(states.copy())


def states_of(decoder: SpeculativeDecoder, text: Sequence[int]) -> NDArray[np.float32]:
    """Return the states of a text that the heads read; the target is shown to them again then."""
    heads, target = decoder.heads, decoder.target
    assert heads is not None
    assert target is not None
    recorder = Recorder(heads.state_layers)
    target.show_states(recorder)
    target.truncate(0)
    for start in range(0, len(text), PIECE):
        target.forward(text[start : start + PIECE], 1)
    target.show_states(heads)
    return np.stack(recorder.states)


def compare_proposals(
    decoder: SpeculativeDecoder,
    chain: Chain,
    monkeypatch: pytest.MonkeyPatch,
    prompt: list[int] = PROMPT,
    **options: Any,
) -> tuple[int, int]:
    """In a reply with rejections, each row of the head must be what the formulas give for the committed text, to 1e-4.

    `chain`: from tokens, the states of all but the last, and proposals, the rows that these are drawn from.
    Gives how many rows were compared, and how far behind the text the last of them lay.
    """
    heads = decoder.heads
    assert heads is not None
    rows: list[tuple[list[int], int, NDArray[np.float32]]] = []
    original = heads.forward

    def watched(tokens: Sequence[int], n_outputs: int) -> Any:
        found = original(tokens, n_outputs)
        if n_outputs:
            rows.append((list(heads.tokens), heads.length - heads.seen - 1, found[0].copy()))
        return found

    monkeypatch.setattr(heads, "forward", watched)
    result = follow_heads(decoder, prompt, **{"lookahead": 4, "max_tokens": 40} | options)
    assert result.stats.rejected > 5
    text = [*prompt, *result.tokens]
    states = states_of(decoder, text)
    compared = behind = 0
    for tokens, own, row in rows[:60]:
        if tokens != text[: len(tokens)]:
            continue  # Behind a rejected token: that text was never the target's.
        pending = len(tokens) - own
        expected = chain(tokens[:pending], states[: pending - 1], [*tokens[pending:], 0])[-1]
        finite = np.isfinite(expected)
        assert np.array_equal(finite, np.isfinite(row))
        assert np.abs(row[finite] - expected[finite]).max() < 1e-4
        compared += 1
        behind = max(behind, own)
    return compared, behind


def draws_alike(decoder: SpeculativeDecoder, **options: Any) -> float:
    """The p-value of the first three tokens of replies at temperature 0.8: with heads against plain decoding."""

    def draw(first: int, **options: Any) -> Counter[Prefix]:
        found: Counter[Prefix] = Counter()
        for seed in range(first, first + SAMPLES):
            reply = decoder.generate(
                PROMPT, seed=seed, temperature=0.8, top_k=6, max_tokens=12, on_token=_until_third, **options
            )
            found[reply.tokens] += 1
        return found

    assert decoder.heads is not None
    plain = draw(10**9, lookahead=0)
    decoder.reset_stats()
    drafted = draw(0, **({"method": decoder.heads.method, "lookahead": 3} | options))
    assert decoder.stats.accepted > SAMPLES / 5
    assert decoder.stats.rejected > SAMPLES / 5
    return two_sample_p(plain, drafted)


def _until_third(event: TokenEvent) -> bool:
    return event.position < 2
