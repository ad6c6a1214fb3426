"""The reader of GGUF headers, on good files, on files that are wrong in one place, and on noise."""

import os
import struct
from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import LoadFailed, ModelFileBroken, ModelNotSupported
from engine.formats.gguf import types
from engine.formats.gguf.checks import check_model
from engine.formats.gguf.reader import read_gguf
from helpers.models.gguf_writer import Entry, GgufDraft, TensorData, tiny_draft
from helpers.processes import own_clock

RELAXED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def reason_of(path: Path, kind: type[LoadFailed] = ModelFileBroken) -> str:
    with pytest.raises(kind) as caught:
        check_model(read_gguf(path))
    assert type(caught.value) is kind
    return caught.value.reason


def test_reads_what_the_reference_writer_writes(tmp_path: Path) -> None:
    path = tmp_path / "reference.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Réference")
    writer.add_context_length(123)
    writer.add_float32("some.float", 0.5)
    writer.add_bool("some.flag", True)
    writer.add_token_list(["a", "bc", "ä"])
    writer.add_token_scores([0.0, -1.0, -2.0])
    writer.add_tensor("one", np.arange(6, dtype=np.float32).reshape(2, 3))
    writer.add_tensor("two", np.arange(5, dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    header = read_gguf(path)
    assert header.version == 3
    assert header.text("general.name") == "Réference"
    assert header.number("llama.context_length") == 123
    assert header.metadata["some.float"].content == 0.5
    assert header.flag("some.flag") is True
    assert list(header.strings("tokenizer.ggml.tokens")) == [b"a", b"bc", "ä".encode()]
    scores = header.numbers("tokenizer.ggml.scores")
    assert scores is not None
    assert scores.tolist() == [0.0, -1.0, -2.0]
    one, two = header.tensors["one"], header.tensors["two"]
    assert (one.shape, one.elements, one.size) == ((3, 2), 6, 24)
    assert (two.shape, two.elements, two.size) == ((5,), 5, 10)
    start = header.data_start + two.offset
    assert np.frombuffer(path.read_bytes()[start : start + 10], np.float16).tolist() == [0, 1, 2, 3, 4]


def test_absent_and_other_types_are_none(tmp_path: Path) -> None:
    header = read_gguf(tiny_draft().write(tmp_path / "tiny.gguf"))
    assert header.text("no.such.key") is None
    assert header.text("llama.block_count") is None
    assert header.number("general.name") is None
    assert header.number("llama.attention.layer_norm_rms_epsilon") is None
    assert header.flag("llama.block_count") is None
    assert header.numbers("general.name") is None
    assert header.numbers("tokenizer.ggml.tokens") is None
    assert header.count("general.name") is None
    assert list(header.strings("tokenizer.ggml.scores")) == []


def test_agrees_with_the_reference_reader(shared_models: Path) -> None:
    for path in sorted(shared_models.glob("gguf/**/*.gguf")):
        ours, theirs = read_gguf(path), gguf.GGUFReader(path)
        check_model(ours)
        assert ours.data_start == theirs.data_offset
        assert len(ours.tensors) == len(theirs.tensors)
        for tensor in theirs.tensors:
            found = ours.tensors[tensor.name]
            assert list(found.shape) == list(tensor.shape)
            assert (found.size, found.elements) == (tensor.n_bytes, tensor.n_elements)
            assert ours.data_start + found.offset == tensor.data_offset


def test_block_sizes_are_the_reference_ones() -> None:
    for kind, (block, size) in gguf.GGML_QUANT_SIZES.items():
        if kind.name == "Q8_1":  # the reference counts two floats where ggml has two halves
            continue
        assert types.TENSOR_TYPES[int(kind)] == (kind.name, block, size)


def test_version_2_is_read(tmp_path: Path) -> None:
    draft = tiny_draft()
    draft.version = 2
    assert read_gguf(draft.write(tmp_path / "two.gguf")).version == 2


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (b"", ModelFileBroken, "empty"),
        (b"GG", ModelFileBroken, "not a GGUF file"),
        (b"PK\x03\x04" + bytes(100), ModelFileBroken, "not a GGUF file"),
        (b"GGUF", ModelFileBroken, "incomplete"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(32), ModelNotSupported, "version 1"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(32), ModelNotSupported, "big-endian"),
        (b"GGUF" + struct.pack("<I", 77) + bytes(32), ModelFileBroken, "version 77"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**63, 1), ModelFileBroken, "claims"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**64 - 1), ModelFileBroken, "claims"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**64 - 1) + bytes(64), ModelFileBroken, "name"),
    ],
)
def test_refuses_what_is_no_model(tmp_path: Path, content: bytes, kind: type[LoadFailed], words: str) -> None:
    assert words in reason_of(write(tmp_path / "x.gguf", content), kind)


