"""A draft with another tokenizer: what it proposes, what stays in its cache, and that the output is the target's."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from engine.backends.base import Backend, Rewind
from engine.backends.fake import FakeBackend
from engine.cancel import CancelToken
from engine.chat import ReplyText
from engine.config import SamplingConfig, SpeculationConfig
from engine.drafting.base import Draft, Drafter
from engine.drafting.none import NoDrafter
from engine.drafting.translated import TranslatedDrafter
from engine.errors import BackendFailure, Cancelled, TextNotEncodable
from engine.events import Finished, GenerationResult, RoundEvent, TokenEvent
from engine.job import Job
from engine.lookahead import make_policy
from engine.loop import GenerationLoop
from engine.prompt import CHUNK
from engine.verifier import Verifier
from helpers.fakes import PieceTokenizer, ScriptedBackend
from helpers.joint import Setting, chi_square_p, draw_many, exact_joint

GREEDY = SamplingConfig()
WORDS = [b"", b"T", b"h", b"e", b" ", b"c", b"a", b"t", b"s", b".", b"The", b" cat", b" sat", b" ca", b"\xc3", b"\xa9"]
"""The target's tokens; 0 ends its text."""
LETTERS = [b"", *(bytes([byte]) for byte in b"The cats.\xc3\xa9")]
"""The draft's."""
SYLLABLES = [b"", b"Th", b"e c", b"at", b" s", b".", b"T", b"h", b"e", b" ", b"c", b"a", b"t", b"s", b"\xc3", b"\xa9"]
END = 0
STOP = "."


def _ids(pieces: Sequence[bytes], text: str) -> list[int]:
    return PieceTokenizer(pieces).encode(text, add_special=False, parse_special=False)


def _reciter(pieces: Sequence[bytes], text: str, **options: Any) -> ScriptedBackend:
    """A model that knows one text by heart: the longest token that goes on with it, and its end token at the end."""
    data = text.encode()

    def script(history: Sequence[int]) -> int:
        rest = data[len(b"".join(pieces[token] for token in history)) :]
        fitting = [token for token, piece in enumerate(pieces) if piece and rest.startswith(piece)]
        return max(fitting, key=lambda token: len(pieces[token]), default=END)

    return ScriptedBackend(pieces, script, **{"eos_token_ids": [END], **options})


def _drafter(backend: Backend, sampling: SamplingConfig = GREEDY, **options: Any) -> TranslatedDrafter:
    tokenizer = options.pop("tokenizer", PieceTokenizer(WORDS))
    options.setdefault("stop_tokens", frozenset([END]))
    return TranslatedDrafter(backend, tokenizer, len(WORDS), sampling, options.pop("seed", 7), **options)


def _begun(backend: Backend, prompt: str, *arguments: Any, **options: Any) -> TranslatedDrafter:
    drafter = _drafter(backend, *arguments, **options)
    drafter.begin(_ids(WORDS, prompt), CancelToken())
    return drafter


def _text(draft: Draft) -> list[bytes]:
    return [WORDS[token] for token in draft.tokens]


# Proposals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [LETTERS, SYLLABLES])
def test_proposals_are_the_targets_tokens(pieces: list[bytes]) -> None:
    draft = _begun(_reciter(pieces, "The cat sat."), "The").propose(8)
    assert _text(draft) == [b" cat", b" sat", b".", b""]
    assert draft.tokens[-1] == END
    assert draft.probs is None
    assert draft.logprobs == ()
    assert draft.source == "draft-model"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_more_is_written_than_needed(n: int) -> None:
    backend = _reciter(LETTERS, "The cat sat.")
    drafter = _begun(backend, "The")
    assert _text(drafter.propose(n)) == [b" cat", b" sat", b"."][:n]
    assert drafter.forwards == 4 * min(n, 2) + (n == 3)
    assert b"".join(LETTERS[token] for token in backend.tokens) in b"The cat sat."


