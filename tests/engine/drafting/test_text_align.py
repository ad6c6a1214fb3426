"""Text as the continuation of tokens: the same bytes, and the tokens that the whole text would have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.drafting.text_align import FARTHEST, TextContinuation, whole_characters
from engine.errors import TextNotEncodable
from helpers.decoding.fakes import PieceTokenizer

WORDS = [b"t", b"h", b"e", b" ", b" t", b"the", b" the", b"c", b"a", b" cat", b" ca", b"\n", b".", b""]


class Spaced(PieceTokenizer):
    """Puts a space before every text, as SentencePiece does."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        return super().encode(f" {text}" if text else "", add_special=add_special, parse_special=parse_special)


class Strict(PieceTokenizer):
    """Refuse texts that no tokens can write."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        tokens = super().encode(text, add_special=add_special, parse_special=parse_special)
        if b"".join(map(self.piece, tokens)) != text.encode():
            raise TextNotEncodable(text[0])
        return tokens


def _continuation(pieces: list[bytes], kind: type[PieceTokenizer] = PieceTokenizer) -> TextContinuation:
    return TextContinuation(kind(pieces), len(pieces))


def _pieces(tokens: list[int], pieces: list[bytes] = WORDS) -> list[bytes]:
    return [pieces[token] for token in tokens]


@pytest.mark.parametrize("kind", [PieceTokenizer, Spaced, Strict])
def test_text_behind_tokens(kind: type[PieceTokenizer]) -> None:
    words = _continuation(WORDS, kind)
    assert words.adds_space is (kind is Spaced)
    assert _pieces(words.behind([6, 9], b" the cat")) == [b" the", b" cat"]
    assert _pieces(words.behind([5], b" ca")) == [b" ca"]
    assert _pieces(words.behind([0], b"he")) == [b"h", b"e"], "what would be one token across is written with shorter"
    assert _pieces(words.behind([6, 10], b"t the")) == [b"t", b" the"]
    assert words.behind([6], b"") == []


def test_text_without_anything_before_it() -> None:
    assert _pieces(_continuation(WORDS).behind([], b"the cat")) == [b"the", b" cat"]
    assert _pieces(_continuation(WORDS, Spaced).behind([], b" the cat")) == [b" the", b" cat"]
    assert _pieces(_continuation(WORDS, Spaced).behind([], b"the cat")) == [b"the", b" cat"]


def test_a_space_that_the_tokenizer_adds_is_not_doubled() -> None:
    words = _continuation([*WORDS, b"  "], Spaced)
    assert _pieces(words.behind([], b" the")) == [b" the"]
    assert words.rewritten([6], b" cat") == (0, [9])


def test_tokens_without_text_end_the_tail() -> None:
    """Across a control token nothing can merge."""
    words = _continuation(WORDS)
    assert _pieces(words.behind([0, 13], b"he")) == [b"h", b"e"]
    assert _pieces(words.behind([0, 13], b"the")) == [b"the"]
    assert words.rewritten([0, 13], b"he") == (0, [1, 2])


@pytest.mark.parametrize("kind", [PieceTokenizer, Strict])
def test_what_cannot_be_written_ends_the_tokens(kind: type[PieceTokenizer]) -> None:
    words = _continuation(WORDS, kind)
    assert _pieces(words.behind([5], b" cat! the")) == [b" cat"]
    assert words.behind([5], b"!") == []
    assert words.rewritten([5], b"!") is None


def test_a_gap_that_cannot_be_filled_ends_the_tokens() -> None:
    """Across the boundary there is one token, and no shorter one for what is left of it."""
    pieces = [b"a", b"axy", b"z", b"x"]
    assert _pieces(_continuation(pieces).behind([0], b"xyz"), pieces) == [b"x"]


def test_rewriting_takes_back_what_the_whole_text_would_not_have() -> None:
    words = _continuation(WORDS)
    assert words.rewritten([6, 9], b" the") == (0, [6])
    drop, tokens = words.rewritten([6, 10], b"t the") or (0, [])
    assert (drop, _pieces(tokens)) == (1, [b" cat", b" the"])
    drop, tokens = words.rewritten([6, 3, 7, 8], b"t") or (0, [])
    assert (drop, _pieces(tokens)) == (3, [b" cat"])
    assert words.rewritten([], b"the") == (0, [5])


def test_rewriting_leaves_alone_what_a_cut_word_may_hide() -> None:
    """The tail of a text without spaces begins in the midst of a word: its first tokens may come out otherwise."""
    pieces = [b"a", b"b", b"aa", b"baa"]
    text = [3] * FARTHEST
    assert _continuation(pieces).rewritten(text, b"b") == (0, [1])
    odd = [*[3] * FARTHEST, 1, 2]
    assert _continuation(pieces).rewritten(odd, b"b") == (2, [3, 1])

    class Alone(PieceTokenizer):
        def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
            """The first letter of a text is always a token."""
            parts = (super(Alone, self).encode(t, add_special=False, parse_special=False) for t in (text[:1], text[1:]))
            return [token for part in parts for token in part]

    assert _continuation(pieces, Alone).rewritten(text, b"b") == (0, [1])


def test_rewriting_without_a_common_boundary() -> None:
    assert _continuation([b"a", b" a"], Spaced).rewritten([], b"a") is None
    assert _continuation([b"xx", b"x", b"xxx"]).rewritten([0], b"x") == (1, [2])


def test_tail_begins_at_a_word_and_is_bounded() -> None:
    seen: list[str] = []

    class Watched(PieceTokenizer):
        def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
            seen.append(text)
            return super().encode(text, add_special=add_special, parse_special=parse_special)

    words = _continuation(WORDS, Watched)
    for tokens in ([6, 9] * 5000, [7, 8] * 5000):
        seen.clear()
        words.behind(tokens, b" the")
        words.rewritten(tokens, b" the")
        assert max(map(len, seen)) < 5 * FARTHEST
    seen.clear()
    words.behind([*[7] * 30, 6, *[8] * 16], b"c")
    assert seen == [" the" + "a" * 16 + "c"]


def test_ids_beyond_the_model_are_not_used() -> None:
    words = TextContinuation(PieceTokenizer(WORDS), 9)
    assert _pieces(words.behind([5], b" the")) == [b" the"]
    assert words.encode(" cat") is None
    assert _pieces(words.behind([5], b" cat")) == [b" ", b"c", b"a", b"t"]


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        (b"", b""),
        (b".", b"."),
        (b". the", b". the"),
        (b". ca", b"."),
        (b". c", b"."),
        (b".t", b"."),
        (b".th", b"."),
        (b".ta", b".ta"),
        (b" cat t", b" cat"),
        (b" cat ", b" cat"),
    ],
)
def test_what_a_longer_token_may_take_in_is_not_settled(text: bytes, settled: bytes) -> None:
    words = _continuation(WORDS)
    assert words.join(words.settled(words.behind([], text))) == settled


def test_a_token_is_not_settled_where_its_end_may_go_to_the_next() -> None:
    words = _continuation([b"ab", b"bcd", b"a", b"c", b"d"])
    assert words.settled([0, 3]) == []
    assert words.settled([0, 3, 3]) == [0, 3, 3]


def test_of_two_tokens_for_one_text_the_proper_one_is_taken() -> None:
    """Byte tokens, which come first, are for what has no token of its own."""
    assert _continuation([b"a", b"b", b"a"]).cover(b"ab") == [2, 1]


@pytest.mark.parametrize(
    ("data", "length"),
    [
        (b"", 0),
        (b"abc", 3),
        ("é".encode(), 2),
        ("é".encode()[:1], 0),
        ("a😀".encode(), 5),
        ("a😀".encode()[:4], 1),
        ("a😀".encode()[:2], 1),
        ("x€".encode()[:3], 1),
        (b"\x80\x80", 2),
        (b"\x80" * 5, 5),
        (b"a\xff", 1),
    ],
)
def test_half_characters(data: bytes, length: int) -> None:
    assert whole_characters(data) == length


LETTERS = st.lists(st.sampled_from([b"a", b"b", b"c", b" "]), min_size=1, max_size=3).map(b"".join)


@given(st.lists(LETTERS, max_size=6, unique=True), st.lists(st.integers(0, 3), max_size=60), st.data())
def test_always_the_same_bytes(more: list[bytes], before: list[int], data: st.DataObject) -> None:
    pieces = [b"a", b"b", b"c", b" ", *more]
    new = data.draw(st.lists(LETTERS, max_size=8).map(b"".join))
    words = _continuation(pieces, data.draw(st.sampled_from([PieceTokenizer, Spaced])))
    assert words.join(words.behind(before, new)) == new
    found = words.rewritten(before, new)
    if found is not None:
        drop, tokens = found
        assert words.join([*before[: len(before) - drop], *tokens]) == words.join(before) + new
        assert drop <= len(before)