def test_refuses_what_is_no_file(tmp_path: Path) -> None:
    assert "no such file" in reason_of(tmp_path / "missing.gguf")
    assert "not a file" in reason_of(tmp_path)
    assert "cannot be read" in reason_of(Path("/x\0y.gguf"))
    loop = tmp_path / "loop.gguf"
    loop.symlink_to(loop)
    assert "cannot be read" in reason_of(loop)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.gguf")
        assert "not a file" in reason_of(tmp_path / "pipe.gguf")


def test_every_cut_is_refused(tmp_path: Path) -> None:
    path = tiny_draft().write(tmp_path / "cut.gguf")
    padding = 31
    for length in range(path.stat().st_size - padding, -1, -7):
        os.truncate(path, length)
        with pytest.raises(ModelFileBroken):
            read_gguf(path)


Change = Callable[[GgufDraft], None]


def entry(key: str, kind: int, value: object) -> Change:
    def change(draft: GgufDraft) -> None:
        draft.entries[key] = Entry(kind, value)

    return change


def without(key: str) -> Change:
    def change(draft: GgufDraft) -> None:
        del draft.entries[key]

    return change


def tensor(name: str, **changes: object) -> Change:
    def change(draft: GgufDraft) -> None:
        for attribute, value in changes.items():
            setattr(draft.tensors[name], attribute, value)

    return change


def without_tensor(name: str) -> Change:
    def change(draft: GgufDraft) -> None:
        del draft.tensors[name]

    return change


