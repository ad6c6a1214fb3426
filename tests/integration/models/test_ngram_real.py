"""The n-gram index with real models, alone and before a draft model: the target's own text, in fewer rounds."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.decoder import SpeculativeDecoder
from engine.events import GenerationResult
from engine.stats import GenerationStats
from helpers.decoding.invariants import check_counters, follow
from helpers.models.pairs import assert_same_greedy, held_out_prompts, open_files, open_shared

ALONE: dict[str, Any] = {"method": "ngram"}
BEFORE_DRAFT: dict[str, Any] = {"sources": ("ngram", "draft-model")}
PLAIN: dict[str, Any] = {"method": "autoregressive"}

STORY = "Once upon a time, there was a little girl named Lily. She loved to play outside. Once upon a time, there was"
REPEAT = (
    (
        "Rewrite this text with an exclamation mark at the end: The singing kangaroo threw David near the library. "
        "Where did the sailor easy the carrot? Ask Tyrk at kyAmau about the noon."
    ),
    (
        "Rosa's rabbit fell into the tower. Clara sold the famous donkey after the storm. How did the wizard example "
        "the rice.\n\nRewrite this with a question mark at the end."
    ),
    (
        "Rewrite this text in quotation marks: My pumpkin is orange, but your pumpkin is silver. We cleaned the quite "
        "and took the mole. Include speak hurt reply."
    ),
    (
        "Usual low put spot form. The weather in Lisbon was famous at 32 o'clock. The meeting is today in room 24. "
        "DRI-6640 is the number of the cut.\n\nRewrite this without the first sentence."
    ),
)
"""Texts to write again with one change."""


@pytest.fixture
def demo(bundled_target: Path, bundled_draft: Path) -> Iterator[SpeculativeDecoder]:
    with open_files(bundled_target, bundled_draft) as decoder:
        yield decoder


def _plain_and_other(
    decoder: SpeculativeDecoder, prompt: Any, most: int, options: dict[str, Any]
) -> tuple[GenerationResult, GenerationResult]:
    """Both replies to a prompt, which must be the same."""
    assert decoder.target is not None
    plain = decoder.generate(prompt, max_tokens=most, **PLAIN)
    tokens = list(decoder.target.tokens)[: plain.prompt_tokens]
    other = decoder.generate(prompt, max_tokens=most, **options)
    check_counters(other)
    assert_same_greedy(decoder.target, tokens, plain, other)
    return plain, other


def _tokens(decoder: SpeculativeDecoder, text: str) -> list[int]:
    assert decoder.target is not None
    return decoder.target.tokenizer.encode(text, add_special=True, parse_special=False)


@pytest.mark.parametrize("options", [ALONE, BEFORE_DRAFT], ids=["alone", "before-draft"])
def test_repeating_with_one_change_is_quick(demo: SpeculativeDecoder, options: dict[str, Any]) -> None:
    total = GenerationStats()
    for prompt in REPEAT:
        plain, other = _plain_and_other(demo, prompt, 80, options)
        assert plain.finish_reason == "stop"
        total += other.stats
    index = next(each for each in total.by_method if each.name == "ngram")
    assert index.acceptance_rate > 0.6
    assert index.accepted > total.emitted / 3
    assert total.mean_length > 2.0


def test_free_prose_is_left_alone(demo: SpeculativeDecoder) -> None:
    """What is not there already is hardly ever proposed: few rounds have more than one token to verify."""
    _, other = _plain_and_other(demo, "Tell me a story about a brave little fox.", 120, ALONE)
    assert other.stats.emitted > 40
    assert sum(other.stats.forwards_by_size[1:]) < 0.1 * other.stats.rounds


@pytest.mark.parametrize("options", [ALONE, BEFORE_DRAFT], ids=["alone", "before-draft"])
def test_held_out_prompts(demo: SpeculativeDecoder, options: dict[str, Any]) -> None:
    for prompt in held_out_prompts(6):
        _plain_and_other(demo, prompt, 60, options)


def test_a_loop_is_ridden_to_its_end(shared_gguf: Callable[[str], Path]) -> None:
    """A model that says the same over and over when greedy: most of it is proposed and accepted."""
    shared_gguf("microlm-pro-F32")
    with open_shared("microlm-pro-F32", None) as decoder:
        _, other = _plain_and_other(decoder, _tokens(decoder, "The the the"), 200, ALONE)
        assert other.stats.acceptance_rate > 0.8
        assert other.stats.mean_length > 4.0


def test_caches_after_every_round(demo: SpeculativeDecoder) -> None:
    """The draft model keeps up while the index proposes, and no rejected token stays anywhere."""
    assert demo.target is not None
    plain = demo.generate(REPEAT[0], max_tokens=1, **PLAIN)
    prompt = list(demo.target.tokens)[: plain.prompt_tokens]
    seen = follow(demo, prompt, demo.stream(prompt, max_tokens=60, overlap="off", **BEFORE_DRAFT))
    assert {"ngram", "draft-model"} <= {event.source for event in seen.rounds}


def test_sampled_text_is_the_same_with_the_same_seed(shared_gguf: Callable[[str], Path]) -> None:
    """Proposals without probabilities are judged by exact match, with the very draw that plain decoding makes."""
    shared_gguf("stories260K-F32")
    with open_shared("stories260K-F32", None) as decoder:
        prompt = _tokens(decoder, STORY)
        proposed = 0
        for seed in range(4):
            options: dict[str, Any] = {"max_tokens": 80, "temperature": 0.8, "seed": seed}
            plain = decoder.generate(prompt, **options, **PLAIN)
            other = decoder.generate(prompt, **options, **ALONE)
            assert other.tokens == plain.tokens
            proposed += other.stats.proposed
        assert proposed > 20
