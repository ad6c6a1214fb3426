"""Which models may be paired, and what a person is told where they may not."""

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import VocabularyMismatch
from engine.formats.draft_head import DraftHead
from engine.formats.gguf import types
from engine.formats.gguf.reader import read_gguf
from engine.formats.gguf.vocabulary import vocabulary_of_file
from engine.formats.model_file import Role
from engine.formats.safetensors.model import vocabulary_of_tokenizer_json
from engine.formats.vocabulary import Vocabulary, vocabulary_from_tokens
from engine.library.compat import Fit, check_vocabularies, judge_backends, judge_pair, judge_vocabularies, rank_drafts
from engine.library.scan import ModelFile, scan_folder
from engine.loading.source import Source
from engine.methods import DRAFT_MODEL
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.fakes import PieceTokenizer
from helpers.models.gguf_writer import Entry, tiny_draft

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
    texts: list[str], *, kind: str = "llama", begin: int | None = 1, unused: frozenset[int] = frozenset(), folder: Path
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


def test_real_pairs_fit_within_their_families_and_through_text_beyond(shared_models: Path) -> None:
    models = [model for model in scan_folder(shared_models / "gguf") if model.usable]
    family_of = {name: family for family, names in FAMILIES.items() for name in names}
    assert {model.path.stem for model in models} == set(family_of)
    for target, draft in permutations(models, 2):
        fit = judge_pair(target, draft)
        related = family_of[target.path.stem] == family_of[draft.path.stem]
        assert fit.fits is related, (target.path.stem, draft.path.stem, fit.reason)
        assert fit.through_text is not related
        assert fit.usable
        assert fit.reason.endswith(".")
        assert ("are translated through text, which is slower" in fit.reason) is not related
        assert ("not smaller" in fit.reason) is (draft.size_bytes >= target.size_bytes)


def test_a_gguf_file_and_a_tokenizer_json_of_one_model_fit(shared_models: Path) -> None:
    folder = shared_models / "hf" / "stories260K"
    data, config = (json.loads((folder / name).read_bytes()) for name in ("tokenizer.json", "tokenizer_config.json"))
    target = next(model for model in scan_folder(shared_models / "gguf") if model.path.stem == "stories260K-F32")
    draft = ModelFile(folder, "stories", size_bytes=10, vocabulary=vocabulary_of_tokenizer_json(data, config, 640))
    assert judge_pair(target, draft).fits
    assert judge_pair(draft, target).fits


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
    assert check_vocabularies(plain, many) == "the draft has 129 more tokens"
    assert check_vocabularies(many, plain) == "the target has 129 more tokens"


def test_the_first_five_may_be_renamed(tmp_path: Path) -> None:
    plain = vocabulary(TEXTS, folder=tmp_path)
    renamed = vocabulary(["<A>", "<B>", "<C>", "<D>", "<E>", *TEXTS[5:]], folder=tmp_path)
    assert check_vocabularies(plain, renamed) is None


def test_one_other_token_is_named(tmp_path: Path) -> None:
    changed = list(TEXTS)
    changed[77] = "another"
    reason = check_vocabularies(vocabulary(TEXTS, folder=tmp_path), vocabulary(changed, folder=tmp_path))
    assert reason == "1 of 400 tokens stand for different texts, the first of them 77"


def test_same_size_other_tokens(tmp_path: Path) -> None:
    other = [f"word {index}" for index in range(len(TEXTS))]
    reason = check_vocabularies(vocabulary(TEXTS, folder=tmp_path), vocabulary(other, folder=tmp_path))
    assert reason is not None
    assert "most of their tokens" in reason


def test_padding_alone_is_not_a_vocabulary(tmp_path: Path) -> None:
    empty = vocabulary([f"[PAD{index}]" for index in range(len(TEXTS))], folder=tmp_path)
    some = vocabulary(TEXTS[:100] + [f"[PAD{i}]" for i in range(305)], folder=tmp_path)
    assert "in common" in (check_vocabularies(vocabulary(TEXTS, folder=tmp_path), empty) or "")
    assert check_vocabularies(vocabulary(TEXTS, folder=tmp_path), some) is None


