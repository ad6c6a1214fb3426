"""Which models may be paired, and what a person is told where they may not."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from engine import gguf_types as types
from engine.backends.fake import FakeBackend
from engine.compat import check_vocabularies, judge_backends, judge_pair
from engine.gguf_file import read_gguf
from engine.library import ModelFile, scan_folder
from engine.vocabulary import Vocabulary, vocabulary_of_file
from helpers.gguf_writer import Entry, tiny_draft

FAMILIES = {
    "512 pieces": {
        *("stories260K-F32", "stories260K-Q8_0", "stories260K-Q4_0", "stories260K-4layers-F32"),
        *("stories-draft43K-F32", "stories-mamba131K-F32"),
    },
    "361 pieces": {"babyllama361-F32", "babyllama361-Q8_0", "babyllama105as361-F32"},
    "raw bytes": {"babyllama-byte256-F32", "rwkv5.2-730K-as-rwkv6-F32", "rwkv7-834K-F32"},
    "105 letters": {"babyllama105-F32"},
    "microlm": {"microlm-pro-F32"},
}


def vocabulary(
    texts: list[str],
    *,
    kind: str = "llama",
    begin: int | None = 1,
    unused: frozenset[int] = frozenset(),
    folder: Path,
) -> Vocabulary:
    """The vocabulary of a file that is written with these tokens."""
    draft = tiny_draft()
    draft.entries |= {
        "tokenizer.ggml.model": Entry(types.STRING, kind),
        "tokenizer.ggml.tokens": Entry(types.STRING, texts),
        "tokenizer.ggml.token_type": Entry(types.INT32, [5 if index in unused else 1 for index in range(len(texts))]),
        "tokenizer.ggml.add_bos_token": Entry(types.BOOL, begin is not None),
        "tokenizer.ggml.bos_token_id": Entry(types.UINT32, begin or 0),
    }
    found = vocabulary_of_file(read_gguf(draft.write(folder / "v.gguf")))
    assert found is not None
    return found


TEXTS = ["<unk>", "<s>", "</s>", "<a>", "<b>", *(f"piece {index}" for index in range(400))]


def test_real_pairs_fit_within_their_families_only(shared_models: Path) -> None:
    models = [model for model in scan_folder(shared_models / "gguf") if model.usable]
    family_of = {name: family for family, names in FAMILIES.items() for name in names}
    assert {model.path.stem for model in models} == set(family_of)
    for target, draft in permutations(models, 2):
        fit = judge_pair(target, draft)
        related = family_of[target.path.stem] == family_of[draft.path.stem]
        assert fit.fits is related, (target.path.stem, draft.path.stem, fit.reason)
        assert fit.reason.endswith(".")
        assert ("not smaller" in fit.reason) is (related and draft.size_bytes >= target.size_bytes)


def test_same_tokens_fit(tmp_path: Path) -> None:
    first, second = (vocabulary(TEXTS, folder=tmp_path) for _ in range(2))
    assert first == second
    assert check_vocabularies(first, second) is None


def test_padding_of_any_length_fits(tmp_path: Path) -> None:
    plain = vocabulary(TEXTS, folder=tmp_path)
    named = vocabulary(TEXTS + [f"[PAD{index}]" for index in range(400, 1000)], folder=tmp_path)
    marked = vocabulary(
        TEXTS + [f"nothing {index}" for index in range(600)],
        unused=frozenset(range(len(TEXTS), len(TEXTS) + 600)),
        folder=tmp_path,
    )
    for longer in (named, marked):
        assert check_vocabularies(plain, longer) is None
        assert check_vocabularies(longer, plain) is None
    assert check_vocabularies(named, marked) is None


def test_a_few_more_special_tokens_fit_and_many_do_not(tmp_path: Path) -> None:
    plain = vocabulary(TEXTS, folder=tmp_path)
    few = vocabulary(TEXTS + [f"<special {index}>" for index in range(128)], folder=tmp_path)
    many = vocabulary(TEXTS + [f"<special {index}>" for index in range(129)], folder=tmp_path)
    assert check_vocabularies(plain, few) is None
    assert check_vocabularies(few, plain) is None
    assert "534" in (check_vocabularies(plain, many) or "")


def test_the_first_five_may_be_renamed(tmp_path: Path) -> None:
    plain = vocabulary(TEXTS, folder=tmp_path)
    renamed = vocabulary(["<A>", "<B>", "<C>", "<D>", "<E>", *TEXTS[5:]], folder=tmp_path)
    assert check_vocabularies(plain, renamed) is None


def test_one_other_token_is_named(tmp_path: Path) -> None:
    changed = list(TEXTS)
    changed[77] = "another"
    reason = check_vocabularies(vocabulary(TEXTS, folder=tmp_path), vocabulary(changed, folder=tmp_path))
    assert reason is not None
    assert "token 77" in reason


def test_same_size_other_tokens(tmp_path: Path) -> None:
    other = [f"word {index}" for index in range(len(TEXTS))]
    reason = check_vocabularies(vocabulary(TEXTS, folder=tmp_path), vocabulary(other, folder=tmp_path))
    assert reason is not None
    assert "most of their tokens" in reason


def test_padding_alone_is_not_a_vocabulary(tmp_path: Path) -> None:
    empty = vocabulary(
        [f"[PAD{index}]" for index in range(len(TEXTS))],
        folder=tmp_path,
    )
    some = vocabulary(TEXTS[:100] + [f"[PAD{i}]" for i in range(305)], folder=tmp_path)
    assert "in common" in (check_vocabularies(vocabulary(TEXTS, folder=tmp_path), empty) or "")
    assert check_vocabularies(vocabulary(TEXTS, folder=tmp_path), some) is None


def test_kinds_and_begin_tokens_must_be_alike(tmp_path: Path) -> None:
    plain = vocabulary(TEXTS, folder=tmp_path)
    reason = check_vocabularies(plain, vocabulary(TEXTS, kind="rwkv", folder=tmp_path))
    assert reason is not None
    assert "SentencePiece and RWKV" in reason
    reason = check_vocabularies(plain, vocabulary(TEXTS, begin=None, folder=tmp_path))
    assert reason is not None
    assert "begin tokens differ: the target uses token 1, the draft none" in reason
    reason = check_vocabularies(plain, vocabulary(TEXTS, begin=3, folder=tmp_path))
    assert reason is not None
    assert "token 3" in reason


@pytest.mark.parametrize(
    ("kind", "pre", "expected"),
    [
        ("llama", None, (1, None)),
        ("gpt2", None, (None, None)),
        ("gpt2", "llama-bpe", (1, None)),
        ("t5", None, (None, 2)),
        ("rwkv", None, (None, None)),
    ],
)
def test_flags_that_a_file_leaves_out(
    tmp_path: Path, kind: str, pre: str | None, expected: tuple[int | None, int | None]
) -> None:
    draft = tiny_draft()
    draft.entries["tokenizer.ggml.model"] = Entry(types.STRING, kind)
    if pre is not None:
        draft.entries["tokenizer.ggml.pre"] = Entry(types.STRING, pre)
    found = vocabulary_of_file(read_gguf(draft.write(tmp_path / "x.gguf")))
    assert found is not None
    assert (found.begin_id, found.end_id) == expected


def test_models_that_cannot_be_used_do_not_fit(tmp_path: Path) -> None:
    good = ModelFile(tmp_path / "a", "good", size_bytes=10, vocabulary=vocabulary(TEXTS, folder=tmp_path))
    broken = replace(good, name="broken", problem="It is cut off.")
    bare = replace(good, name="bare", vocabulary=None)
    fit = judge_pair(good, broken)
    assert not fit.fits
    assert fit.reason == "broken cannot be used: It is cut off."
    assert not judge_pair(broken, good).fits
    fit = judge_pair(bare, good)
    assert not fit.fits
    assert "no vocabulary" in fit.reason


@pytest.mark.parametrize(
    ("size", "words"),
    [(1, "100 times as large"), (40, "2.5 times as large"), (90, "hardly smaller"), (100, "not smaller")],
)
def test_the_reason_says_what_to_expect(tmp_path: Path, size: int, words: str) -> None:
    target = ModelFile(tmp_path / "a", "target", size_bytes=100, vocabulary=vocabulary(TEXTS, folder=tmp_path))
    fit = judge_pair(target, replace(target, name="draft", size_bytes=size))
    assert fit.fits
    assert words in fit.reason


def test_loaded_models_are_judged_by_their_tokenizers() -> None:
    small, large = FakeBackend(vocab_size=20), FakeBackend(vocab_size=26, name="large")
    assert judge_backends(large, small) is None
    other = FakeBackend(vocab_size=26, name="other")
    other.tokenizer.piece = lambda token: f"<{token}>".encode()  # type: ignore[method-assign]
    mismatch = judge_backends(large, other)
    assert mismatch is not None
    assert str(mismatch).startswith("other cannot draft for large: ")


def test_fingerprints_cannot_be_changed(tmp_path: Path) -> None:
    found = vocabulary(TEXTS, folder=tmp_path)
    assert found.fingerprints.dtype == np.uint32
    with pytest.raises(ValueError, match="read-only"):
        found.fingerprints[0] = 1