def test_what_may_still_change_is_held_back() -> None:
    """After ` ca` the target may want ` cat`, and after ` cat` nothing longer."""
    drafter = _begun(_reciter([b"", b"The", b" c", b"a", b"t s", b"at."], "The cat sat."), "The")
    assert _text(drafter.propose(1)) == [b" cat"]
    stuck = _begun(_reciter(LETTERS, "The ca", eos_token_ids=[]), "The")
    assert stuck.propose(4).tokens == (), "the draft ends, but not its text"
    assert _text(_begun(_reciter(LETTERS, "The ca"), "The").propose(4)) == [b" ca", b""]


def test_half_a_character_is_held_back() -> None:
    backend = _reciter(LETTERS, "The cat é.", rewind=Rewind("window", 6))
    assert _text(_begun(backend, "The cat").propose(4)) == [b" ", b"\xc3", b"\xa9", b"."]
    narrow = _reciter(LETTERS, "The cat é.", rewind=Rewind("window", 1))
    assert _text(_begun(narrow, "The cat").propose(4)) == []
    assert _text(_begun(narrow, "The cat ").propose(4)) == [b"\xc3", b"\xa9"]


def test_a_character_that_the_target_has_begun_is_finished() -> None:
    drafter = _begun(_reciter(LETTERS, "The é."), "The ")
    drafter.observe([WORDS.index(b"\xc3")])
    assert _text(drafter.propose(2)) == [b"\xa9", b"."]
    other = _begun(_reciter(LETTERS, "The cat."), "The ")
    other.observe([WORDS.index(b"\xc3")])
    assert other.propose(4).tokens == ()
    assert other.forwards == 1, "what does not go on with the half character is not pursued"


def test_end_of_the_text_is_the_targets_end_token() -> None:
    backend = _reciter(LETTERS, "The cat.")
    assert _text(_begun(backend, "The cat.").propose(4)) == [b""]
    assert _begun(backend, "The cat.", stop_tokens=frozenset()).propose(4).tokens == ()
    tokenizer = PieceTokenizer(WORDS)
    tokenizer.eos_token = STOP
    full_stop = WORDS.index(b".")
    drafter = _begun(backend, "The cat.", tokenizer=tokenizer, stop_tokens=frozenset([END, full_stop]))
    assert drafter.propose(4).tokens == (full_stop,)


def test_end_that_was_rejected_is_forgotten() -> None:
    backend = _reciter(LETTERS, "The cat")
    drafter = _begun(backend, "The")
    assert _text(drafter.propose(4)) == [b" cat", b""]
    drafter.observe(_ids(WORDS, " cat sat"))
    assert b"".join(LETTERS[token] for token in backend.tokens) == b"The cat"[: backend.length]
    assert END not in backend.tokens


def test_a_text_that_the_target_cannot_write_ends_the_proposals() -> None:
    assert _text(_begun(_reciter([*LETTERS, b"!"], "The cat! sat"), "The").propose(8)) == [b" cat"]


def test_a_token_without_text_ends_the_draft() -> None:
    backend = ScriptedBackend([*LETTERS, b""], lambda _: len(LETTERS), eos_token_ids=[END])
    drafter = _begun(backend, "The")
    for _ in range(3):
        assert drafter.propose(8).tokens == ()
        drafter.observe([END])
    assert drafter.forwards == 1, "nothing has changed, so nothing is tried again"
    drafter.observe(_ids(WORDS, " cat"))
    drafter.propose(8)
    assert drafter.forwards == 2


def test_a_draft_that_never_makes_a_token_comes_to_an_end() -> None:
    backend = ScriptedBackend([b"", b"T", b" ", b"x"], lambda _: 3)
    drafter = TranslatedDrafter(backend, PieceTokenizer([b"T", b"x" * 500]), 2, GREEDY, 0)
    drafter.begin([0], CancelToken())
    assert drafter.propose(4).tokens == ()
    assert drafter.forwards == 40


# What was committed -------------------------------------------------------------------------------------------------


