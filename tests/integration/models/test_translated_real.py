"""Real drafts with other tokenizers than their targets: the greedy text is the target's own, token for token."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import LoadConfig, SamplingConfig
from engine.drafting.base import Drafter
from engine.drafting.none import NoDrafter
from engine.drafting.translated import TranslatedDrafter
from engine.events import Finished, GenerationResult, RoundEvent, TokenEvent
from engine.generation.loop import GenerationLoop
from engine.library.compat import judge_backends
from engine.loading.open import open_backend
from helpers.decoding.invariants import check_counters
from helpers.decoding.loop_plans import loop_plan
from helpers.models.pairs import assert_same_greedy
from helpers.seldom import often

PAIRS = {
    ("stories260K-F32", "babyllama361-F32"): 0.4,
    ("babyllama361-F32", "stories260K-F32"): 0.35,
    ("stories260K-F32", "babyllama-byte256-F32"): 0.4,
    ("stories-mamba131K-F32", "babyllama361-F32"): 0.25,
    ("babyllama361-F32", "stories-mamba131K-F32"): 0.1,
    ("demo-target", "stories260K-F32"): 0.0,
}
"""Target and draft, and the least share of the proposals that must be accepted with a lookahead of 4.

Pieces for letters and letters for pieces, raw bytes, recurrent models on either side, and byte-level tokens.
"""
LOOKAHEADS = (1, 2, 4, 8, 16, 32)
STORY = "Once upon a time"
ODD = {
    "emoji": "Lily 😀 and her 👩‍👩‍👧 went",
    "right-to-left": "Tim said שלום עולם and مرحبا",
    "newlines": "One day.\n\n\tTim\r\n  went  ",
    "accents": "Zoë ate crêpes — naïve",
}
Open = Callable[[str], Backend]


@pytest.fixture(scope="module")
def opened(shared_gguf: Callable[[str], Path], bundled_target: Path) -> Iterator[Open]:
    """Opens a model once for all tests here."""
    known: dict[str, Backend] = {}

    def open_once(name: str) -> Backend:
        if name not in known:
            path = bundled_target if name == "demo-target" else shared_gguf(name)
            known[name] = open_backend(LoadConfig(path, None, 1, trusted=True))
        return known[name]

    yield open_once
    for backend in known.values():
        backend.close()


def _reply(
    target: Backend,
    draft: Backend | None,
    prompt: list[int],
    lookahead: int,
    sampling: SamplingConfig | None = None,
    *,
    length: int = 60,
) -> GenerationResult:
    """A reply, after every round of which the draft's cache was found to hold committed text alone."""
    drawn = sampling or SamplingConfig()
    drafter: Drafter = NoDrafter()
    if draft is not None:
        stop = target.eos_token_ids
        drafter = TranslatedDrafter(draft, target.tokenizer, target.vocab_size, drawn, 3, stop_tokens=stop)
    plan = loop_plan(target, drafter, drawn, prompt, lookahead=lookahead, length=length, seed=3)
    tokens = list(prompt)
    with closing(GenerationLoop(plan).run()) as events:
        for event in events:
            if isinstance(event, TokenEvent):
                tokens.append(event.token)
            elif isinstance(event, RoundEvent) and draft is not None:
                held = b"".join(map(draft.tokenizer.piece, draft.tokens)).strip()
                assert held in b"".join(map(target.tokenizer.piece, tokens))
            elif isinstance(event, Finished):
                check_counters(event.result)
                return event.result
    raise AssertionError("there is no result")


def _prompt(target: Backend, text: str) -> list[int]:
    return target.tokenizer.encode(text, add_special=True, parse_special=False)


