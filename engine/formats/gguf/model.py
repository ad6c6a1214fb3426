"""Describe a GGUF file from its header: name, size, quantisation, memory, and problems with its use."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.config import MAX_LOOKAHEAD
from engine.errors import LoadFailed
from engine.formats.draft_head import DraftHead
from engine.formats.gguf import types
from engine.formats.gguf.assistant import ASSISTANT, shared_keys
from engine.formats.gguf.checks import check_model
from engine.formats.gguf.header import Numbers
from engine.formats.gguf.heads import DFLASH, EAGLE3, inner_head, is_mtp_file, read_head
from engine.formats.gguf.parts import split_parts
from engine.formats.gguf.pieces import KnownPieces
from engine.formats.gguf.reader import GgufFile, read_gguf
from engine.formats.gguf.vocabulary import TOKENS_KEY, vocabulary_of_file
from engine.formats.model_file import ROLE_PROBLEMS, ModelFile, Role, file_title, printable, problem_of
from engine.formats.recommended import recommended_in_header, thinks
from engine.formats.vocabulary import Vocabulary
from engine.translatable import Translatable

_BATCH = 512
_BATCH_WITHOUT_FLASH = 128
_FIXED = 48 * 2**20
_SIZE_LABEL = re.compile(r"(\d{1,3}x)?\d{1,4}(\.\d{1,3})?[KMBT](-A\d{1,4}(\.\d{1,3})?[KMBT])?")
_MOST_LAYERS = 512

_SNAPSHOTS = frozenset({"lfm2", "lfm2moe", "qwen35", "qwen35moe", "nemotron_h", "nemotron_h_moe"})
_RECURRENT = frozenset({"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"})
_FULL_EVERY = dict.fromkeys(("qwen3next", "qwen35", "qwen35moe", "qwen4exp"), 4) | {"minimax-01": 8}
"""One in so many layers has a cache, where the header does not say it. Source: llama.cpp's loaders."""
_EMBEDDING = frozenset(
    {"bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2"}
    | {"jina-bert-v3", "eurobert", "gemma-embedding", "llama-embed", "t5encoder"}
)
_DRAFT_HEADS = frozenset({EAGLE3, DFLASH, ASSISTANT})
_NOT_TOKEN_BY_TOKEN = {
    **dict.fromkeys(("dream", "llada", "llada-moe", "rnd1"), Translatable("it is a diffusion model")),
    **dict.fromkeys(("wavtokenizer-dec", "qwen3tts", "pockettts"), Translatable("it generates audio, not text")),
    "t5": Translatable("it is an encoder-decoder model"),
}


class HeaderReader:
    """Read the headers of GGUF models. What several have in common is read and checked once."""

    def __init__(self) -> None:
        self._pieces = KnownPieces()
        self._vocabularies: dict[Hashable, Vocabulary | None] = {}
        self._sound: set[Hashable] = set()

    def read(self, path: Path) -> ModelFile:
        """Describe a model file; `problem` gives the reason why one that can be read cannot be used.

        Raises ModelFileBroken, ModelNotSupported where there is nothing to be told.
        """
        headers = [read_gguf(part, self._pieces) for part in split_parts(path)]
        header, others = headers[0], headers[1:]
        tokenizer = _tokenizer(header)
        model = self._described(header, others, tokenizer)
        if not model.usable:
            return model
        try:
            check_model(header, others, skip_vocabulary=tokenizer in self._sound)
        except LoadFailed as error:
            return replace(model, problem=problem_of(error))
        self._sound.add(tokenizer)
        return model

    def first_part(self, path: Path) -> ModelFile:
        """Describe a split model by its first file. Raises ModelFileBroken, ModelNotSupported."""
        header = read_gguf(path, self._pieces)
        return self._described(header, [], _tokenizer(header))

    def _described(self, header: GgufFile, others: Sequence[GgufFile], tokenizer: Hashable) -> ModelFile:
        if tokenizer not in self._vocabularies:
            self._vocabularies[tokenizer] = vocabulary_of_file(header)
        return describe(header, others, self._vocabularies[tokenizer])


def _tokenizer(header: GgufFile) -> Hashable:
    """Return a value that is equal for headers with the same tokenizer in every entry, but for the chat template.

    Two lists that are the same piece are equal; shorter ones are compared themselves.
    """
    entries: list[Hashable] = []
    for key, value in header.metadata.items():
        if not key.startswith("tokenizer.") or key.startswith("tokenizer.chat_template"):
            continue
        if value.is_array and not value.piece:
            texts = value.kind == types.STRING
            content: Hashable = tuple(header.strings(key)) if texts else header.raw(key)
            entries.append((key, value.kind, value.length, content))
        else:
            entries.append((key, value.kind, value.length, value.content, value.piece))
    return tuple(entries)


