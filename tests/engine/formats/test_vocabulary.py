"""Vocabularies from files of all kinds: the same model's are the same."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.formats.gguf import types
from engine.formats.gguf.reader import read_gguf
from engine.formats.gguf.vocabulary import vocabulary_of_file
from engine.formats.safetensors.model import vocabulary_of_tokenizer_json
from engine.formats.vocabulary import Vocabulary, vocabulary_from_tokens
from engine.library.compat import vocabulary_of_backend
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.fakes import PieceTokenizer
from helpers.models.gguf_writer import Entry, tiny_draft

BOTH_FORMS = {
    "stories260K": "stories260K-F32",
    "stories-mamba131K": "stories-mamba131K-F32",
    "stories-draft43K": "stories-draft43K-F32",
    "babyllama361": "babyllama361-Q8_0",
    "babyllama105as361": "babyllama105as361-F32",
}
"""Folders with a tokenizer.json, and GGUF files of the same models."""

BEGIN = "<s>"
TEMPLATE: dict[str, Any] = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
}
CONFIG: dict[str, Any] = {"bos_token": "<s>", "eos_token": {"content": "</s>"}}
TOKENIZER: dict[str, Any] = {
    "added_tokens": [
        {"id": 0, "content": "<unk>", "special": True},
        {"id": 1, "content": "<s>", "special": True},
        {"id": 2, "content": "</s>", "special": True},
    ],
    "post_processor": None,
    "model": {"type": "BPE", "byte_fallback": True, "vocab": {"<unk>": 0, "<s>": 1, "</s>": 2, "▁a": 3, "b": 4}},
}


def _read(data: object, **options: Any) -> Vocabulary:
    found = vocabulary_of_tokenizer_json({**TOKENIZER, **data} if isinstance(data, dict) else {}, **options)
    assert found is not None
    return found


@pytest.mark.parametrize("folder", BOTH_FORMS)
def test_a_model_in_two_forms_has_one_vocabulary(shared_models: Path, folder: str) -> None:
    path = shared_models / "hf" / folder
    data, config = (json.loads((path / name).read_bytes()) for name in ("tokenizer.json", "tokenizer_config.json"))
    other = vocabulary_of_file(read_gguf(shared_models / "gguf" / f"{BOTH_FORMS[folder]}.gguf"))
    found = vocabulary_of_tokenizer_json(data, config)
    assert found is not None
    assert found == other
    assert other is not None
    assert np.array_equal(found.fingerprints, other.fingerprints)
    assert found.kind == "SentencePiece"


def test_models_of_other_families_differ(shared_models: Path) -> None:
    found = {
        vocabulary_of_file(read_gguf(shared_models / "gguf" / f"{name}.gguf")) for name in set(BOTH_FORMS.values())
    }
    assert len(found) == 2


def test_byte_level_files_are_alike() -> None:
    """Byte-level tokens are written in the same printable alphabet in both kinds of file."""
    data = {
        "decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteLevel"}]},
        "model": {"type": "BPE", "vocab": {"Ġa": 3, "Ċ": 4}},
    }
    other = vocabulary_from_tokens(
        "byte-pair", {0: b"<unk>", 1: b"<s>", 2: b"</s>", 3: "Ġa".encode(), 4: "Ċ".encode()}, None, None
    )
    assert _read(data) == other
    before = {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}]}, "model": data["model"]}
    assert _read(before) == other


def test_spaces_of_added_tokens_may_be_written_either_way() -> None:
    ours, theirs = (vocabulary_from_tokens("SentencePiece", {0: text}, None, None) for text in (b"  ", "▁▁".encode()))
    assert ours == theirs


@pytest.mark.parametrize(("kind", "shown"), [("Unigram", "Unigram"), ("WordPiece", "WordPiece"), (None, "")])
def test_other_kinds(kind: object, shown: str) -> None:
    found = _read({"model": {"type": kind, "vocab": [["▁a", -1.0], ["b", -2.0], [], 7]}, "added_tokens": []})
    assert (found.kind, found.size) == (shown, 2)


@pytest.mark.parametrize(
    ("processor", "config", "expected"),
    [
        (TEMPLATE, {}, (1, None)),
        (TEMPLATE, {"add_bos_token": False}, (None, None)),
        ({"type": "Sequence", "processors": [{"type": "ByteLevel"}, TEMPLATE]}, {}, (1, None)),
        (None, {}, (None, None)),
        (None, {"add_bos_token": True, **CONFIG}, (1, None)),
        (None, {"add_bos_token": True, "add_eos_token": True, **CONFIG}, (1, 2)),
        (None, {"add_bos_token": True, "bos_token": "<no such>"}, (None, None)),
        (None, {"add_bos_token": True, "bos_token": 7}, (None, None)),
        ({**TEMPLATE, "single": []}, {}, (None, None)),
        ({**TEMPLATE, "special_tokens": {"<s>": {"ids": []}}}, {}, (None, None)),
        ({**TEMPLATE, "single": [*TEMPLATE["single"], TEMPLATE["single"][0]]}, {}, (1, 1)),
    ],
)
def test_tokens_around_a_text(processor: object, config: dict[str, Any], expected: tuple[int | None, ...]) -> None:
    found = _read({"post_processor": processor}, config=config)
    assert (found.begin_id, found.end_id) == expected


def test_padding_behind_a_vocabulary_changes_its_size_alone() -> None:
    plain, padded = _read({}), _read({}, vocab_size=64)
    assert (plain.size, padded.size) == (5, 64)
    assert plain.digest == padded.digest
    assert not padded.fingerprints[5:].any()
    assert _read({"added_tokens": [{"id": 7, "content": "<x>"}]}, vocab_size=3).size == 8


def test_a_file_without_tokens_has_no_vocabulary() -> None:
    assert vocabulary_of_tokenizer_json({}) is None
    assert vocabulary_of_tokenizer_json({"model": {"vocab": {}}}, vocab_size=64) is None
    assert vocabulary_of_tokenizer_json({"model": {"vocab": {"far": 2**40, "before": -1}}}) is None


def test_a_type_for_each_token_and_none_at_all(tmp_path: Path) -> None:
    draft = tiny_draft()
    draft.entries["tokenizer.ggml.token_type"] = Entry(types.INT32, [1])
    assert vocabulary_of_file(read_gguf(draft.write(tmp_path / "short.gguf"))) is not None
    del draft.entries["tokenizer.ggml.tokens"]
    assert vocabulary_of_file(read_gguf(draft.write(tmp_path / "bare.gguf"))) is None


def test_an_entry_that_is_no_token_is_left_out() -> None:
    found = _read({"added_tokens": [7, {"id": "x"}], "model": {"type": "BPE", "vocab": {"a": 5, "b": "c"}}})
    assert found.size == 6


def test_texts_that_are_no_unicode() -> None:
    assert _read({"model": {"type": "BPE", "vocab": {"\ud800": 5}}}).size == 6


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("model", "added_tokens", "post_processor", "decoder"), _JSON)))
def test_nonsense_never_fails(data: dict[str, object]) -> None:
    vocabulary_of_tokenizer_json(data)


@given(_JSON, _JSON, _JSON)
def test_nonsense_inside_never_fails(vocab: object, template: object, config: object) -> None:
    data = {
        "model": {"type": "BPE", "vocab": vocab},
        "added_tokens": vocab,
        "post_processor": {"type": "TemplateProcessing", "single": template, "special_tokens": template},
    }
    vocabulary_of_tokenizer_json(data, {"add_bos_token": True, "bos_token": config})


def test_loaded_models_are_described_by_their_pieces() -> None:
    backend = FakeBackend(5)
    backend.tokenizer = PieceTokenizer([b"", b"a", b"b", b"", b""])
    found = vocabulary_of_backend(backend)
    assert (found.kind, found.size, found.begin_id, found.end_id) == ("", 5, None, None)
    assert [bool(value) for value in found.fingerprints] == [False, True, True, False, False]
    assert found.digest == vocabulary_from_tokens("", {1: b"a", 2: b"b"}, None, None).digest


def test_loaded_models_begin_as_their_tokenizers_do() -> None:
    class Beginning(PieceTokenizer):
        def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
            return [*([0] if add_special else []), *super().encode(text, add_special=False, parse_special=False)]

    backend = FakeBackend(2)
    tokenizer = backend.tokenizer = Beginning([b"", b"a"])
    assert vocabulary_of_backend(backend).end_id == 0
    tokenizer.bos_token = BEGIN
    assert vocabulary_of_backend(backend).begin_id == 0