def test_what_was_written_ahead_is_used() -> None:
    """What the draft wrote beyond the accepted tokens is fed again at once, not drafted again."""
    backend = _reciter(LETTERS, "The cat sat.")
    drafter = _begun(backend, "The")
    drafter.propose(3)
    drafter.observe(_ids(WORDS, " cat"))
    assert bytes(b"".join(LETTERS[token] for token in backend.tokens)) == b"The cat"
    backend.forwards.clear()
    assert _text(drafter.propose(2)) == [b" sat", b"."]
    assert backend.forwards == []
    assert _text(drafter.propose(3)) == [b" sat", b".", b""]
    assert backend.forwards == [5]


@pytest.mark.parametrize(("rewind", "feeds"), [(Rewind("any"), [5]), (Rewind("snapshots", 1), [4, 1])])
def test_what_was_written_ahead_may_last_several_rounds(rewind: Rewind, feeds: list[int]) -> None:
    """A recurrent draft notes its place between what is committed and what may have to be taken back."""
    backend = _reciter(LETTERS, "The cat sat.", rewind=rewind)
    drafter = _begun(backend, "The")
    assert _text(drafter.propose(3)) == [b" cat", b" sat", b"."]
    drafter.observe(_ids(WORDS, " cat"))
    backend.forwards.clear()
    drafter.propose(1)
    drafter.observe(_ids(WORDS, " sat"))
    assert backend.forwards == []
    assert _text(drafter.propose(2)) == [b".", b""]
    assert backend.forwards == feeds
    drafter.observe(_ids(WORDS, "s"))
    assert b"".join(LETTERS[token] for token in backend.tokens) == b"The cat sat"


@pytest.mark.parametrize("rewind", [Rewind("any"), Rewind("snapshots", 1), Rewind("window", 20), Rewind("none")])
def test_rejected_text_leaves_the_cache(rewind: Rewind) -> None:
    backend = _reciter(LETTERS, "The cat sat.", rewind=rewind)
    drafter = _begun(backend, "The")
    drafter.propose(4)
    drafter.observe(_ids(WORDS, " cas"))
    held = b"".join(LETTERS[token] for token in backend.tokens)
    assert b"The cas".startswith(held)
    assert len(held) >= (3 if rewind.kind == "none" else 6)
    drafter.propose(4)
    assert b"".join(LETTERS[token] for token in backend.tokens).startswith(b"The cas"[: backend.length])


def test_the_end_of_the_reply_drops_live_proposals() -> None:
    backend = _reciter(LETTERS, "The cat sat.")
    drafter = _begun(backend, "The")
    drafter.propose(4)
    drafter.observe([])
    assert b"".join(LETTERS[token] for token in backend.tokens) == b"The"


@pytest.mark.parametrize("rewind", [Rewind("any"), Rewind("snapshots", 1), Rewind("none")])
def test_a_cache_that_holds_everything_is_asked_again(rewind: Rewind) -> None:
    backend = _reciter(LETTERS, "The cat sat.", rewind=rewind)
    drafter = _begun(backend, "The")
    first = drafter.propose(1)
    drafter.observe([])
    assert drafter.propose(1) == first


@pytest.mark.parametrize("kept", [0, 1])
def test_a_recurrent_draft_goes_back_to_its_mark(kept: int) -> None:
    """It never has to read its history again."""
    backend = _reciter(LETTERS, "The cat sat.", rewind=Rewind("snapshots", 1))
    drafter = _begun(backend, "The")
    drafter.propose(3)
    backend.forwards.clear()
    drafter.observe([*_ids(WORDS, " cat")[:kept], *_ids(WORDS, ".")])
    assert backend.length == 3 + 4 * kept
    drafter.propose(1)
    assert backend.forwards == [1]
    drafter.observe(_ids(WORDS, "."))
    drafter.propose(2)
    assert sum(backend.forwards) <= 4