def inspect_gguf(path: Path) -> ModelFile:
    """Describe one model file, its contents checked. Raises ModelFileBroken, ModelNotSupported."""
    headers = [read_gguf(part) for part in split_parts(path)]
    header, others = headers[0], headers[1:]
    model = describe(header, others, vocabulary_of_file(header))
    if model.usable:
        check_model(header, others)
    return model


def describe(header: GgufFile, others: Sequence[GgufFile], vocabulary: Vocabulary | None) -> ModelFile:
    """Return the figures of a GGUF model from its header; `others` are the further parts of a split one."""
    role, problem = _role(header)
    head, unusable = _head(header, others, role)
    architecture = header.text("general.architecture") or ""
    parts = (header, *others)
    quantisation = _quantisation(parts)
    memory = _memory(header, architecture, quantisation) if role == "model" else _Memory()
    return ModelFile(
        path=header.path,
        name=printable(header.text("general.name") or "") or file_title(header.path.stem),
        architecture=printable(architecture),
        parameters=sum(tensor.elements for part in parts for tensor in part.tensors.values()),
        quantisation=quantisation,
        context_length=max(header.number(f"{architecture}.context_length") or 0, 0),
        size_bytes=sum(part.size for part in parts),
        has_chat_template=bool(header.text("tokenizer.chat_template")),
        vocabulary=vocabulary,
        problem=unusable or problem,
        role=role,
        cache_per_token=memory.cache + memory.scores,
        state_bytes=_with_snapshots(architecture, memory.state, sum(part.size for part in parts)),
        compute_bytes=_compute(header, architecture),
        cache_elements=memory.elements,
        row_elements=memory.row,
        float32_cache=memory.exact,
        layers=min(max(header.number(f"{architecture}.block_count") or 0, 0), _MOST_LAYERS) if role == "model" else 0,
        recommended=recommended_in_header(header.value),
        thinks=thinks(header.text("tokenizer.chat_template")),
        width=max(header.number(f"{architecture}.embedding_length") or 0, 0),
        depth=head.layers[0] if head is not None and role == "model" else _depth(header, architecture),
        head=head,
        shared=shared_keys(header),
        size_label=_size_label(header),
    )


def _size_label(header: GgufFile) -> str:
    """Return the size as the makers call it, where it reads like one: 1.5B, 270M, 8x7B."""
    label = (header.text("general.size_label") or "").strip()
    return label if _SIZE_LABEL.fullmatch(label) else ""


def _depth(header: GgufFile, architecture: str) -> int:
    number = Numbers(header, architecture)
    return max(min(number("block_count"), _MOST_LAYERS) - number("nextn_predict_layers"), 0)


def _head(header: GgufFile, others: Sequence[GgufFile], role: Role) -> tuple[DraftHead | None, str | None]:
    """Return the draft head that a file is or contains, and the reason why a head file cannot be used."""
    if role == "draft-head":
        try:
            return read_head(header), None
        except LoadFailed as error:
            reason = Translatable("It is a draft head that cannot be used: {reason}", reason=error.reason)
            return None, reason
    return (inner_head(header, others) if role == "model" else None), None


def _role(header: GgufFile) -> tuple[Role, str | None]:
    """Return the role of the file, and the reason why a file of this role cannot be used."""
    architecture = (header.text("general.architecture") or "").lower()
    kind = (header.text("general.type") or "model").lower()
    role: Role = "model"
    if architecture == "clip" or kind in {"mmproj", "projector"}:
        role = "projector"
    elif architecture in _EMBEDDING:
        role = "embedding"
    elif architecture in _DRAFT_HEADS or is_mtp_file(header):
        role = "draft-head"
    elif kind == "adapter":
        role = "adapter"
    elif kind not in {"model", ""} or architecture in {"imatrix", "controlvector"}:
        return "other", Translatable(
            "It contains {kind} data, not a model.", kind=printable(kind if kind != "model" else architecture)
        )
    elif architecture in _NOT_TOKEN_BY_TOKEN:
        return "other", Translatable(
            "It does not generate text token by token: {why}.", why=_NOT_TOKEN_BY_TOKEN[architecture]
        )
    return role, ROLE_PROBLEMS.get(role)