def test_families_that_differ_in_padding_alone_fit() -> None:
    """As two sizes of one family do: 151,936 ids and 152,064, of which 151,665 have a text."""
    texts = {token: b"t%d" % token for token in range(151_665)}
    padding = {token: b"[PAD%d]" % token for token in range(len(texts), 151_936)}
    small = vocabulary_from_tokens("byte-pair", texts | padding, None, None)
    large = vocabulary_from_tokens("byte-pair", texts, None, None, 152_064)
    assert (small.size, large.size) == (151_936, 152_064)
    assert small.digest == large.digest
    assert judge_vocabularies(large, small) == judge_vocabularies(small, large) == Fit(True, "Same vocabulary.")


def test_kinds_must_be_alike(tmp_path: Path) -> None:
    plain = vocabulary(TEXTS, folder=tmp_path)
    fit = judge_vocabularies(plain, vocabulary(TEXTS, kind="rwkv", folder=tmp_path))
    assert fit.through_text
    assert not fit.fits
    assert fit.reason == (
        "They have different tokenizers (SentencePiece with 405 tokens and RWKV with 405 tokens): they have "
        "different types, so proposals are translated through text, which is slower."
    )
    assert judge_vocabularies(plain, vocabulary(TEXTS, kind="t5", folder=tmp_path)).fits


@pytest.mark.parametrize(
    ("target", "draft", "words"),
    [
        (1, 1, ""),
        (1, None, ""),
        (None, None, ""),
        (1, 3, ", but the draft expects begin token 3 and gets token 1"),
        (None, 3, ", but the draft expects begin token 3 and gets none"),
    ],
)
def test_another_begin_token_is_told_and_fits(
    tmp_path: Path, target: int | None, draft: int | None, words: str
) -> None:
    """Nothing goes wrong by it, and through text a draft would not see the control tokens of a chat either."""
    pair = [vocabulary(TEXTS, begin=begin, folder=tmp_path) for begin in (target, draft)]
    assert judge_vocabularies(*pair) == Fit(True, f"Same vocabulary{words}.")


def test_pairs_are_remembered_and_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.library.compat._MOST_JUDGED", 2)
    monkeypatch.setattr("engine.library.compat._judged", {})
    found = [vocabulary(TEXTS[:size], folder=tmp_path) for size in (100, 200, 300)]
    pairs = list(permutations(found, 2))
    fits = [judge_vocabularies(*pair) for pair in pairs]
    assert [judge_vocabularies(*pair) for pair in pairs] == fits
    assert {fit.through_text for fit in fits} == {False, True}
    assert judge_vocabularies(*pairs[-1]) is judge_vocabularies(*pairs[-1])


@pytest.mark.parametrize("reverse", [False, True])
def test_tokens_without_text_cannot_be_translated(tmp_path: Path, *, reverse: bool) -> None:
    pair = [vocabulary(TEXTS, folder=tmp_path), vocabulary(["[PAD0]", "[PAD1]"], folder=tmp_path)]
    fit = judge_vocabularies(*(reversed(pair) if reverse else pair))
    assert not fit.usable
    whose = "target" if reverse else "draft"
    assert fit.reason == f"The {whose}'s tokens have no text, so proposals cannot be translated."


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


def _model(folder: Path, name: str = "target", **options: Any) -> ModelFile:
    options.setdefault("vocabulary", vocabulary(TEXTS, folder=folder))
    return ModelFile(folder / name, name, **{"size_bytes": 100, **options})


def test_models_that_cannot_be_used_do_not_fit(tmp_path: Path) -> None:
    good = _model(tmp_path, "good")
    broken = replace(good, name="broken", problem="It is cut off.")
    bare = replace(good, name="bare", vocabulary=None)
    for fit in (judge_pair(good, broken), judge_pair(broken, good)):
        assert not fit.usable
        assert fit.reason == "broken cannot be used: It is cut off."
    for fit in (judge_pair(bare, good), judge_pair(good, bare)):
        assert not fit.usable
        assert fit.reason == "bare has no vocabulary of its own."
    silent = replace(good, name="silent", vocabulary=vocabulary(["[PAD0]"], folder=tmp_path))
    assert judge_pair(good, silent).reason.startswith("The draft's tokens have no text")


