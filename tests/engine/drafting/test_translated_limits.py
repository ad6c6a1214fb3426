"""A draft with another tokenizer: texts that it cannot read, caches of all kinds, and how it draws."""

from dataclasses import replace
from typing import Any

import pytest

from engine.backends.base import Rewind
from engine.cancel import CancelToken
from engine.config import SamplingConfig
from engine.drafting.translated import TranslatedDrafter
from engine.errors import BackendFailure, Cancelled, TextNotEncodable
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.fakes import PieceTokenizer, ScriptedBackend
from helpers.decoding.translated import (
    GREEDY,
    LETTERS,
    SYLLABLES,
    WORDS,
    begun,
    drafter_for,
    ids,
    next_letter,
    reciter,
    texts,
)


class Strict(PieceTokenizer):
    """Refuses a character that no token can write, naming it."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        for character in text:
            if character.encode() not in self._pieces:
                raise TextNotEncodable(character)
        return super().encode(text, add_special=add_special, parse_special=parse_special)


def _strict(text: str, lacking: bytes) -> ScriptedBackend:
    pieces = [piece for piece in LETTERS if piece != lacking]
    backend = reciter(pieces, text)
    backend.tokenizer = Strict(pieces)
    return backend


def test_text_that_the_draft_cannot_write_is_left_out() -> None:
    """The draft reads what follows the last character that its vocabulary lacks."""
    backend = _strict(" cat", lacking=b".")
    assert texts(begun(backend, "The cat. Th. c").propose(1)) == [b"a"]
    assert begun(backend, "The cat.").propose(4).tokens == ()
    drafter = begun(backend, "The")
    drafter.observe(ids(WORDS, ". c"))
    assert texts(drafter.propose(1)) == [b"a"]
    drafter.observe(ids(WORDS, "."))
    assert drafter.propose(4).tokens == ()
    drafter.observe(ids(WORDS, " c"))
    assert texts(drafter.propose(1)) == [b"a"]


@pytest.mark.parametrize("error", [TextNotEncodable("\N{REPLACEMENT CHARACTER}"), BackendFailure("no result")])
def test_a_tokenizer_that_fails_leaves_the_draft_silent(error: Exception) -> None:
    class Failing(PieceTokenizer):
        def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
            if text or parse_special:
                raise error
            return []

    backend = reciter(LETTERS, "The cat")
    backend.tokenizer = Failing(LETTERS)
    drafter = begun(backend, "The")
    assert drafter.propose(4).tokens == ()
    drafter.observe(ids(WORDS, " cat"))
    assert drafter.propose(4).tokens == ()
    odd = begun(reciter(LETTERS, "The cat"), "The", tokenizer=Failing(WORDS), stop_tokens=frozenset([0, 1]))
    assert texts(odd.propose(1)) == [b" cat"]


def test_so_many_strange_characters_that_the_text_is_given_up() -> None:
    backend = _strict("cat", lacking=b".")
    drafter = drafter_for(backend, tokenizer=PieceTokenizer([*WORDS, *(chr(0x3041 + n).encode() for n in range(80))]))
    drafter.begin([*range(len(WORDS) + 79, len(WORDS) - 1, -1), *ids(WORDS, "ca")], CancelToken())
    assert drafter.propose(1).tokens == ()


def test_a_tokenizer_that_changes_letters_is_read_as_it_can() -> None:
    """A draft without capitals reads the text in small letters, and what it writes is in small letters."""

    class Small(PieceTokenizer):
        def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
            return super().encode(text.lower(), add_special=add_special, parse_special=parse_special)

    pieces = [piece for piece in LETTERS if piece != b"T"]
    backend = reciter(pieces, "the cat the cat")
    backend.tokenizer = Small(pieces)
    drafter = begun(backend, "The")
    assert texts(drafter.propose(1)) == [b" cat"]
    drafter.observe(ids(WORDS, " cat The"))
    assert texts(drafter.propose(1)) == [b" cat"]
    assert [pieces[token] for token in backend.tokens[:11]] == [bytes([byte]) for byte in b"the cat the"]


def test_window_is_never_asked_for_more() -> None:
    backend = reciter(LETTERS, "The cat sat.", rewind=Rewind("window", 4))
    drafter = begun(backend, "The")
    assert texts(drafter.propose(8)) == [b" cat"]
    assert backend.length == 3 + 4
    drafter.observe(ids(WORDS, "."))
    assert backend.length == 3


def test_cache_that_cannot_go_back_drafts_one_token() -> None:
    backend = reciter(SYLLABLES, "The cat sat.", rewind=Rewind("none"))
    drafter = begun(backend, "Th")
    assert texts(drafter.propose(8)) == [b"e"], "` c` may become ` ca`"
    assert drafter.forwards == 1
    drafter.observe(ids(WORDS, "e"))
    assert backend.length == 1
    assert texts(drafter.propose(8)) == []
    drafter.observe(ids(WORDS, " ca"))
    drafter.propose(8)
    assert b"".join(SYLLABLES[token] for token in backend.tokens) == b"The ca"


@pytest.mark.parametrize("context", [8, 24, 64])
@pytest.mark.parametrize("rewind", [Rewind("any"), Rewind("snapshots", 1), Rewind("none")])
def test_texts_longer_than_the_context(context: int, rewind: Rewind) -> None:
    """The last part is read, with room for what follows, and later on the then last part."""
    text = "The cat sat. " * 30
    backend = ScriptedBackend(
        LETTERS, lambda history: next_letter(history, text), rewind=rewind, context_length=context
    )
    drafter = begun(backend, text[:200])
    committed = text[:200].encode()
    proposed = 0
    while len(committed) < 380:
        draft = drafter.propose(3)
        proposed += len(draft.tokens)
        assert backend.length <= context
        rest = text.encode()[len(committed) :]
        assert rest.startswith(b"".join(texts(draft)))
        more = [*draft.tokens, *ids(WORDS, rest[len(b"".join(texts(draft))) :].decode())[:1]]
        drafter.observe(more)
        committed += b"".join(WORDS[token] for token in more)
        held = b"".join(LETTERS[token] for token in backend.tokens)
        assert held in committed
    assert proposed > (12 if rewind.kind == "none" else 30)


def test_giant_prompts_are_not_read_whole() -> None:
    seen: list[int] = []

    class Watched(PieceTokenizer):
        def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
            seen.append(len(text))
            return super().encode(text, add_special=add_special, parse_special=parse_special)

    backend = reciter(LETTERS, "x", context_length=16)
    backend.tokenizer = Watched(LETTERS)
    drafter = begun(backend, "The cat sat. " * 4000)
    assert max(seen) <= 16 * 16
    assert backend.length < 16
    drafter.propose(2)


def _random(seed: int = 3, **options: Any) -> FakeBackend:
    backend = FakeBackend(len(LETTERS), seed, **options)
    backend.tokenizer = PieceTokenizer(LETTERS)
    return backend


def test_a_bias_for_the_targets_tokens_is_left_out() -> None:
    biased = SamplingConfig(temperature=1.0, logit_bias=((9999, 50.0), (1, 100.0)), banned_tokens=(2, 8888))
    plain = replace(biased, logit_bias=(), banned_tokens=())
    for seed in range(20):
        drafts = [begun(_random(), "The", sampling, seed=seed).propose(6) for sampling in (biased, plain)]
        assert drafts[0] == drafts[1]


def test_a_longer_draft_begins_as_a_shorter_one() -> None:
    sampling = SamplingConfig(temperature=1.0)
    for seed in range(20):
        short, long = (begun(_random(), "The", sampling, seed=seed).propose(n).tokens for n in (2, 6))
        assert long[: len(short)] == short


def test_penalties_look_at_the_drafts_own_tokens() -> None:
    """A draft that loves one letter turns to the next when that one is punished."""
    backend = ScriptedBackend(LETTERS, lambda _: 2)
    loving = begun(backend, "The").propose(3)
    assert texts(loving) == [b"h", b"h", b"h"]
    seen = begun(backend, "The", SamplingConfig(frequency_penalty=30.0)).propose(3)
    assert b"h" not in texts(seen)[:1]


@pytest.mark.parametrize("sampling", [GREEDY, SamplingConfig(temperature=1.0)])
def test_confidence_is_judged_before_the_draw(sampling: SamplingConfig) -> None:
    assert begun(_random(sharpness=0.0), "The", sampling, min_confidence=0.2).propose(4).tokens == ()
    sure = begun(reciter(LETTERS, "The cat"), "The", sampling, min_confidence=0.9).propose(1)
    assert texts(sure) == [b" cat"]


def test_the_vocabulary_is_indexed_before_the_first_draft() -> None:
    """And once for all replies of a target: what a round costs must not depend on which round it is."""
    asked: list[int] = []

    class Watched(PieceTokenizer):
        def piece(self, token: int) -> bytes:
            asked.append(token)
            return super().piece(token)

        def marker(self, token: int) -> str:
            return ""

    tokenizer = Watched([*WORDS, *(b"word %d" % number for number in range(500))])
    backend = reciter(LETTERS, "The cat sat.")
    for expected in (True, False):
        drafter = TranslatedDrafter(backend, tokenizer, 500, GREEDY, 0)
        asked.clear()
        drafter.begin(ids(WORDS, "The"), CancelToken())
        assert (len(asked) >= 500) is expected
        asked.clear()
        assert texts(drafter.propose(1)) == [b" cat"]
        assert len(asked) < 100


def test_cancelled_draft_is_short_and_cheap() -> None:
    backend, cancel = reciter(LETTERS, "The cat sat. " * 60), CancelToken()
    drafter = drafter_for(backend)
    drafter.begin(ids(WORDS, "The"), cancel)
    cancel.cancel()
    backend.forwards.clear()
    assert drafter.propose(8).tokens == ()
    drafter.observe(ids(WORDS, " cat sat. The" * 50))
    assert backend.forwards == []
    with pytest.raises(Cancelled):
        drafter.begin(ids(WORDS, "sat"), cancel)