def test_history_is_rewritten_where_the_draft_would_have_written_it_otherwise() -> None:
    """Of letters that came one by one the draft makes its own words, if its cache can go back."""
    pieces = [b"", b"T", b"h", b"e", b"Th", b"The", b" ", b" c", b" cat", b"a", b"t"]
    for rewind, expected in ((Rewind("any"), [5, 8]), (Rewind("snapshots", 1), [5, 7, 9, 10])):
        backend = ScriptedBackend(pieces, lambda _: 0, eos_token_ids=[0], rewind=rewind)
        drafter = _begun(backend, "The")
        for letter in " cat":
            drafter.observe(_ids(WORDS, letter))
            drafter.propose(1)
        assert list(backend.tokens) == (expected if rewind.kind == "any" else [5, 6, *_ids(pieces, "c"), 9, 10])


def test_control_tokens_of_the_target_add_no_text() -> None:
    backend = _reciter(LETTERS, "The cat")
    drafter = _drafter(backend)
    drafter.begin([END, *_ids(WORDS, "Th"), END, *_ids(WORDS, "e")], CancelToken())
    assert _text(drafter.propose(1)) == [b" cat"]
    drafter.observe([END])
    assert _text(drafter.propose(1)) == [b" cat"]


@pytest.mark.parametrize("prompt", [[], [END]])
def test_without_any_text_nothing_is_proposed(prompt: list[int]) -> None:
    backend = _reciter(LETTERS, "The cat")
    drafter = _drafter(backend)
    drafter.begin(prompt, CancelToken())
    assert drafter.propose(4).tokens == ()
    drafter.observe(_ids(WORDS, "The"))
    assert _text(drafter.propose(1)) == [b" cat"]


class Beginning(PieceTokenizer):
    """Puts token 0 before every text, and an end token behind it."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        tokens = super().encode(text, add_special=False, parse_special=False)
        return [0, *tokens, 0] if add_special else tokens


def test_draft_begins_with_its_own_begin_token() -> None:
    backend = _reciter(LETTERS, "The cat")
    tokenizer = backend.tokenizer = Beginning(LETTERS)
    tokenizer.bos_token = STOP
    drafter = _begun(backend, "The")
    assert list(backend.tokens) == [0, *_ids(LETTERS, "Th")]
    assert _text(drafter.propose(1)) == [b" cat"]
    assert _begun(backend, "").propose(4).tokens == ()


def test_prompt_cache_is_kept() -> None:
    backend = _reciter(LETTERS, "The cat sat.")
    drafter = _begun(backend, "The cat")
    backend.forwards.clear()
    drafter.begin(_ids(WORDS, "The cat sat"), CancelToken())
    assert backend.forwards == [4]
    assert _text(drafter.propose(1)) == [b"."]


def test_keeps_up_without_proposals() -> None:
    text = "The cat sat. " * 120
    backend = _reciter(LETTERS, text)
    drafter = _begun(backend, "The")
    tokens = _ids(WORDS, text)[1:]
    for token in tokens:
        drafter.observe([token])
        assert b"".join(LETTERS[token] for token in backend.tokens) == text.encode()[: backend.length]
    assert backend.length > len(text) - 600
    assert max(backend.forwards) < 600
    assert _drafter(backend).propose(0).tokens == ()


def test_nothing_is_read_ahead_beyond_the_context() -> None:
    text = "The cat sat. " * 60
    backend = ScriptedBackend(LETTERS, lambda history: _next_letter(history, text), context_length=64)
    drafter = _begun(backend, "The")
    drafter.observe(_ids(WORDS, text[:-1])[1:])
    assert backend.length <= 64
    assert _text(drafter.propose(1)) == [b" "]


def test_a_long_wait_is_read_in_pieces() -> None:
    text = "The cat sat. " * 30
    backend = _reciter(LETTERS, text + "The")
    drafter = _begun(backend, "The")
    drafter.observe(_ids(WORDS, text)[1:])
    backend.truncate(0)
    assert _text(drafter.propose(1)) == [b"The"]
    assert max(backend.forwards) == CHUNK


# The draft's own limits ---------------------------------------------------------------------------------------------


class Strict(PieceTokenizer):
    """Refuses a character that no token can write, naming it."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        for character in text:
            if character.encode() not in self._pieces:
                raise TextNotEncodable(character)
        return super().encode(text, add_special=add_special, parse_special=parse_special)