@pytest.mark.parametrize("role", ["projector", "embedding", "draft-head", "adapter", "folder", "other"])
def test_only_models_that_write_text_fit(tmp_path: Path, role: Role) -> None:
    good = _model(tmp_path, "good")
    fit = judge_pair(good, replace(good, name="other", role=role))
    assert not fit.usable
    assert fit.reason == "other cannot be used: it does not generate text."


@pytest.mark.parametrize(
    ("size", "parameters", "words"),
    [
        (1, 0, "The target is 100 times as large as the draft: a speedup is likely."),
        (1, 5, "The target is 100 times as large as the draft: the draft may be too small to guess well."),
        (40, 0, "The target is 2.5 times as large as the draft: a small speedup at best."),
        (90, 0, "The draft is hardly smaller than the target: little or no speedup."),
        (100, 0, "The draft is not smaller than the target: no speedup."),
        (900, 0, "The draft is not smaller than the target: no speedup."),
    ],
)
def test_the_reason_says_what_to_expect(tmp_path: Path, size: int, parameters: int, words: str) -> None:
    target = _model(tmp_path, parameters=1000)
    draft = replace(_model(tmp_path, "draft", parameters=parameters), size_bytes=size)
    assert judge_pair(target, draft) == Fit(True, f"Same vocabulary. {words}")
    strange = replace(draft, vocabulary=vocabulary(TEXTS, kind="rwkv", folder=tmp_path))
    fit = judge_pair(target, strange)
    assert (fit.fits, fit.through_text) == (False, True)
    less = words.replace("is likely", "is possible")
    assert fit.reason.endswith(f"so proposals are translated through text, which is slower. {less}")


def test_a_model_fits_itself_for_no_speedup(tmp_path: Path) -> None:
    target = _model(tmp_path)
    assert judge_pair(target, target) == Fit(True, "Same vocabulary. The draft is the target itself: no speedup.")


def test_loaded_models_are_judged_by_their_tokenizers() -> None:
    small, large = FakeBackend(vocab_size=20), FakeBackend(vocab_size=26, name="large")
    assert judge_backends(large, small) == Source(DRAFT_MODEL, small).fits(large) == Fit(True, "Same vocabulary.")
    other = FakeBackend(vocab_size=26, name="other")
    other.tokenizer = PieceTokenizer([b"<%d>" % token for token in range(26)])
    fit = Source(DRAFT_MODEL, other).fits(large)
    assert (fit.fits, fit.through_text) == (False, True)
    assert "(26 tokens and 26 tokens): most of their tokens" in fit.reason
    other.tokenizer = PieceTokenizer([b""] * 26)
    with pytest.raises(VocabularyMismatch, match="other cannot draft for large: The draft's tokens"):
        Source(DRAFT_MODEL, other).fitted_to(large)


def test_loaded_models_of_files_are_judged_by_their_headers() -> None:
    texts = {index: text.encode() for index, text in enumerate(TEXTS)}
    marked, other = (
        replace(vocabulary_from_tokens("byte-pair", texts | {8: name}, None, None), control=(8,))
        for name in (b"<|fim|>", b"<|pad|>")
    )
    target, draft = FakeBackend(name="target"), FakeBackend(name="draft")
    target.tokenizer = draft.tokenizer = PieceTokenizer([])  # Nobody asks them.
    target.vocabulary, draft.vocabulary = marked, marked
    assert judge_backends(target, draft) == Fit(True, "Same vocabulary.")
    draft.vocabulary = other
    assert judge_backends(target, draft) == Fit(True, "Same vocabulary."), "control tokens may have other names"
    draft.vocabulary = vocabulary_from_tokens("rwkv", texts, None, None)
    assert judge_backends(target, draft).through_text


def _ranked(target: ModelFile, candidates: list[ModelFile]) -> list[str]:
    """The names, best first, after it was checked that the order of the candidates does not matter."""
    ranked = rank_drafts(target, candidates)
    assert rank_drafts(target, candidates[::-1]) == ranked
    assert all(fit == judge_pair(target, draft) for draft, fit in ranked)
    return [draft.name for draft, _ in ranked]


@pytest.fixture
def large(tmp_path: Path) -> ModelFile:
    """A chat model of seven billion parameters."""
    return _model(
        tmp_path,
        "Own2-7B",
        architecture="own2",
        parameters=7_000_000_000,
        size_bytes=7_500_000_000,
        quantisation="Q8_0",
        has_chat_template=True,
    )


