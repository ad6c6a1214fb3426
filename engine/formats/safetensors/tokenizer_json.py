"""Read the vocabulary in a tokenizer.json file, comparable with that of a GGUF file of the same model.

Both store a token's text in the same alphabet: SentencePiece with ▁ for a space and bytes as <0x0A>, byte-level BPE in
GPT-2's printable alphabet. Source of the format: the serialisation of Hugging Face's `tokenizers`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.formats.vocabulary import Vocabulary, vocabulary_from_tokens

_LARGEST_ID = 2**22
_NOTHING: Mapping[str, object] = {}


def vocabulary_of_tokenizer_json(
    data: Mapping[str, object], config: Mapping[str, object] = _NOTHING, vocab_size: int = 0
) -> Vocabulary | None:
    """Return the vocabulary in the object of a tokenizer.json, or None if it has none.

    Never fails, whatever is in it.

    `config`: the object of tokenizer_config.json, which may switch the begin and end tokens on and off. `vocab_size`:
    the model's number of token ids, where it has more than the tokenizer (padding).
    """
    model = _mapping(data.get("model"))
    texts = {token: text for token, text in _tokens(model) if 0 <= token < _LARGEST_ID}
    texts |= {token: text for token, text in _added_tokens(data) if 0 <= token < _LARGEST_ID}
    if not texts:
        return None
    ids = {text: token for token, text in texts.items()}
    first, last = _around(data.get("post_processor"))
    begin = _end_of_text(first, config, "bos", ids)
    end = _end_of_text(last, config, "eos", ids)
    encoded = {token: text.encode("utf-8", "replace") for token, text in texts.items()}
    return vocabulary_from_tokens(_kind(model, data), encoded, begin, end, min(vocab_size, _LARGEST_ID))


def _tokens(model: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    """Return ids and texts of the model's own tokens.

    They stand in an object of ids by text, or in a list of texts with scores (Unigram).
    """
    vocab = model.get("vocab")
    if isinstance(vocab, Mapping):
        for text, token in vocab.items():
            if isinstance(text, str) and isinstance(token, int):
                yield token, text
    elif isinstance(vocab, list):
        for token, entry in enumerate(vocab):
            if isinstance(entry, list) and entry and isinstance(entry[0], str):
                yield token, entry[0]


def _added_tokens(data: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    for entry in _list(data.get("added_tokens")):
        token, text = _mapping(entry).get("id"), _mapping(entry).get("content")
        if isinstance(token, int) and isinstance(text, str):
            yield token, text


def _around(post_processor: object) -> tuple[int | None, int | None]:
    """Return the token ids that the tokenizer itself puts before and behind a text."""
    for step in _nested(post_processor, "processors"):
        single = [_mapping(part) for part in _list(step.get("single"))]
        if step.get("type") == "TemplateProcessing" and single:
            tokens = _mapping(step.get("special_tokens"))
            return _special(single[0], tokens), _special(single[-1], tokens)
    return None, None


def _special(part: Mapping[str, object], tokens: Mapping[str, object]) -> int | None:
    name = _mapping(part.get("SpecialToken")).get("id")
    ids = _list(_mapping(tokens.get(name)).get("ids")) if isinstance(name, str) else []
    return ids[0] if ids and isinstance(ids[0], int) else None


def _end_of_text(found: int | None, config: Mapping[str, object], which: str, ids: Mapping[str, int]) -> int | None:
    """Return the begin or end token: the configuration overrules the post-processor."""
    wanted = config.get(f"add_{which}_token")
    if wanted is False:
        return None
    if found is None and wanted is True:
        name = config.get(f"{which}_token")
        text = _mapping(name).get("content", name)
        return ids.get(text) if isinstance(text, str) else None
    return found


def _kind(model: Mapping[str, object], data: Mapping[str, object]) -> str:
    """Return the kind in the words that a GGUF file's kind has."""
    kind = model.get("type")
    if kind == "BPE":
        steps = (*_nested(data.get("pre_tokenizer"), "pretokenizers"), *_nested(data.get("decoder"), "decoders"))
        return "byte-pair" if any(step.get("type") == "ByteLevel" for step in steps) else "SentencePiece"
    return kind if isinstance(kind, str) else ""


def _nested(step: object, name: str) -> Iterator[Mapping[str, object]]:
    """Return a step and, if it is a sequence of steps, those."""
    waiting = [step]
    while waiting:
        found = _mapping(waiting.pop())
        yield found
        waiting.extend(reversed(_list(found.get(name))))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else _NOTHING


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
