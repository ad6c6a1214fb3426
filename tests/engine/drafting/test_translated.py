"""A draft with another tokenizer: what it proposes, and what stays in its cache."""

import pytest

from engine.backends.base import Rewind
from engine.backends.prefix import CHUNK
from engine.cancel import CancelToken
from engine.drafting.translated import TranslatedDrafter
from helpers.decoding.fakes import PieceTokenizer, ScriptedBackend
from helpers.decoding.translated import (
    END,
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

STOP = "."


@pytest.mark.parametrize("pieces", [LETTERS, SYLLABLES])
def test_proposals_are_the_targets_tokens(pieces: list[bytes]) -> None:
    draft = begun(reciter(pieces, "The cat sat."), "The").propose(8)
    assert texts(draft) == [b" cat", b" sat", b".", b""]
    assert draft.tokens[-1] == END
    assert draft.probs is None
    assert draft.logprobs == ()
    assert draft.source == "draft-model"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_more_is_written_than_needed(n: int) -> None:
    backend = reciter(LETTERS, "The cat sat.")
    drafter = begun(backend, "The")
    assert texts(drafter.propose(n)) == [b" cat", b" sat", b"."][:n]
    assert drafter.forwards == 4 * min(n, 2) + (n == 3)
    assert b"".join(LETTERS[token] for token in backend.tokens) in b"The cat sat."


def test_what_may_still_change_is_held_back() -> None:
    """After ` ca` the target may want ` cat`, and after ` cat` nothing longer."""
    drafter = begun(reciter([b"", b"The", b" c", b"a", b"t s", b"at."], "The cat sat."), "The")
    assert texts(drafter.propose(1)) == [b" cat"]
    stuck = begun(reciter(LETTERS, "The ca", eos_token_ids=[]), "The")
    assert stuck.propose(4).tokens == (), "the draft ends, but not its text"
    assert texts(begun(reciter(LETTERS, "The ca"), "The").propose(4)) == [b" ca", b""]


def test_half_a_character_is_held_back() -> None:
    backend = reciter(LETTERS, "The cat é.", rewind=Rewind("window", 6))
    assert texts(begun(backend, "The cat").propose(4)) == [b" ", b"\xc3", b"\xa9", b"."]
    narrow = reciter(LETTERS, "The cat é.", rewind=Rewind("window", 1))
    assert texts(begun(narrow, "The cat").propose(4)) == []
    assert texts(begun(narrow, "The cat ").propose(4)) == [b"\xc3", b"\xa9"]


def test_a_character_that_the_target_has_begun_is_finished() -> None:
    drafter = begun(reciter(LETTERS, "The é."), "The ")
    drafter.observe([WORDS.index(b"\xc3")])
    assert texts(drafter.propose(2)) == [b"\xa9", b"."]
    other = begun(reciter(LETTERS, "The cat."), "The ")
    other.observe([WORDS.index(b"\xc3")])
    assert other.propose(4).tokens == ()
    assert other.forwards == 1, "what does not go on with the half character is not pursued"


def test_end_of_the_text_is_the_targets_end_token() -> None:
    backend = reciter(LETTERS, "The cat.")
    assert texts(begun(backend, "The cat.").propose(4)) == [b""]
    assert begun(backend, "The cat.", stop_tokens=frozenset()).propose(4).tokens == ()
    tokenizer = PieceTokenizer(WORDS)
    tokenizer.eos_token = STOP
    full_stop = WORDS.index(b".")
    drafter = begun(backend, "The cat.", tokenizer=tokenizer, stop_tokens=frozenset([END, full_stop]))
    assert drafter.propose(4).tokens == (full_stop,)


def test_end_that_was_rejected_is_forgotten() -> None:
    backend = reciter(LETTERS, "The cat")
    drafter = begun(backend, "The")
    assert texts(drafter.propose(4)) == [b" cat", b""]
    drafter.observe(ids(WORDS, " cat sat"))
    assert b"".join(LETTERS[token] for token in backend.tokens) == b"The cat"[: backend.length]
    assert END not in backend.tokens


def test_a_text_that_the_target_cannot_write_ends_the_proposals() -> None:
    assert texts(begun(reciter([*LETTERS, b"!"], "The cat! sat"), "The").propose(8)) == [b" cat"]


def test_a_token_without_text_ends_the_draft() -> None:
    backend = ScriptedBackend([*LETTERS, b""], lambda _: len(LETTERS), eos_token_ids=[END])
    drafter = begun(backend, "The")
    for _ in range(3):
        assert drafter.propose(8).tokens == ()
        drafter.observe([END])
    assert drafter.forwards == 1, "nothing has changed, so nothing is tried again"
    drafter.observe(ids(WORDS, " cat"))
    drafter.propose(8)
    assert drafter.forwards == 2


def test_a_draft_that_never_makes_a_token_comes_to_an_end() -> None:
    backend = ScriptedBackend([b"", b"T", b" ", b"x"], lambda _: 3)
    drafter = TranslatedDrafter(backend, PieceTokenizer([b"T", b"x" * 500]), 2, GREEDY, 0)
    drafter.begin([0], CancelToken())
    assert drafter.propose(4).tokens == ()
    assert drafter.forwards == 40


def test_what_was_written_ahead_is_used() -> None:
    """What the draft wrote beyond the accepted tokens is fed again at once, not drafted again."""
    backend = reciter(LETTERS, "The cat sat.")
    drafter = begun(backend, "The")
    drafter.propose(3)
    drafter.observe(ids(WORDS, " cat"))
    assert bytes(b"".join(LETTERS[token] for token in backend.tokens)) == b"The cat"
    backend.forwards.clear()
    assert texts(drafter.propose(2)) == [b" sat", b"."]
    assert backend.forwards == []
    assert texts(drafter.propose(3)) == [b" sat", b".", b""]
    assert backend.forwards == [5]


@pytest.mark.parametrize(("rewind", "feeds"), [(Rewind("any"), [5]), (Rewind("snapshots", 1), [4, 1])])
def test_what_was_written_ahead_may_last_several_rounds(rewind: Rewind, feeds: list[int]) -> None:
    """A recurrent draft notes its place between what is committed and what may have to be taken back."""
    backend = reciter(LETTERS, "The cat sat.", rewind=rewind)
    drafter = begun(backend, "The")
    assert texts(drafter.propose(3)) == [b" cat", b" sat", b"."]
    drafter.observe(ids(WORDS, " cat"))
    backend.forwards.clear()
    drafter.propose(1)
    drafter.observe(ids(WORDS, " sat"))
    assert backend.forwards == []
    assert texts(drafter.propose(2)) == [b".", b""]
    assert backend.forwards == feeds
    drafter.observe(ids(WORDS, "s"))
    assert b"".join(LETTERS[token] for token in backend.tokens) == b"The cat sat"


@pytest.mark.parametrize("rewind", [Rewind("any"), Rewind("snapshots", 1), Rewind("window", 20), Rewind("none")])
def test_rejected_text_leaves_the_cache(rewind: Rewind) -> None:
    backend = reciter(LETTERS, "The cat sat.", rewind=rewind)
    drafter = begun(backend, "The")
    drafter.propose(4)
    drafter.observe(ids(WORDS, " cas"))
    held = b"".join(LETTERS[token] for token in backend.tokens)
    assert b"The cas".startswith(held)
    assert len(held) >= (3 if rewind.kind == "none" else 6)
    drafter.propose(4)
    assert b"".join(LETTERS[token] for token in backend.tokens).startswith(b"The cas"[: backend.length])


def test_the_end_of_the_reply_drops_live_proposals() -> None:
    backend = reciter(LETTERS, "The cat sat.")
    drafter = begun(backend, "The")
    drafter.propose(4)
    drafter.observe([])
    assert b"".join(LETTERS[token] for token in backend.tokens) == b"The"


@pytest.mark.parametrize("rewind", [Rewind("any"), Rewind("snapshots", 1), Rewind("none")])
def test_a_cache_that_holds_everything_is_asked_again(rewind: Rewind) -> None:
    backend = reciter(LETTERS, "The cat sat.", rewind=rewind)
    drafter = begun(backend, "The")
    first = drafter.propose(1)
    drafter.observe([])
    assert drafter.propose(1) == first


@pytest.mark.parametrize("kept", [0, 1])
def test_a_recurrent_draft_goes_back_to_its_mark(kept: int) -> None:
    """It never has to read its history again."""
    backend = reciter(LETTERS, "The cat sat.", rewind=Rewind("snapshots", 1))
    drafter = begun(backend, "The")
    drafter.propose(3)
    backend.forwards.clear()
    drafter.observe([*ids(WORDS, " cat")[:kept], *ids(WORDS, ".")])
    assert backend.length == 3 + 4 * kept
    drafter.propose(1)
    assert backend.forwards == [1]
    drafter.observe(ids(WORDS, "."))
    drafter.propose(2)
    assert sum(backend.forwards) <= 4


def test_history_is_rewritten_where_the_draft_would_have_written_it_otherwise() -> None:
    """Of letters that came one by one the draft makes its own words, if its cache can go back."""
    pieces = [b"", b"T", b"h", b"e", b"Th", b"The", b" ", b" c", b" cat", b"a", b"t"]
    for rewind, expected in ((Rewind("any"), [5, 8]), (Rewind("snapshots", 1), [5, 7, 9, 10])):
        backend = ScriptedBackend(pieces, lambda _: 0, eos_token_ids=[0], rewind=rewind)
        drafter = begun(backend, "The")
        for letter in " cat":
            drafter.observe(ids(WORDS, letter))
            drafter.propose(1)
        assert list(backend.tokens) == (expected if rewind.kind == "any" else [5, 6, *ids(pieces, "c"), 9, 10])


def test_control_tokens_of_the_target_add_no_text() -> None:
    backend = reciter(LETTERS, "The cat")
    drafter = drafter_for(backend)
    drafter.begin([END, *ids(WORDS, "Th"), END, *ids(WORDS, "e")], CancelToken())
    assert texts(drafter.propose(1)) == [b" cat"]
    drafter.observe([END])
    assert texts(drafter.propose(1)) == [b" cat"]


@pytest.mark.parametrize("prompt", [[], [END]])
def test_without_any_text_nothing_is_proposed(prompt: list[int]) -> None:
    backend = reciter(LETTERS, "The cat")
    drafter = drafter_for(backend)
    drafter.begin(prompt, CancelToken())
    assert drafter.propose(4).tokens == ()
    drafter.observe(ids(WORDS, "The"))
    assert texts(drafter.propose(1)) == [b" cat"]


class Beginning(PieceTokenizer):
    """Puts token 0 before every text, and an end token behind it."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        tokens = super().encode(text, add_special=False, parse_special=False)
        return [0, *tokens, 0] if add_special else tokens


def test_draft_begins_with_its_own_begin_token() -> None:
    backend = reciter(LETTERS, "The cat")
    tokenizer = backend.tokenizer = Beginning(LETTERS)
    tokenizer.bos_token = STOP
    drafter = begun(backend, "The")
    assert list(backend.tokens) == [0, *ids(LETTERS, "Th")]
    assert texts(drafter.propose(1)) == [b" cat"]
    assert begun(backend, "").propose(4).tokens == ()


def test_prompt_cache_is_kept() -> None:
    backend = reciter(LETTERS, "The cat sat.")
    drafter = begun(backend, "The cat")
    backend.forwards.clear()
    drafter.begin(ids(WORDS, "The cat sat"), CancelToken())
    assert backend.forwards == [4]
    assert texts(drafter.propose(1)) == [b"."]


def test_keeps_up_without_proposals() -> None:
    text = "The cat sat. " * 120
    backend = reciter(LETTERS, text)
    drafter = begun(backend, "The")
    tokens = ids(WORDS, text)[1:]
    for token in tokens:
        drafter.observe([token])
        assert b"".join(LETTERS[token] for token in backend.tokens) == text.encode()[: backend.length]
    assert backend.length > len(text) - 600
    assert max(backend.forwards) < 600
    assert drafter_for(backend).propose(0).tokens == ()


def test_nothing_is_read_ahead_beyond_the_context() -> None:
    text = "The cat sat. " * 60
    backend = ScriptedBackend(LETTERS, lambda history: next_letter(history, text), context_length=64)
    drafter = begun(backend, "The")
    drafter.observe(ids(WORDS, text[:-1])[1:])
    assert backend.length <= 64
    assert texts(drafter.propose(1)) == [b" "]


def test_a_long_wait_is_read_in_pieces() -> None:
    text = "The cat sat. " * 30
    backend = reciter(LETTERS, text + "The")
    drafter = begun(backend, "The")
    drafter.observe(ids(WORDS, text)[1:])
    backend.truncate(0)
    assert texts(drafter.propose(1)) == [b"The"]
    assert max(backend.forwards) == CHUNK