TOKENS = [f"t{index}" for index in range(16)]
WRONG: dict[str, tuple[Change, str]] = {
    "no architecture": (without("general.architecture"), "model architecture"),
    "no tensors": (lambda draft: draft.tensors.clear(), "contains only a tokenizer"),
    "no layers": (without("llama.block_count"), "lacks 'llama.block_count'"),
    "0 layers": (entry("llama.block_count", types.UINT32, 0), "value 0"),
    "513 layers": (entry("llama.block_count", types.UINT32, 513), "value 513"),
    "layers as text": (entry("llama.block_count", types.STRING, "1"), "must be a number"),
    "layers as a float": (entry("llama.block_count", types.FLOAT32, 1.0), "must be a number"),
    "no width": (entry("llama.embedding_length", types.UINT32, 0), "value 0"),
    "no context": (entry("llama.context_length", types.UINT32, 0), "value 0"),
    "heads that cannot share": (
        entry("llama.attention.head_count_kv", types.UINT32, 3),
        "cannot share 3 key-value heads",
    ),
    "more heads than width": (entry("llama.attention.head_count", types.UINT32, 64), "64 heads"),
    "other rotation": (entry("llama.rope.dimension_count", types.UINT32, 2), "rotate"),
    "unknown scaling": (entry("llama.rope.scaling.type", types.STRING, "x"), "RoPE scaling"),
    "not a number": (entry("llama.attention.layer_norm_rms_epsilon", types.FLOAT32, float("nan")), "not a number"),
    "negative epsilon": (entry("llama.attention.layer_norm_rms_epsilon", types.FLOAT32, -1.0), "value -1"),
    "experts unused": (entry("llama.expert_count", types.UINT32, 4), "0 of 4 experts"),
    "experts missing": (entry("llama.expert_used_count", types.UINT32, 4), "4 of 0 experts"),
    "heads per layer missing": (entry("llama.attention.head_count", types.UINT32, []), "one number per layer"),
    "no tokenizer": (without("tokenizer.ggml.model"), "tokenizer"),
    "no vocabulary": (without("tokenizer.ggml.tokens"), "vocabulary is missing"),
    "empty vocabulary": (entry("tokenizer.ggml.tokens", types.STRING, []), "vocabulary is missing"),
    "numbers as tokens": (entry("tokenizer.ggml.tokens", types.INT32, [0] * 16), "vocabulary is missing"),
    "a token twice": (entry("tokenizer.ggml.tokens", types.STRING, ["a"] * 16), "occurs twice"),
    "tokens alike up to a zero": (
        entry("tokenizer.ggml.tokens", types.STRING, [*TOKENS[:14], "a\0b", "a\0c"]),
        "occurs twice",
    ),
    "broken token": (entry("tokenizer.ggml.tokens", types.STRING, [*TOKENS[:15], b"\xff"]), "not valid text"),
    "too few scores": (entry("tokenizer.ggml.scores", types.FLOAT32, [0.0] * 15), "16 tokens"),
    "a score that is no number": (entry("tokenizer.ggml.scores", types.FLOAT32, [float("nan")] * 16), "damaged"),
    "token types as text": (entry("tokenizer.ggml.token_type", types.STRING, ["1"] * 16), "does not match"),
    "no merges": (entry("tokenizer.ggml.model", types.STRING, "gpt2"), "merges"),
    "end token outside": (entry("tokenizer.ggml.eos_token_id", types.UINT32, 16), "is 16"),
    "end token as text": (entry("tokenizer.ggml.eos_token_id", types.STRING, "2"), "token id"),
    "split number as text": (entry("split.no", types.STRING, "0"), "wrong type"),
    "no embedding": (without_tensor("token_embd.weight"), "lacks the tensor"),
    "embedding turned": (tensor("token_embd.weight", shape=(16, 8)), "shape"),
    "norm too long": (tensor("output_norm.weight", shape=(16,), data=bytes(64)), "not have 8 elements"),
    "norm as F16": (tensor("output_norm.weight", kind=1, data=bytes(16)), "stored as F16"),
    "weights as I8": (tensor("blk.0.attn_q.weight", kind=24, data=bytes(64)), "stored as I8"),
    "weights as I32": (tensor("blk.0.ffn_up.weight", kind=26), "stored as I32"),
    "unknown type": (tensor("blk.0.attn_q.weight", kind=5), "unknown type"),
    "removed type": (tensor("blk.0.attn_q.weight", kind=31), "unknown type"),
    "huge type": (tensor("blk.0.attn_q.weight", kind=2**31), "unknown type"),
    "five dimensions": (tensor("blk.0.attn_q.weight", shape=(2, 2, 2, 2, 4)), "dimensions"),
    "no elements": (tensor("blk.0.attn_q.weight", shape=(8, 0)), "shape"),
    "too many elements": (tensor("blk.0.attn_q.weight", shape=(2**40, 2**40)), "shape"),
    "no whole blocks": (tensor("blk.0.attn_q.weight", kind=8), "do not divide into whole"),
    "misplaced": (tensor("blk.0.attn_q.weight", offset=3), "wrong offset"),
    "overlapping": (tensor("blk.0.attn_q.weight", offset=0), "wrong offset"),
    "out of the file": (tensor("blk.0.attn_q.weight", shape=(8, 2**40)), "incomplete"),
    "odd alignment": (entry("general.alignment", types.UINT32, 24), "not a power of two"),
    "no alignment": (entry("general.alignment", types.UINT32, 0), "not a power of two"),
    "alignment as text": (entry("general.alignment", types.STRING, "32"), "not a number"),
    "broken text": (entry("general.name", types.STRING, b"\xc3\x28"), "not valid text"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses_a_model_that_is_wrong_in_one_place(tmp_path: Path, name: str) -> None:
    change, words = WRONG[name]
    draft = tiny_draft()
    check_model(read_gguf(draft.write(tmp_path / "x.gguf")))
    change(draft)
    reason = reason_of(draft.write(tmp_path / "x.gguf"))
    assert words in reason
    assert len(reason) < 250


def test_refuses_unknown_tokenizers(tmp_path: Path) -> None:
    for tokenizer, words in (("none", "no vocabulary"), ("klingon", "unknown"), ("bert", "embedding")):
        draft = tiny_draft()
        draft.entries["tokenizer.ggml.model"] = Entry(types.STRING, tokenizer)
        assert words in reason_of(draft.write(tmp_path / "x.gguf"), ModelNotSupported)


def test_refuses_duplicates(tmp_path: Path) -> None:
    content = tiny_draft().to_bytes()
    twice = content.replace(b"llama.block_count", b"llama.block_coun2").replace(
        b"general.file_type", b"llama.block_coun2"
    )
    assert "occurs twice" in reason_of(write(tmp_path / "key.gguf", twice))
    twice = content.replace(b"blk.0.ffn_gate.weight", b"blk.0.ffn_down.weight")
    assert "occurs twice" in reason_of(write(tmp_path / "tensor.gguf", twice))


def test_refuses_lists_of_lists(tmp_path: Path) -> None:
    draft = GgufDraft({"x": Entry(types.INT32, [1])})
    content = draft.to_bytes().replace(
        struct.pack("<IIQ", types.ARRAY, types.INT32, 1), struct.pack("<IIQ", types.ARRAY, types.ARRAY, 1)
    )
    assert "unknown type 9" in reason_of(write(tmp_path / "x.gguf", content))


@pytest.mark.parametrize("long", ["\0" * 1_000, "ä" * 500])
def test_what_is_quoted_of_a_header_is_short(tmp_path: Path, long: str) -> None:
    key = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", len(long.encode())) + long.encode()
    assert len(reason_of(write(tmp_path / "key.gguf", key + struct.pack("<I", 99)))) < 400
    for name, kind in (("general.architecture", ModelFileBroken), ("tokenizer.ggml.model", ModelNotSupported)):
        draft = tiny_draft()
        draft.entries[name] = Entry(types.STRING, long)
        assert len(reason_of(draft.write(tmp_path / "x.gguf"), kind)) < 400


@pytest.mark.alone
@pytest.mark.parametrize(("kind", "size"), [(types.STRING, 2**60), (types.FLOAT64, 2**61), (types.UINT8, 2**34)])
def test_huge_claims_cost_nothing(tmp_path: Path, kind: int, size: int) -> None:
    content = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"x"
    content += struct.pack("<IIQ", types.ARRAY, kind, size) + bytes(4096)
    started = own_clock()
    reason_of(write(tmp_path / "x.gguf", content))
    assert own_clock() - started < 1.0


def test_long_vocabularies_are_walked_across_reads(tmp_path: Path) -> None:
    tokens = [f"token number {index}" for index in range(60_000)]
    draft = GgufDraft({"tokenizer.ggml.tokens": Entry(types.STRING, tokens), "after": Entry(types.UINT8, 7)})
    header = read_gguf(draft.write(tmp_path / "long.gguf"))
    assert header.number("after") == 7
    assert [text.decode() for text in header.strings("tokenizer.ggml.tokens")] == tokens


@pytest.mark.parametrize(
    ("missing", "words"), [(40, "40 bytes"), (10_001, "11 KB"), (181_568, "182 KB"), (10_940_000, "11 MB")]
)
def test_an_incomplete_file_says_how_much_is_missing(tmp_path: Path, missing: int, words: str) -> None:
    """Of all tensors together, not of the first one that is cut."""
    draft = tiny_draft()
    for name in ("a.weight", "b.weight"):
        draft.tensors[name] = TensorData((1_500_000,), 0, bytes(6_000_000))
    path = draft.write(tmp_path / "x.gguf")
    os.truncate(path, path.stat().st_size - missing)
    assert reason_of(path).startswith(f"the file is incomplete: {words} are missing.")


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tiny_draft().write(tmp_path / "x.gguf")
    whole = os.fstat

    def before(descriptor: int) -> os.stat_result:
        found = whole(descriptor)
        os.truncate(path, 300)
        return found

    monkeypatch.setattr(os, "fstat", before)
    assert "incomplete" in reason_of(path)


@RELAXED
@given(st.binary(max_size=400))
def test_noise_raises_only_our_errors(tmp_path: Path, noise: bytes) -> None:
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1)
    for content in (noise, b"GGUF" + noise, head + noise):
        with pytest.raises(LoadFailed):
            check_model(read_gguf(write(tmp_path / "noise.gguf", content)))


TINY = tiny_draft()
TINY_BYTES = TINY.to_bytes()
TINY_HEADER = len(TINY.header_bytes())


@RELAXED
@given(st.lists(st.tuples(st.integers(0, TINY_HEADER - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_damaged_headers_raise_only_our_errors(tmp_path: Path, edits: list[tuple[int, int]]) -> None:
    content = bytearray(TINY_BYTES)
    for place, value in edits:
        content[place] = value
    try:
        header = read_gguf(write(tmp_path / "damaged.gguf", bytes(content)))
        check_model(header)
    except LoadFailed as error:
        assert str(error).startswith("Cannot load damaged.gguf: ")  # noqa: PT017 - most examples raise nothing else
    else:
        last = list(header.tensors.values())[-1]
        assert header.data_start + last.offset + last.size <= len(content)


def test_every_tensor_type_is_sized(tmp_path: Path) -> None:
    for kind, layout in types.TENSOR_TYPES.items():
        rows = 3
        data = bytes(layout.size * rows * 2)
        draft = GgufDraft(tensors={"x": TensorData((layout.block * 2, rows), kind, data)})
        found = read_gguf(draft.write(tmp_path / "x.gguf")).tensors["x"]
        assert found.size == len(data)