def _strict(text: str, lacking: bytes) -> ScriptedBackend:
    pieces = [piece for piece in LETTERS if piece != lacking]
    backend = _reciter(pieces, text)
    backend.tokenizer = Strict(pieces)
    return backend


def test_text_that_the_draft_cannot_write_is_left_out() -> None:
    """The draft reads what follows the last character that its vocabulary lacks."""
    backend = _strict(" cat", lacking=b".")
    assert _text(_begun(backend, "The cat. Th. c").propose(1)) == [b"a"]
    assert _begun(backend, "The cat.").propose(4).tokens == ()
    drafter = _begun(backend, "The")
    drafter.observe(_ids(WORDS, ". c"))
    assert _text(drafter.propose(1)) == [b"a"]
    drafter.observe(_ids(WORDS, "."))
    assert drafter.propose(4).tokens == ()
    drafter.observe(_ids(WORDS, " c"))
    assert _text(drafter.propose(1)) == [b"a"]


@pytest.mark.parametrize("error", [TextNotEncodable("\N{REPLACEMENT CHARACTER}"), BackendFailure("no answer")])
def test_a_tokenizer_that_fails_leaves_the_draft_silent(error: Exception) -> None:
    class Failing(PieceTokenizer):
        def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
            if text or parse_special:
                raise error
            return []

    backend = _reciter(LETTERS, "The cat")
    backend.tokenizer = Failing(LETTERS)
    drafter = _begun(backend, "The")
    assert drafter.propose(4).tokens == ()
    drafter.observe(_ids(WORDS, " cat"))
    assert drafter.propose(4).tokens == ()
    odd = _begun(_reciter(LETTERS, "The cat"), "The", tokenizer=Failing(WORDS), stop_tokens=frozenset([0, 1]))
    assert _text(odd.propose(1)) == [b" cat"]


def test_so_many_strange_characters_that_the_text_is_given_up() -> None:
    backend = _strict("cat", lacking=b".")
    drafter = _drafter(backend, tokenizer=PieceTokenizer([*WORDS, *(chr(0x3041 + n).encode() for n in range(80))]))
    drafter.begin([*range(len(WORDS) + 79, len(WORDS) - 1, -1), *_ids(WORDS, "ca")], CancelToken())
    assert drafter.propose(1).tokens == ()


def test_a_tokenizer_that_changes_letters_is_read_as_it_can() -> None:
    """A draft without capitals reads the text in small letters, and what it writes is in small letters."""

    class Small(PieceTokenizer):
        def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
            return super().encode(text.lower(), add_special=add_special, parse_special=parse_special)

    pieces = [piece for piece in LETTERS if piece != b"T"]
    backend = _reciter(pieces, "the cat the cat")
    backend.tokenizer = Small(pieces)
    drafter = _begun(backend, "The")
    assert _text(drafter.propose(1)) == [b" cat"]
    drafter.observe(_ids(WORDS, " cat The"))
    assert _text(drafter.propose(1)) == [b" cat"]
    assert [pieces[token] for token in backend.tokens[:11]] == [bytes([byte]) for byte in b"the cat the"]


def test_window_is_never_asked_for_more() -> None:
    backend = _reciter(LETTERS, "The cat sat.", rewind=Rewind("window", 4))
    drafter = _begun(backend, "The")
    assert _text(drafter.propose(8)) == [b" cat"]
    assert backend.length == 3 + 4
    drafter.observe(_ids(WORDS, "."))
    assert backend.length == 3


def test_cache_that_cannot_go_back_drafts_one_token() -> None:
    backend = _reciter(SYLLABLES, "The cat sat.", rewind=Rewind("none"))
    drafter = _begun(backend, "Th")
    assert _text(drafter.propose(8)) == [b"e"], "` c` may become ` ca`"
    assert drafter.forwards == 1
    drafter.observe(_ids(WORDS, "e"))
    assert backend.length == 1
    assert _text(drafter.propose(8)) == []
    drafter.observe(_ids(WORDS, " ca"))
    drafter.propose(8)
    assert b"".join(SYLLABLES[token] for token in backend.tokens) == b"The ca"


