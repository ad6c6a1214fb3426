"""The long lists of headers: found as the plain walk finds them, and recognised only where they are the same."""

import random
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.formats.gguf import types
from engine.formats.gguf.model import HeaderReader, inspect_gguf
from engine.formats.gguf.pieces import LEAST_BYTES, KnownPieces, text_places
from engine.formats.gguf.reader import read_gguf
from helpers.models.gguf_writer import Entry, GgufDraft, TensorData, tiny_draft


def packed(texts: list[bytes]) -> bytes:
    return b"".join(struct.pack("<Q", len(text)) + text for text in texts)


def plain_walk(data: bytes, start: int, count: int) -> tuple[list[int], int]:
    """The places one by one, as the format says it."""
    found = []
    for _ in range(count):
        if start + 8 > len(data):
            break
        end = start + 8 + int.from_bytes(data[start : start + 8], "little")
        if end > len(data):
            break
        found.append(start)
        start = end
    return found, start


texts = st.lists(
    st.one_of(
        st.binary(max_size=6),
        st.sampled_from([b"", b"\0", b"\0" * 8, b"a" + b"\0" * 7, b"\0" * 20, b"token", b"x" * 255, b"y" * 256]),
        st.binary(min_size=250, max_size=300),
    ),
    max_size=60,
)


@given(texts, st.binary(max_size=9), st.binary(max_size=20), st.integers(0, 3), st.integers(0, 40))
def test_places_are_those_of_the_plain_walk(
    many: list[bytes], before: bytes, behind: bytes, more: int, cut: int
) -> None:
    data = before + packed(many) + behind
    data = data[: max(len(before), len(data) - cut)]
    places, end = text_places(data, len(before), len(many) + more)
    assert (places.tolist(), end) == plain_walk(data, len(before), len(many) + more)


def test_places_over_many_windows() -> None:
    rng = random.Random(1)
    many = [rng.choice([b"", b"token", b"\0\0", b"z" * 300, b"q" * 70_000]) for _ in range(3000)]
    many += [f"t{index}".encode() for index in range(400_000)] + [b""] * 300_000
    data = packed(many)
    places, end = text_places(data, 0, len(many))
    assert (places.tolist(), end) == plain_walk(data, 0, len(many))
    assert end == len(data)


def test_pieces_are_forgotten_beyond_a_size() -> None:
    known = KnownPieces(10 * LEAST_BYTES)
    for index in range(30):
        piece = known.add("kind", bytes([index]) * LEAST_BYTES, index)
        assert piece is not None
        assert piece.number == index + 1
    kept = [index for index in range(30) if known.alike("kind", bytes([index]) * LEAST_BYTES, 0)]
    assert kept == list(range(20, 30))
    assert known.add("kind", b"short", None) is None
    assert known.add("kind", bytes(11 * LEAST_BYTES), None) is None


def large(name: str, *, seed: int = 0, tokens: int = 900) -> GgufDraft:
    """A model whose lists are long enough to be recognised."""
    draft = tiny_draft(layers=20, seed=seed)
    entries = draft.entries
    entries["general.name"] = Entry(types.STRING, name)
    entries["tokenizer.ggml.tokens"] = Entry(
        types.STRING, ["<unk>", "<s>", "</s>", *(f"\u2581{index:04}" for index in range(tokens - 3))]
    )
    entries["tokenizer.ggml.scores"] = Entry(types.FLOAT32, [-float(index) for index in range(tokens)])
    entries["tokenizer.ggml.token_type"] = Entry(types.INT32, [2, 3, 3] + [1] * (tokens - 3))
    draft.tensors["token_embd.weight"] = TensorData((8, tokens), 0, bytes(32 * tokens))
    return draft


def test_what_is_shared_is_read_as_if_it_were_alone(tmp_path: Path) -> None:
    reader = HeaderReader()
    for index, name in enumerate(["one", "another name", "a third, which is a good deal longer than the others"]):
        path = large(name).write(tmp_path / f"{index}.gguf")
        assert reader.read(path) == inspect_gguf(path)


def test_one_other_byte_is_another_vocabulary(tmp_path: Path) -> None:
    """At every place that counts: the lists are as long as before, and nearly the same."""
    reader = HeaderReader()
    first = reader.read(large("first").write(tmp_path / "first.gguf"))
    assert first.vocabulary is not None
    for place in (5, 450, 899):
        draft = large("first")
        draft.entries["tokenizer.ggml.tokens"].value[place] = "\u2581xxxx"
        path = draft.write(tmp_path / "other.gguf")
        other = reader.read(path)
        assert other == inspect_gguf(path)
        assert other.vocabulary is not None
        assert np.flatnonzero(other.vocabulary.fingerprints != first.vocabulary.fingerprints).tolist() == [place]
    draft = large("first")
    draft.entries["tokenizer.ggml.token_type"].value[700] = 5
    other = reader.read(draft.write(tmp_path / "other.gguf"))
    assert other.vocabulary is not None
    assert other.vocabulary.fingerprints[700] == 0
    draft.entries["tokenizer.ggml.bos_token_id"] = Entry(types.UINT32, 7)
    other = reader.read(draft.write(tmp_path / "other.gguf"))
    assert other.vocabulary is not None
    assert other.vocabulary.begin_id == 7
    assert reader.read(tmp_path / "first.gguf") == first


def test_what_is_wrong_is_found_though_the_rest_is_known(tmp_path: Path) -> None:
    reader = HeaderReader()
    good = reader.read(large("good").write(tmp_path / "good.gguf"))
    assert good.usable
    content = (tmp_path / "good.gguf").read_bytes()
    (tmp_path / "cut.gguf").write_bytes(content[:-100])
    with pytest.raises(Exception, match="incomplete"):
        reader.read(tmp_path / "cut.gguf")
    (tmp_path / "cut.gguf").write_bytes(content[:9000])
    with pytest.raises(Exception, match="incomplete"):
        reader.read(tmp_path / "cut.gguf")
    draft = large("twice")
    draft.entries["tokenizer.ggml.tokens"].value[800] = "\u25810001"
    twice = reader.read(draft.write(tmp_path / "twice.gguf"))
    assert "occurs twice" in (twice.problem or "")
    draft = large("nan")
    draft.entries["tokenizer.ggml.scores"].value[800] = float("nan")
    assert "damaged" in (reader.read(draft.write(tmp_path / "nan.gguf")).problem or "")
    assert reader.read(large("good").write(tmp_path / "good.gguf")) == good
    draft = large("other shape")
    draft.tensors["token_embd.weight"] = TensorData((8, 800), 0, bytes(32 * 800))
    assert "shape" in (reader.read(draft.write(tmp_path / "shape.gguf")).problem or "")


def test_lists_are_the_same_with_and_without_what_is_known(tmp_path: Path) -> None:
    known = KnownPieces()
    path = large("x").write(tmp_path / "x.gguf")
    alone = read_gguf(path)
    for _ in range(2):
        header = read_gguf(path, known)
        assert header.tensors == alone.tensors
        assert header.data_start == alone.data_start
        assert {key: value._replace(piece=0) for key, value in header.metadata.items()} == alone.metadata
        for key in alone.metadata:
            assert list(header.strings(key)) == list(alone.strings(key))
            assert header.raw(key) == alone.raw(key)
    assert read_gguf(path, known).metadata["tokenizer.ggml.tokens"].piece > 0