def _quantisation(parts: Sequence[GgufFile]) -> str:
    """Return the name that the file gives itself, or the tensor type that most of its bytes have."""
    number = parts[0].number("general.file_type")
    named = None if number is None else types.FILE_TYPES.get(number)
    weights: Counter[int] = Counter()
    for part in parts:
        for tensor in part.tensors.values():
            weights[tensor.kind] += tensor.size
    if not weights:
        return ""
    most = types.TENSOR_TYPES[weights.most_common(1)[0][0]].name
    return most if named in {None, "F32", "F16", "BF16"} else str(named)


def _with_snapshots(architecture: str, state: int, size: int) -> int:
    """Return the recurrent state with the backend's copies for going back: one saved, or up to eight snapshots."""
    return state + (min(8 * state, size // 4) if architecture in _SNAPSHOTS else state)


@dataclass(frozen=True, slots=True)
class _Memory:
    """Hold the memory of a model beside its weights.

    `elements`: numbers in the cache for each token of context, `row`: in one row of it; `exact`: whether these are
    float32. `scores`: bytes of attention scores for each token; `state`: bytes of recurrent state.
    """

    elements: int = 0
    row: int = 0
    exact: bool = False
    scores: int = 0
    state: int = 0

    @property
    def cache(self) -> int:
        """Return bytes of cache for each token."""
        return self.elements * (4 if self.exact else 2)


def _memory(header: GgufFile, architecture: str, quantisation: str) -> _Memory:
    number = Numbers(header, architecture)
    layers, width = min(number("block_count"), _MOST_LAYERS), number("embedding_length")
    state = layers * number("ssm.inner_size") * (number("ssm.state_size") + 4) * 4
    if number("wkv.head_size"):
        state += layers * width * (number("wkv.head_size") + 2) * 4
    if architecture in _RECURRENT:
        return _Memory(state=state)
    heads = _per_layer(header, f"{architecture}.attention.head_count", layers)
    shared = _per_layer(header, f"{architecture}.attention.head_count_kv", layers) or heads
    # The backend keeps the cache of float32 models in float32, and the scores of all heads with it.
    exact = header.number("general.file_type") == 0 or quantisation == "F32"
    elements, row = _cache(number, shared, width // max([*heads, 1]))
    scores = 4 * _BATCH_WITHOUT_FLASH * max([*heads, 1]) if exact else 2 * _BATCH
    return _Memory(elements, row, exact, scores, state)


def _cache(number: Numbers, shared: Sequence[int], widest: int) -> tuple[int, int]:
    """Return the numbers in the cache for each token, and the length of their shortest row.

    `shared`: key heads of each layer; `widest`: numbers in a head, where the header does not say it. Layers with a
    window keep all of their cache, so that it can go back. Source: llama.cpp's cache (llama-kv-cache.cpp).
    """
    keys, values = number("attention.key_length") or widest, number("attention.value_length") or widest
    kept = keys, values
    narrow = number("attention.key_length_swa") or keys, number("attention.value_length_swa") or values
    row = math.gcd(*kept, *narrow)
    if number("attention.key_length_mla") and number("attention.value_length_mla"):
        # With latent attention the values are a part of the keys.
        kept, narrow = (keys, 0), (narrow[0], 0)
    pattern = number.header.numbers(f"{number.architecture}.attention.sliding_window_pattern")
    windows = [] if pattern is None else [bool(each) for each in pattern[: len(shared)]]
    windows += [False] * (len(shared) - len(windows))
    # The last layers may read the cache of earlier ones.
    own = max(len(shared) - number("attention.shared_kv_layers"), 0)
    rows = [each * sum(narrow if window else kept) for each, window in zip(shared, windows, strict=True)]
    every = number("full_attention_interval") or _FULL_EVERY.get(number.architecture, 1)
    return sum(rows[:own]) // every, row


def _per_layer(header: GgufFile, key: str, layers: int) -> list[int]:
    single = header.number(key)
    if single is not None:
        return [max(single, 0)] * layers
    numbers = header.numbers(key)
    if numbers is None or numbers.dtype.kind not in "iu":
        return []
    return [max(int(number), 0) for number in numbers[:layers]]


def _compute(header: GgufFile, architecture: str) -> int:
    """Return bytes of working space: the widest activations of a batch, and the rows of logits."""
    number = Numbers(header, architecture)
    width = number("embedding_length")
    inner = number("feed_forward_length") or 4 * width
    rows = (MAX_LOOKAHEAD + 1) * (header.count(TOKENS_KEY) or 0)
    return _FIXED + 4 * (_BATCH * (6 * width + 2 * inner) + 2 * rows)