@pytest.mark.parametrize("context", [8, 24, 64])
@pytest.mark.parametrize("rewind", [Rewind("any"), Rewind("snapshots", 1), Rewind("none")])
def test_texts_longer_than_the_context(context: int, rewind: Rewind) -> None:
    """The last part is read, with room for what follows, and later on the then last part."""
    text = "The cat sat. " * 30
    backend = ScriptedBackend(
        LETTERS, lambda history: _next_letter(history, text), rewind=rewind, context_length=context
    )
    drafter = _begun(backend, text[:200])
    committed = text[:200].encode()
    proposed = 0
    while len(committed) < 380:
        draft = drafter.propose(3)
        proposed += len(draft.tokens)
        assert backend.length <= context
        rest = text.encode()[len(committed) :]
        assert rest.startswith(b"".join(_text(draft)))
        more = [*draft.tokens, *_ids(WORDS, rest[len(b"".join(_text(draft))) :].decode())[:1]]
        drafter.observe(more)
        committed += b"".join(WORDS[token] for token in more)
        held = b"".join(LETTERS[token] for token in backend.tokens)
        assert held in committed
    assert proposed > (12 if rewind.kind == "none" else 30)


def _next_letter(history: Sequence[int], text: str) -> int:
    """The letter behind the last place of the text where the end of the history stands."""
    end = b"".join(LETTERS[token] for token in history)[-4:]
    place = text.encode().find(end)
    return LETTERS.index(text.encode()[place + len(end) :][:1]) if place >= 0 else 1


def test_giant_prompts_are_not_read_whole() -> None:
    seen: list[int] = []

    class Watched(PieceTokenizer):
        def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
            seen.append(len(text))
            return super().encode(text, add_special=add_special, parse_special=parse_special)

    backend = _reciter(LETTERS, "x", context_length=16)
    backend.tokenizer = Watched(LETTERS)
    drafter = _begun(backend, "The cat sat. " * 4000)
    assert max(seen) <= 16 * 16
    assert backend.length < 16
    drafter.propose(2)


# How it draws -------------------------------------------------------------------------------------------------------


def _random(seed: int = 3, **options: Any) -> FakeBackend:
    backend = FakeBackend(len(LETTERS), seed, **options)
    backend.tokenizer = PieceTokenizer(LETTERS)
    return backend


def test_a_bias_for_the_targets_tokens_is_left_out() -> None:
    biased = SamplingConfig(temperature=1.0, logit_bias=((9999, 50.0), (1, 100.0)), banned_tokens=(2, 8888))
    plain = replace(biased, logit_bias=(), banned_tokens=())
    for seed in range(20):
        drafts = [_begun(_random(), "The", sampling, seed=seed).propose(6) for sampling in (biased, plain)]
        assert drafts[0] == drafts[1]


def test_a_longer_draft_begins_as_a_shorter_one() -> None:
    sampling = SamplingConfig(temperature=1.0)
    for seed in range(20):
        short, long = (_begun(_random(), "The", sampling, seed=seed).propose(n).tokens for n in (2, 6))
        assert long[: len(short)] == short


def test_penalties_look_at_the_drafts_own_tokens() -> None:
    """A draft that loves one letter turns to the next when that one is punished."""
    backend = ScriptedBackend(LETTERS, lambda _: 2)
    loving = _begun(backend, "The").propose(3)
    assert _text(loving) == [b"h", b"h", b"h"]
    seen = _begun(backend, "The", SamplingConfig(frequency_penalty=30.0)).propose(3)
    assert b"h" not in _text(seen)[:1]


