"""What a model file is, told from its header: name, size, quantisation, memory, and whether it can be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from engine import gguf_types as types
from engine.config import MAX_LOOKAHEAD
from engine.gguf_file import GgufFile
from engine.vocabulary import TOKENS_KEY, Vocabulary, vocabulary_of_file

Role = Literal["model", "projector", "embedding", "draft-head", "adapter", "folder", "other"]

DEFAULT_CONTEXT = 4096
"""Tokens of context that a model is loaded with where nothing else is asked for."""
_BATCH = 512
_BATCH_WITHOUT_FLASH = 128
_LONGEST_NAME = 120
_FIXED = 48 * 2**20

_RECURRENT = frozenset({"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"})
_EMBEDDING = frozenset(
    {"bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2"}
    | {"jina-bert-v3", "eurobert", "gemma-embedding", "llama-embed", "t5encoder"}
)
_DRAFT_HEADS = frozenset({"eagle3", "dflash", "gemma4-assistant"})
_NOT_TOKEN_BY_TOKEN = {
    **dict.fromkeys(("dream", "llada", "llada-moe", "rnd1"), "it writes by diffusion"),
    **dict.fromkeys(("wavtokenizer-dec", "qwen3tts", "pockettts"), "it makes sound, not text"),
    "t5": "it is a translator between two texts (encoder and decoder)",
}
_PROBLEMS: dict[Role, str] = {
    "projector": "It is the image part of a model (a projector), not a model that writes text.",
    "embedding": "It is an embedding model: it measures texts and does not write any.",
    "draft-head": "It is a draft head. Support for those comes in a later release.",
    "adapter": "It is an adapter (LoRA) that goes with a model, not a model.",
}


@dataclass(frozen=True)
class ModelFile:
    """A model in a folder, or something there that looks like one.

    `path`: the file, the first of a split model, or a folder. `parameters`: number of weights. `quantisation`: how
    they are stored, such as Q4_K_M. `context_length`: tokens that it was trained for. `size_bytes`: of all its files.
    `vocabulary`: None where there is none. `problem`: why it cannot be used, None if it can. `role`: what it is; only
    a "model" writes text. `cache_per_token`, `state_bytes`, `compute_bytes`: bytes beside the weights.
    """

    path: Path
    name: str
    architecture: str = ""
    parameters: int = 0
    quantisation: str = ""
    context_length: int = 0
    size_bytes: int = 0
    has_chat_template: bool = False
    vocabulary: Vocabulary | None = field(default=None, repr=False)
    problem: str | None = None
    role: Role = "model"
    cache_per_token: int = 0
    state_bytes: int = 0
    compute_bytes: int = 0

    @property
    def usable(self) -> bool:
        """Whether it can be loaded as a target or a draft, as far as can be told without loading it."""
        return self.problem is None and self.role == "model"

    def memory_needed(self, context_length: int | None = None) -> int:
        """Bytes that it takes to run: weights, cache of so many tokens, and working space. An estimate."""
        wanted = min(context_length or DEFAULT_CONTEXT, self.context_length or DEFAULT_CONTEXT)
        cache = wanted * self.cache_per_token
        return self.size_bytes + cache + self.state_bytes + self.compute_bytes


def describe(header: GgufFile, others: Sequence[GgufFile] = ()) -> ModelFile:
    """The figures of a GGUF model whose header was read; `others` are the further parts of a split one."""
    role, problem = _role(header)
    architecture = header.text("general.architecture") or ""
    parts = (header, *others)
    quantisation = _quantisation(parts)
    cache, state = (0, 0) if role != "model" else _memory(header, architecture, quantisation)
    return ModelFile(
        path=header.path,
        name=_clean(header.text("general.name") or "") or header.path.stem,
        architecture=_clean(architecture),
        parameters=sum(tensor.elements for part in parts for tensor in part.tensors.values()),
        quantisation=quantisation,
        context_length=header.number(f"{architecture}.context_length") or 0,
        size_bytes=sum(part.size for part in parts),
        has_chat_template=bool(header.text("tokenizer.chat_template")),
        vocabulary=vocabulary_of_file(header),
        problem=problem,
        role=role,
        cache_per_token=cache,
        state_bytes=state,
        compute_bytes=_compute(header, architecture),
    )


def _clean(text: str) -> str:
    """A text from a file, fit to be shown on one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[:_LONGEST_NAME]).split())


def _role(header: GgufFile) -> tuple[Role, str | None]:
    """What the file is, and why that cannot be used."""
    architecture = (header.text("general.architecture") or "").lower()
    kind = (header.text("general.type") or "model").lower()
    role: Role = "model"
    if architecture == "clip" or kind in {"mmproj", "projector"}:
        role = "projector"
    elif architecture in _EMBEDDING:
        role = "embedding"
    elif architecture in _DRAFT_HEADS:
        role = "draft-head"
    elif kind == "adapter":
        role = "adapter"
    elif kind not in {"model", ""} or architecture in {"imatrix", "controlvector"}:
        return "other", f"It holds {_clean(kind if kind != 'model' else architecture)} data, not a model."
    elif architecture in _NOT_TOKEN_BY_TOKEN:
        return "other", (f"It does not write text token by token: {_NOT_TOKEN_BY_TOKEN[architecture]}.")
    return role, _PROBLEMS.get(role)


def _quantisation(parts: Sequence[GgufFile]) -> str:
    """The name that the file gives itself, or the tensor type that most of its bytes have."""
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


def _memory(header: GgufFile, architecture: str, quantisation: str) -> tuple[int, int]:
    """Bytes of cache and scores for each token of context, and bytes of recurrent state."""

    def number(key: str) -> int:
        return header.number(f"{architecture}.{key}") or 0

    layers, width = min(number("block_count"), 512), number("embedding_length")
    state = layers * number("ssm.inner_size") * (number("ssm.state_size") + 4) * 4
    if number("wkv.head_size"):
        state += layers * width * (number("wkv.head_size") + 2) * 4
    if architecture in _RECURRENT:
        return 0, state
    heads = _per_layer(header, f"{architecture}.attention.head_count", layers)
    shared = _per_layer(header, f"{architecture}.attention.head_count_kv", layers) or heads
    widest = width // max([*heads, 1])
    elements = number("attention.key_length") or widest
    elements += number("attention.value_length") or widest
    # The backend keeps the cache of float32 models in float32, and the scores of all heads with it.
    exact = header.number("general.file_type") == 0 or quantisation == "F32"
    per_token = sum(shared) * elements * (4 if exact else 2) // max(number("full_attention_interval"), 1)
    scores = 4 * _BATCH_WITHOUT_FLASH * max([*heads, 1]) if exact else 2 * _BATCH
    return per_token + scores, state


def _per_layer(header: GgufFile, key: str, layers: int) -> list[int]:
    single = header.number(key)
    if single is not None:
        return [single] * layers
    numbers = header.numbers(key)
    return [] if numbers is None else [max(int(number), 0) for number in numbers[:layers]]


def _compute(header: GgufFile, architecture: str) -> int:
    """Bytes of working space: the widest activations of a batch, and the rows of logits."""
    width = header.number(f"{architecture}.embedding_length") or 0
    inner = header.number(f"{architecture}.feed_forward_length") or 4 * width
    rows = (MAX_LOOKAHEAD + 1) * (header.count(TOKENS_KEY) or 0)
    return _FIXED + 4 * (_BATCH * (6 * width + 2 * inner) + 2 * rows)
