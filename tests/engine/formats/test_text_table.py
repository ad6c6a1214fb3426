"""Many texts at once answer as each of them would."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.formats.text_table import TextTable

texts = st.lists(
    st.one_of(
        st.binary(max_size=20),
        st.text(max_size=8).map(str.encode),
        st.sampled_from([b"", b"[PAD1]", b"[PAD", b"[PAD]", b"[PADx", b" a", b"\xe2\x96\x81a", b"a" * 32, b" " * 32]),
        st.integers(500, 530).map(lambda length: b"x" * length),
        st.integers(500, 530).map(lambda length: b" x" * length),
    ),
    max_size=30,
)


def meant(text: bytes) -> bytes:
    """What a token's text is compared by; nothing for padding."""
    if text.startswith(b"[PAD") and text.endswith(b"]"):
        return b""
    return text.replace(b" ", "\u2581".encode())


@given(texts)
def test_a_table_has_its_texts(many: list[bytes]) -> None:
    table = TextTable.of(many)
    assert list(table) == many
    assert len(table) == len(many)
    assert table.lines() == b"".join(b"\n" * 8 + text for text in many)
    assert list(table.cut_at_zeros()) == [text.split(b"\0")[0] for text in many]


@given(texts, texts)
def test_fingerprints_are_equal_where_texts_are(first: list[bytes], second: list[bytes]) -> None:
    prints = [*TextTable.of(first).fingerprints(), *TextTable.of(second).fingerprints()]
    for text, own in zip(first + second, prints, strict=True):
        assert bool(own == 0) is (meant(text) == b"")
    seen: dict[bytes, int] = {}
    for text, own in zip(first + second, prints, strict=True):
        assert seen.setdefault(meant(text), own) == own
    assert len(set(seen.values())) == len(seen)


@given(texts)
def test_what_is_repeated_and_what_is_text(many: list[bytes]) -> None:
    filled = [text for text in (text.split(b"\0")[0] for text in many) if text]
    assert TextTable.of(many).repeated() is (len(set(filled)) < len(filled))

    def valid(data: bytes) -> bool:
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
        return True

    assert valid(TextTable.of(many).lines()) is all(map(valid, many))


def test_texts_that_differ_in_one_byte_differ() -> None:
    base = bytes(range(1, 200))
    many = [base[:place] + bytes([base[place] ^ 1]) + base[place + 1 :] for place in range(len(base))]
    many += [base[:length] for length in range(1, len(base) + 1)]
    assert len(set(TextTable.of(many).fingerprints().tolist())) == len(many)


def test_fingerprints_hardly_collide() -> None:
    many = [f"token{index}".encode() for index in range(200_000)]
    distinct = len(np.unique(TextTable.of(many).fingerprints()))
    by_chance = 200_000**2 / 2 / 2**32
    assert 200_000 - distinct < 5 * by_chance
