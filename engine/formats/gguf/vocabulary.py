"""Read the vocabulary of a GGUF file: its token texts, and the special tokens that llama.cpp puts around a text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.formats.gguf.reader import GgufFile
from engine.formats.vocabulary import Vocabulary, make_vocabulary

TOKENS_KEY = "tokenizer.ggml.tokens"
TYPES_KEY = "tokenizer.ggml.token_type"
_NORMAL_TYPE, _UNKNOWN_TYPE, _CONTROL_TYPE, _UNUSED_TYPE = 1, 2, 3, 5
_MARKS = (b"<", b"[", b"_<", "▁<".encode())
"""Beginnings of texts that llama.cpp takes for control tokens whatever the file calls them. Source: its vocabulary
loader."""

BEGIN_BY_DEFAULT = frozenset({"llama", "bert"})
"""Tokenizers that put the begin token in front of a text unless the file says otherwise."""
END_BY_DEFAULT = frozenset({"t5"})
BEGIN_BY_PRETOKENIZER = frozenset(
    {"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"}
    | {"jina-v5-nano", "tekken", "chameleon"}
)
"""Pre-tokenizers of byte-pair vocabularies that do so too."""
DEFAULT_IDS = {"llama": (1, 2), "bert": (101, None), "gpt2": (11, 11), "t5": (None, 1), "plamo2": (1, 2)}
"""Begin and end token ids of each tokenizer where the file names none. Source: llama.cpp's vocabulary loader."""

_KIND_NAMES = {
    "llama": "SentencePiece",
    "gpt2": "byte-pair",
    "gemma4": "SentencePiece",
    "t5": "Unigram",
    "bert": "WordPiece",
    "rwkv": "RWKV",
}


def vocabulary_of_file(header: GgufFile) -> Vocabulary | None:
    """Return the vocabulary in a GGUF file, or None if it has none. Never fails on a header that was read."""
    tokenizer = header.text("tokenizer.ggml.model")
    if tokenizer is None or header.count(TOKENS_KEY) is None:
        return None
    texts = header.texts(TOKENS_KEY)
    prints = np.zeros(0, np.uint32) if texts is None else texts.fingerprints()
    kinds = header.numbers(TYPES_KEY)
    if kinds is not None and len(kinds) == len(prints):
        prints[kinds == _UNUSED_TYPE] = 0
    begin, end = special_ids(header, tokenizer)
    pre = header.text("tokenizer.ggml.pre") or ""
    adds_begin = header.flag("tokenizer.ggml.add_bos_token")
    if adds_begin is None:
        adds_begin = tokenizer in BEGIN_BY_DEFAULT or pre in BEGIN_BY_PRETOKENIZER
    adds_end = header.flag("tokenizer.ggml.add_eos_token")
    if adds_end is None:
        adds_end = tokenizer in END_BY_DEFAULT
    vocabulary = make_vocabulary(
        _KIND_NAMES.get(tokenizer, tokenizer), begin if adds_begin else None, end if adds_end else None, prints
    )
    if texts is None:
        return vocabulary
    marked = np.zeros(len(prints), np.bool_)
    control = marked.copy()
    if kinds is not None and len(kinds) == len(prints):
        control = (kinds == _CONTROL_TYPE) | (kinds == _UNKNOWN_TYPE)
        marked = kinds != _NORMAL_TYPE
    named = [id_ for id_ in (begin, end) if id_ is not None and 0 <= id_ < len(prints)]
    marked[named] = True
    special = np.flatnonzero(marked | texts.beginning_with(_MARKS))
    return replace(vocabulary, control=_ids(np.flatnonzero(control)), special=_ids(special))


def _ids(places: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(places.tolist())


def special_ids(header: GgufFile, tokenizer: str) -> tuple[int | None, int | None]:
    """Return the begin and end token ids that a file names, or its tokenizer's usual ones."""
    begin, end = DEFAULT_IDS.get(tokenizer, (None, None))
    named_begin = header.number("tokenizer.ggml.bos_token_id")
    named_end = header.number("tokenizer.ggml.eos_token_id")
    return begin if named_begin is None else named_begin, end if named_end is None else named_end