@pytest.mark.parametrize("sampling", [GREEDY, SamplingConfig(temperature=1.0)])
def test_confidence_is_judged_before_the_draw(sampling: SamplingConfig) -> None:
    assert _begun(_random(sharpness=0.0), "The", sampling, min_confidence=0.2).propose(4).tokens == ()
    sure = _begun(_reciter(LETTERS, "The cat"), "The", sampling, min_confidence=0.9).propose(1)
    assert _text(sure) == [b" cat"]


def test_the_vocabulary_is_indexed_before_the_first_draft() -> None:
    """And once for all replies of a target: what a round costs must not depend on which round it is."""
    asked: list[int] = []

    class Watched(PieceTokenizer):
        def piece(self, token: int) -> bytes:
            asked.append(token)
            return super().piece(token)

    tokenizer = Watched([*WORDS, *(b"word %d" % number for number in range(500))])
    backend = _reciter(LETTERS, "The cat sat.")
    for expected in (True, False):
        drafter = TranslatedDrafter(backend, tokenizer, 500, GREEDY, 0)
        asked.clear()
        drafter.begin(_ids(WORDS, "The"), CancelToken())
        assert (len(asked) >= 500) is expected
        asked.clear()
        assert _text(drafter.propose(1)) == [b" cat"]
        assert len(asked) < 100


def test_cancelled_draft_is_short_and_cheap() -> None:
    backend, cancel = _reciter(LETTERS, "The cat sat. " * 60), CancelToken()
    drafter = _drafter(backend)
    drafter.begin(_ids(WORDS, "The"), cancel)
    cancel.cancel()
    backend.forwards.clear()
    assert drafter.propose(8).tokens == ()
    drafter.observe(_ids(WORDS, " cat sat. The" * 50))
    assert backend.forwards == []
    with pytest.raises(Cancelled):
        drafter.begin(_ids(WORDS, "sat"), cancel)


# Through the loop ---------------------------------------------------------------------------------------------------


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
    job = Job(
        target=target,
        drafter=make(5),
        verifier=Verifier(target, sampling, "rejection", 5, 0),
        policy=make_policy(SpeculationConfig(lookahead=lookahead)),
        prompt=prompt,
        reply=ReplyText(target.tokenizer),
        stop_tokens=target.eos_token_ids,
        max_tokens=length,
        one_token=False,
        cancel=CancelToken(),
        method="draft-model",
        lookahead=lookahead,
    )
    result: GenerationResult | None = None
    tokens: list[int] = []
    with closing(GenerationLoop(job).run()) as events:
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


# The joint distribution ---------------------------------------------------------------------------------------------

SAMPLES = 1_800
ENOUGH, BROKEN = 0.001, 1e-6


def _setting(temperature: float, kind: type[TranslatedDrafter], rewind: Rewind) -> Setting:
    target, draft = _pair(rewind)

    def make(
        backend: Backend, vocab_size: int, sampling: SamplingConfig, seed: int, **options: Any
    ) -> TranslatedDrafter:
        return kind(backend, target.tokenizer, vocab_size, sampling, seed, **options)

    return Setting(target, draft, SamplingConfig(temperature), SpeculationConfig(lookahead=4), None, make_drafter=make)


@pytest.mark.parametrize(("temperature", "rewind"), [(0.7, KINDS[0]), (1.0, KINDS[1])])
def test_joint_distribution_is_the_targets(temperature: float, rewind: Rewind) -> None:
    setting = _setting(temperature, TranslatedDrafter, rewind)
    assert chi_square_p(draw_many(setting, SAMPLES), exact_joint(setting.target, setting.sampling)) >= ENOUGH


class Boasts(TranslatedDrafter):
    """Gives its proposals probabilities that they were not drawn from."""

    def propose(self, n: int) -> Draft:
        draft = super().propose(n)
        uniform = np.full(len(THEIRS), 1.0 / len(THEIRS))
        return replace(draft, probs=tuple(uniform for _ in draft.tokens))


def test_invented_probabilities_are_noticed() -> None:
    setting = _setting(1.0, Boasts, Rewind("any"))
    assert chi_square_p(draw_many(setting, SAMPLES), exact_joint(setting.target, setting.sampling)) < BROKEN