@pytest.mark.parametrize("names", PAIRS, ids="-with-".join)
def test_greedy_text_is_the_targets(opened: Open, names: tuple[str, str]) -> None:
    target, draft = map(opened, names)
    prompt = _prompt(target, STORY)
    # A draft that is hardly ever right takes a round for each token.
    length = 60 if PAIRS[names] else 24
    plain = _reply(target, None, prompt, 0, length=length)
    for lookahead in LOOKAHEADS:
        other = _reply(target, draft, prompt, lookahead, length=length)
        assert_same_greedy(target, prompt, plain, other)
        assert other.stats.accepted > 0
        if lookahead == 4:
            assert other.stats.accepted >= PAIRS[names] * other.stats.proposed
            assert other.stats.rounds < plain.stats.rounds


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
@pytest.mark.parametrize("names", often([*PAIRS][:3], next(iter(PAIRS))), ids="-with-".join)
def test_odd_texts(opened: Open, names: tuple[str, str], text: str) -> None:
    target, draft = map(opened, names)
    prompt = _prompt(target, text)
    plain = _reply(target, None, prompt, 0, length=40)
    for lookahead in (2, 16):
        assert_same_greedy(target, prompt, plain, _reply(target, draft, prompt, lookahead, length=40))


def test_text_that_the_draft_cannot_write(opened: Open, shared_models: Path) -> None:
    """A draft without byte tokens has none for a newline or an emoji: it drafts on from behind them."""
    path = shared_models / "gguf" / "fragile" / "babyllama105-F32.gguf"
    target, draft = opened("stories260K-F32"), open_backend(LoadConfig(path, None, 1, trusted=True))
    prompt = _prompt(target, "😀\nOnce upon a time")
    plain = _reply(target, None, prompt, 0)
    for lookahead in (1, 4):
        other = _reply(target, draft, prompt, lookahead)
        assert_same_greedy(target, prompt, plain, other)
        assert other.stats.accepted > 0
    bare = _reply(target, draft, _prompt(target, "Tim 😀"), 4)
    assert_same_greedy(target, _prompt(target, "Tim 😀"), _reply(target, None, _prompt(target, "Tim 😀"), 0), bare)
    draft.close()


def test_reply_longer_than_the_drafts_context(opened: Open) -> None:
    """The draft holds 256 tokens and the reply has more: it goes on from the last part of it."""
    target, draft = opened("stories260K-F32"), opened("babyllama361-F32")
    prompt = _prompt(target, STORY)
    plain = _reply(target, None, prompt, 0, length=300)
    other = _reply(target, draft, prompt, 4, length=300)
    assert len(other.text) > 2 * draft.context_length
    assert_same_greedy(target, prompt, plain, other)
    late = _reply(target, draft, [*prompt, *plain.tokens[:200]], 4, length=40)
    assert late.stats.accepted > 0.3 * late.stats.proposed


def test_files_of_either_kind_meet(opened: Open, shared_models: Path) -> None:
    """A GGUF file and a safetensors folder of one model share a vocabulary; those of two go through text."""
    pytest.importorskip("transformers")
    target = opened("stories260K-F32")
    same, other = (
        open_backend(LoadConfig(shared_models / "hf" / name, None, 1, trusted=True))
        for name in ("stories260K", "babyllama361")
    )
    assert judge_backends(target, same).fits
    assert judge_backends(same, target).fits
    for ours, theirs in ((target, other), (other, target)):
        assert judge_backends(ours, theirs).through_text
        prompt = _prompt(ours, STORY)
        plain = _reply(ours, None, prompt, 0, length=40)
        reply = _reply(ours, theirs, prompt, 4, length=40)
        assert_same_greedy(ours, prompt, plain, reply)
        assert reply.stats.accepted > 0.3 * reply.stats.proposed
    same.close()
    other.close()


def test_a_seed_repeats(opened: Open) -> None:
    target, draft = opened("stories260K-F32"), opened("babyllama361-F32")
    sampling = SamplingConfig(temperature=0.7)
    replies = [_reply(target, draft, _prompt(target, STORY), 4, sampling) for _ in range(2)]
    assert replies[0].tokens == replies[1].tokens
    assert replies[0].stats.proposed == replies[1].stats.proposed
    assert replies[0].stats.accepted > 0


def test_next_turn_reads_only_what_is_new(opened: Open) -> None:
    target, draft = opened("babyllama361-F32"), opened("stories260K-F32")
    prompt = _prompt(target, STORY)
    first = _reply(target, draft, prompt, 4)
    drafter = TranslatedDrafter(draft, target.tokenizer, target.vocab_size, SamplingConfig(), 3)
    held = len(draft.tokens)
    drafter.begin([*prompt, *first.tokens], CancelToken())
    assert len(draft.tokens) > 10
    assert abs(len(draft.tokens) - held) < 6