def _draft(target: ModelFile, name: str, millions: int = 500, **options: Any) -> ModelFile:
    """A draft as the target would like it, but for the options."""
    size = options.pop("size_bytes", millions * 1_050_000)
    return replace(target, path=target.path / name, name=name, parameters=millions * 10**6, size_bytes=size, **options)


def test_drafts_are_ranked_by_whether_they_fit_first(large: ModelFile, tmp_path: Path) -> None:
    other = vocabulary(TEXTS, kind="rwkv", folder=tmp_path)
    best = _draft(large, "Own2-0.5B")
    translated = _draft(large, "Own2-0.6B", vocabulary=other)
    whole = _draft(large, "Own2-8B", 8_000)
    strange = _draft(large, "Own2-9B", 9_000, vocabulary=other)
    broken = _draft(large, "Own2-0.4B", problem="It is cut off.")
    names = _ranked(large, [whole, broken, translated, strange, best, large])
    assert names == ["Own2-0.5B", "Own2-0.6B", "Own2-7B", "Own2-8B", "Own2-9B", "Own2-0.4B"]


def test_drafts_are_ranked_by_size(large: ModelFile) -> None:
    sizes = {"tiny": 2, "small": 30, "good": 350, "rather large": 1_500, "too large": 5_000}
    drafts = [_draft(large, f"Own2 {name}", millions) for name, millions in sizes.items()]
    names = [name.removeprefix("Own2 ") for name in _ranked(large, drafts)]
    assert names == ["good", "rather large", "small", "too large", "tiny"]


def test_without_parameters_the_file_size_counts(large: ModelFile) -> None:
    target = replace(large, parameters=0)
    drafts = [_draft(target, f"Own2 {name}", millions) for name, millions in (("tiny", 2), ("good", 350))]
    assert _ranked(target, [replace(draft, parameters=0) for draft in drafts]) == ["Own2 good", "Own2 tiny"]


def test_at_equal_parameters_four_to_eight_bits_are_best(large: ModelFile) -> None:
    bits = {"F32": 4.0, "F16": 2.0, "Q8_0": 1.06, "Q4_K_M": 0.6, "IQ2_XS": 0.3, "FP8": 1.0}
    for millions in (30, 350, 3_000):
        drafts = [
            _draft(large, f"Own2 {name}", millions, quantisation=name, size_bytes=int(millions * 10**6 * size))
            for name, size in bits.items()
        ]
        names = [name.removeprefix("Own2 ") for name in _ranked(large, drafts)]
        assert names[0] == "Q4_K_M"
        assert names.index("FP8") < names.index("Q8_0") < names.index("F16") < names.index("F32")


def test_the_same_family_is_preferred_and_then_the_same_architecture(large: ModelFile) -> None:
    own = _draft(large, "own2:1b")
    alike = _draft(large, "Another-0.5B")
    strange = _draft(large, "Another-0.5B-x", architecture="other")
    assert _ranked(large, [strange, alike, own]) == [own.name, alike.name, strange.name]
    stories = _draft(replace(large, name="stories260K-F32"), "stories-draft43K")
    assert _ranked(replace(large, name="stories260K-F32"), [alike, stories])[0] == stories.name


def test_chat_models_are_preferred_for_chat_models(large: ModelFile) -> None:
    chat, base = _draft(large, "Own2-0.5B-chat"), _draft(large, "Own2-0.5B-base", has_chat_template=False)
    assert _ranked(large, [base, chat])[0] == chat.name
    assert _ranked(replace(large, has_chat_template=False), [base, chat])[0] == base.name


def test_layers_of_its_own_fit(large: ModelFile) -> None:
    model = replace(large, head=DraftHead("mtp", (8,), 64))
    fit = judge_pair(model, model)
    assert (fit.fits, fit.head) == (True, "mtp")


def test_nothing_to_rank(large: ModelFile) -> None:
    assert rank_drafts(large, []) == []


def test_fingerprints_cannot_be_changed(tmp_path: Path) -> None:
    found = vocabulary(TEXTS, folder=tmp_path)
    assert found.fingerprints.dtype == np.uint32
    with pytest.raises(ValueError, match="read-only"):
        found.fingerprints[0] = 1
