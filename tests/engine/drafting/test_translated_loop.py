"""A draft with another tokenizer, through the loop: the output is the target's, in every single draw."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from engine.backends.base import Backend, Rewind
from engine.config import SamplingConfig, SpeculationConfig
from engine.drafting.base import Draft, Drafter, GoesOn
from engine.drafting.none import NoDrafter
from engine.drafting.translated import TranslatedDrafter
from engine.events import Finished, GenerationResult, RoundEvent, TokenEvent
from engine.generation.loop import GenerationLoop
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.fakes import PieceTokenizer
from helpers.decoding.joint import BROKEN, ENOUGH, Setting
from helpers.decoding.loop_plans import loop_plan


@dataclass
class Watch:
    """Looks after a drafter in every round."""

    target: Backend
    draft: Backend
    committed: list[int]

    def check(self) -> None:
        """The draft's cache is a beginning of the committed text, in tokens of its own."""
        text = b"".join(map(self.target.tokenizer.piece, self.committed))
        held = b"".join(map(self.draft.tokenizer.piece, self.draft.tokens))
        assert text.startswith(held)


def _reply(
    target: FakeBackend,
    make: Callable[[int], Drafter],
    sampling: SamplingConfig,
    watch: Watch | None,
    lookahead: int = 4,
    length: int = 40,
) -> GenerationResult:
    prompt = [1, 2, 3]
    plan = loop_plan(target, make(5), sampling, prompt, lookahead=lookahead, length=length)
    result: GenerationResult | None = None
    tokens: list[int] = []
    with closing(GenerationLoop(plan).run()) as events:
        for event in events:
            if isinstance(event, TokenEvent):
                tokens.append(event.token)
            elif isinstance(event, RoundEvent) and watch is not None:
                watch.committed = [*prompt, *tokens]
                watch.check()
            elif isinstance(event, Finished):
                result = event.result
    assert result is not None
    return result


THEIRS = [b"a", b"b", b"ab", b"ba", b"c", b"bc"]
OURS = [b"b", b"a", b"c", b"abc", b"bb", b"ca", b"cab"]
KINDS = [Rewind("any"), Rewind("snapshots", 1), Rewind("window", 3), Rewind("none")]


def _pair(rewind: Rewind) -> tuple[FakeBackend, FakeBackend]:
    target, draft = FakeBackend(len(THEIRS), 11), FakeBackend(len(OURS), 23, rewind=rewind)
    target.tokenizer, draft.tokenizer = PieceTokenizer(THEIRS), PieceTokenizer(OURS)
    return target, draft


@pytest.mark.parametrize("rewind", KINDS, ids=lambda rewind: str(rewind.kind))
@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_the_cache_after_every_round(rewind: Rewind, temperature: float) -> None:
    target, draft = _pair(rewind)
    sampling = SamplingConfig(temperature=temperature)
    plain = _reply(target, lambda _: NoDrafter(), sampling, None, 0)
    accepted = 0
    for lookahead in (1, 2, 4, 9, 32):
        result = _reply(
            target,
            lambda seed: TranslatedDrafter(draft, target.tokenizer, len(THEIRS), sampling, seed),
            sampling,
            Watch(target, draft, []),
            lookahead,
        )
        accepted += result.stats.accepted
        # Exact match draws as plain decoding does, so that a seed gives the very same reply.
        assert result.tokens == plain.tokens
    assert accepted > 0


def test_same_seed_same_rounds() -> None:
    target, draft = _pair(Rewind("any"))
    sampling = SamplingConfig(temperature=1.0)
    results = [
        _reply(
            target,
            lambda seed: TranslatedDrafter(draft, target.tokenizer, len(THEIRS), sampling, seed),
            sampling,
            None,
        )
        for _ in range(2)
    ]
    assert results[0].tokens == results[1].tokens
    assert results[0].stats.proposed == results[1].stats.proposed
    assert results[0].stats.accepted == results[1].stats.accepted


def test_a_round_late_in_a_reply_costs_no_more() -> None:
    """However long the reply has become, as much text is encoded and as many tokens are fed."""
    target, draft = _pair(Rewind("any"))
    work: list[tuple[int, int]] = []

    class Watched(PieceTokenizer):
        def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
            work.append((len(draft.tokens), len(text)))
            return super().encode(text, add_special=add_special, parse_special=parse_special)

    target.tokenizer, draft.tokenizer = Watched(THEIRS), Watched(OURS)
    sampling = SamplingConfig(temperature=1.0)
    _reply(
        target,
        lambda seed: TranslatedDrafter(draft, target.tokenizer, len(THEIRS), sampling, seed),
        sampling,
        None,
        length=600,
    )
    early = max(size for length, size in work if length < 300)
    late = max(size for length, size in work if length >= 300)
    assert late <= max(early, 160)
    assert max(draft.forwards) < 100


SAMPLES, MANY = 600, 1_800
"""The break shows with 200."""


def _setting(temperature: float, kind: type[TranslatedDrafter], rewind: Rewind) -> Setting:
    target, draft = _pair(rewind)

    def make(
        backend: Backend, vocab_size: int, sampling: SamplingConfig, seed: int, **options: Any
    ) -> TranslatedDrafter:
        return kind(backend, target.tokenizer, vocab_size, sampling, seed, **options)

    return Setting(target, draft, SamplingConfig(temperature), SpeculationConfig(lookahead=4), None, make_drafter=make)


@pytest.mark.parametrize("samples", [SAMPLES, pytest.param(MANY, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("temperature", "rewind"), [(0.7, KINDS[0]), (1.0, KINDS[1])])
def test_joint_distribution_is_the_targets(temperature: float, rewind: Rewind, samples: int) -> None:
    assert _setting(temperature, TranslatedDrafter, rewind).p_value(samples) >= ENOUGH


class Boasts(TranslatedDrafter):
    """Gives its proposals probabilities that they were not drawn from."""

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        draft = super().propose(n)
        uniform = np.full(len(THEIRS), 1.0 / len(THEIRS))
        return draft._replace(probs=tuple(uniform for _ in draft.tokens))


def test_invented_probabilities_are_noticed() -> None:
    assert _setting(1.0, Boasts, Rewind("any")).broken_p_value(SAMPLES) < BROKEN
