"""Check that a GGUF header describes a model that llama.cpp can load, before llama.cpp sees the file.

llama.cpp checks many of these things by assertions, which end the process, and divides by some of the numbers. The
trial in a child process (engine.loading.trial) catches what is not caught here; this is sooner and says what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.errors import ModelFileBroken, ModelNotSupported
from engine.formats.gguf import types
from engine.formats.gguf.mtp_entries import entries_instead
from engine.formats.gguf.parts import check_parts
from engine.formats.gguf.reader import GgufFile, Tensor
from engine.formats.gguf.vocabulary import TOKENS_KEY, TYPES_KEY
from engine.formats.text_table import TextTable
from engine.translatable import Translatable

MAX_LAYERS = 512
_LONGEST_ARCHITECTURE = 64
_ESCAPES = {b"\\t": b"\\x09", b"\t": b"\\x09", b"\\n": b"\\x0a", b"\n": b"\\x0a", b"\\r": b"\\x0d", b"\r": b"\\x0d"}
_MAX_EXPERTS = 1024
_MAX_WIDTH = 2**20
_LEAST_CONTEXT = 8
_BPE = frozenset({"gpt2", "gemma4", "hybriddna", "whitespace"})
_TOKENIZERS = _BPE | {"llama", "t5", "rwkv", "plamo2"}
_ROPE_SCALINGS = frozenset({"none", "linear", "yarn", "longrope"})
_STRICT_ROPE = frozenset({"llama", "deci", "falcon", "llama-embed"})
_NOT_IN_MATRICES = frozenset({"F64", "I8", "I16", "I32", "I64", "Q8_1", "Q8_K"})
_TABLES = ("tid2eid", "d2t", "t2d")
"""The names of tensors of whole numbers: tables, not weights."""
_SPECIAL_IDS = (
    *("bos", "eos", "eot", "eom", "unknown", "seperator", "padding", "cls", "mask"),
    *("fim_pre", "fim_suf", "fim_mid", "fim_pad", "fim_rep", "fim_sep"),
)
_IDS_IN_USE = frozenset({"bos", "eos", "eot"})
"""The others may lie outside the vocabulary, as they do in some good files: llama.cpp leaves them out then."""


def check_model(header: GgufFile, others: Sequence[GgufFile] = (), *, skip_vocabulary: bool = False) -> None:
    """Check the contents of a text model's header; `others` are the further parts of a split one.

    `skip_vocabulary`: the same one was found good in another header.
    Raises ModelFileBroken, ModelNotSupported.
    """
    tensors = dict(header.tensors)
    for part in others:
        tensors |= part.tensors
    check_parts(header, others, len(tensors))
    architecture = header.text("general.architecture")
    if not architecture or len(architecture) > _LONGEST_ARCHITECTURE:
        raise ModelFileBroken(header.path, Translatable("its header does not name the model architecture."))
    # The first part of a split one may have none.
    if not tensors:
        raise ModelFileBroken(header.path, Translatable("contains only a tokenizer, no model weights."))
    checks = HeaderChecks(header, architecture, tensors)
    checks.types()
    checks.sizes()
    checks.attention()
    checks.experts()
    if not skip_vocabulary:
        checks.vocabulary()
    checks.shapes()
    checks.formats()
    entries_instead(header, tensors)


class HeaderChecks:
    """Check one header; each method raises the error that fits."""

    def __init__(self, header: GgufFile, architecture: str, tensors: dict[str, Tensor]) -> None:
        self._header = header
        self._tensors = tensors
        self._architecture = architecture
        self._layers = 0
        self._width = 0

    def _broken(self, reason: str, /, **fields: object) -> ModelFileBroken:
        return ModelFileBroken(self._header.path, reason, **fields)

    def _key(self, key: str) -> str:
        return f"{self._architecture}.{key}"

    def _whole(self, key: str, least: int, most: int, *, required: bool = False) -> int | None:
        """Return the number at an entry of the architecture; None if it is a list or absent."""
        name = self._key(key)
        value = self._header.metadata.get(name)
        if value is None:
            if required:
                raise self._broken("its header lacks {name!r}.", name=name)
            return None
        if value.is_array:
            return None
        if value.kind != types.UINT32 or not isinstance(value.content, int):
            raise self._broken("the header entry {name!r} must be a number.", name=name)
        if not least <= value.content <= most:
            raise self._broken(
                "the header entry {name!r} has the invalid value {content}.", name=name, content=value.content
            )
        return value.content

    def _list(self, key: str, most: int) -> list[int] | None:
        """Return the list of numbers, one a layer, at an entry of the architecture; None if it is no list."""
        name = self._key(key)
        value = self._header.metadata.get(name)
        if value is None or not value.is_array:
            return None
        numbers = self._header.numbers(name)
        if numbers is None or value.kind not in (types.UINT32, types.INT32):
            raise self._broken("the header entry {name!r} is not a list of numbers.", name=name)
        if value.length < self._layers or value.length > MAX_LAYERS:
            raise self._broken("the header entry {name!r} must have one number per layer.", name=name)
        found = [int(number) for number in numbers]
        if found and not (min(found) >= 0 and max(found) <= most):
            raise self._broken("the header entry {name!r} has invalid numbers.", name=name)
        return found

    def types(self) -> None:
        """Check the entries that llama.cpp reads with an assertion on their type, or divides by."""
        header = self._header
        for key, kind in (
            ("split.no", types.UINT16),
            ("split.count", types.UINT16),
            ("split.tensors.count", types.INT32),
            ("general.file_type", types.UINT32),
        ):
            value = header.metadata.get(key)
            if value is not None and (value.is_array or value.kind != kind):
                raise self._broken("the header entry {key!r} has the wrong type.", key=key)
        for name, value in header.metadata.items():
            if isinstance(value.content, float) and not math.isfinite(value.content):
                raise self._broken("the header entry {name!r} is not a number.", name=name)

    def sizes(self) -> None:
        """Check layers, width and context."""
        self._layers = self._whole("block_count", 1, MAX_LAYERS, required=True) or 0
        self._width = self._whole("embedding_length", 1, _MAX_WIDTH, required=True) or 0
        self._whole("context_length", _LEAST_CONTEXT, 2**31 - 1, required=True)
        head = self._whole("wkv.head_size", 1, _MAX_WIDTH)
        if head is not None and self._width % head:
            raise self._broken(
                "its width of {width} is not a multiple of its head size {head}.", width=self._width, head=head
            )
        self._whole("nextn_predict_layers", 0, self._layers)
        self._whole("feed_forward_length", 0, 2**24)
        self._list("feed_forward_length", 2**24)
        for key in ("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"):
            value = self._header.metadata.get(self._key(key))
            if value is None:
                continue
            if value.kind != types.FLOAT32 or not isinstance(value.content, float):
                raise self._broken("the header entry {key!r} is not a number.", key=self._key(key))
            if not 0 <= value.content < 1:
                raise self._broken(
                    "the header entry {key!r} has the invalid value {content:g}.",
                    key=self._key(key),
                    content=value.content,
                )

    def attention(self) -> None:
        """Check heads, their widths, and the rotation of positions."""
        heads = self._per_layer("attention.head_count", 2**16)
        shared = self._per_layer("attention.head_count_kv", 2**16)
        for ours, theirs in zip(heads, shared, strict=False):
            if ours and theirs and (ours % theirs or theirs > ours):
                raise self._broken(
                    "its {ours} attention heads cannot share {theirs} key-value heads.", ours=ours, theirs=theirs
                )
        most = 2**16
        key_width = self._whole("attention.key_length", 1, most)
        self._whole("attention.value_length", 1, most)
        first = next((count for count in heads if count), 0)
        if first and key_width is None and self._width // first < 1:
            raise self._broken(
                "its width of {width} cannot be divided among {first} heads.", first=first, width=self._width
            )
        rotated = self._whole("rope.dimension_count", 0, most)
        if rotated is not None and first:
            width = key_width or self._width // first
            strict = self._architecture in _STRICT_ROPE
            if rotated > width or rotated % 2 or (strict and rotated != width):
                raise self._broken(
                    "its heads are {width} wide, but RoPE would rotate {rotated} dimensions.",
                    width=width,
                    rotated=rotated,
                )
        self._rope()

    def _rope(self) -> None:
        scaling = self._header.metadata.get(self._key("rope.scaling.type"))
        if scaling is not None and scaling.content not in _ROPE_SCALINGS:
            raise self._broken("its RoPE scaling {content!r} is unknown.", content=scaling.content)
        base = self._header.metadata.get(self._key("rope.freq_base"))
        if base is not None and (not isinstance(base.content, float) or base.content <= 0):
            raise self._broken("its RoPE base {content!r} is invalid.", content=base.content)
        for key in ("rope.scaling.factor", "rope.scale_linear"):
            factor = self._header.metadata.get(self._key(key))
            if factor is not None and (not isinstance(factor.content, float) or not 0 <= factor.content < 1e6):
                raise self._broken("its RoPE scaling factor {content!r} is invalid.", content=factor.content)

    def _per_layer(self, key: str, most: int) -> list[int]:
        single = self._whole(key, 0, most)
        if single is not None:
            return [single] * self._layers
        return self._list(key, most) or []

    def experts(self) -> None:
        """Check mixtures of experts: llama.cpp asserts that the numbers go together."""
        count = self._whole("expert_count", 0, _MAX_EXPERTS) or 0
        used = max(self._per_layer("expert_used_count", _MAX_EXPERTS), default=0)
        if used > count or (count and not used):
            raise self._broken("it claims to use {used} of {count} experts.", used=used, count=count)
        groups = self._whole("expert_group_count", 0, _MAX_EXPERTS) or 0
        used_groups = self._whole("expert_group_used_count", 0, _MAX_EXPERTS) or 0
        if groups and (groups >= max(count, 1) or count % groups):
            raise self._broken(
                "its {count} experts cannot be divided into {groups} groups.", count=count, groups=groups
            )
        if groups > 1 and not 0 < used_groups < groups:
            raise self._broken(
                "it claims to use {used_groups} of {groups} groups of experts.", used_groups=used_groups, groups=groups
            )

    def vocabulary(self) -> None:
        """Check the tokens, their scores and types, and the special ones."""
        header = self._header
        tokenizer = header.text("tokenizer.ggml.model")
        if tokenizer is None:
            raise self._broken(Translatable("its header does not name the tokenizer type."))
        if tokenizer in ("none", "no_vocab"):
            raise ModelNotSupported(header.path, Translatable("it has no vocabulary. Convert the model again."))
        if tokenizer == "bert":
            raise ModelNotSupported(
                header.path, Translatable("it is an embedding model, which does not generate text.")
            )
        if tokenizer not in _TOKENIZERS:
            raise ModelNotSupported(header.path, "its tokenizer {tokenizer!r} is unknown.", tokenizer=tokenizer[:60])
        value = header.metadata.get(TOKENS_KEY)
        if value is None or value.kind != types.STRING or not value.is_array or not value.length:
            raise self._broken(Translatable("its vocabulary is missing."))
        self._check_tokens(value.length)
        if tokenizer in _BPE:
            self._merges()
        if tokenizer == "rwkv":
            self._single_bytes()
        self._special(value.length)

    def _check_tokens(self, count: int) -> None:
        header = self._header
        texts = header.texts(TOKENS_KEY)
        # llama.cpp reads a text up to its first zero byte, and gives an empty one a name of its own.
        if texts is not None and texts.repeated():
            raise self._broken(Translatable("a token occurs twice in its vocabulary."))
        if texts is not None and not (_is_text(texts) or _is_text(texts.cut_at_zeros())):
            raise self._broken(Translatable("its vocabulary has tokens that are not valid text."))
        for key, kinds in (("tokenizer.ggml.scores", (types.FLOAT32, types.INT32)), (TYPES_KEY, (types.INT32,))):
            value = header.metadata.get(key)
            if value is None:
                continue
            if not value.is_array or value.kind not in kinds or value.length < count:
                raise self._broken(
                    "the header entry {key!r} does not match the {count} tokens of the vocabulary.",
                    key=key,
                    count=count,
                )
            numbers = header.numbers(key)
            if numbers is not None and np.any(np.isnan(numbers.astype(np.float64))):
                raise self._broken("the header entry {key!r} is damaged.", key=key)

    def _merges(self) -> None:
        key = "tokenizer.ggml.merges"
        value = self._header.metadata.get(key)
        if value is None:
            if self._header.text("tokenizer.ggml.pre") != "kimi-k2":
                raise self._broken(Translatable("its vocabulary lacks the merges that its tokenizer needs."))
            return
        if not value.is_array or value.kind != types.STRING:
            raise self._broken("the header entry {key!r} is not a list of strings.", key=key)
        texts = self._header.texts(key)
        if texts is not None and not _is_text(texts):
            raise self._broken(Translatable("the merges of its vocabulary are not valid text."))

    def _single_bytes(self) -> None:
        """Check single bytes: llama.cpp's tokenizer for RWKV never ends at a byte that begins a token and is none."""
        first: set[bytes] = set()
        single: set[bytes] = set()
        for text in self._header.strings(TOKENS_KEY):
            # Bytes are written as in Python, a line's end as \n or \x0a.
            length = 4 if text.startswith(b"\\x") else 2 if text.startswith(b"\\") else 1
            beginning = _ESCAPES.get(text[:length], text[:length])
            first.add(beginning)
            if length >= len(text):
                single.add(beginning)
        if first - single - {b""}:
            raise self._broken(Translatable("its vocabulary lacks single bytes that its tokenizer needs."))

    def _special(self, count: int) -> None:
        header = self._header
        for name in _SPECIAL_IDS:
            key = f"tokenizer.ggml.{name}_token_id"
            value = header.metadata.get(key)
            if value is None:
                continue
            if value.is_array or value.kind != types.UINT32 or not isinstance(value.content, int):
                raise self._broken("the header entry {key!r} is not a token id.", key=key)
            if name in _IDS_IN_USE and count <= value.content < 2**32 - 1:
                raise self._broken(
                    "{key!r} is {content}, but the vocabulary has {count} tokens.",
                    key=key,
                    content=value.content,
                    count=count,
                )

    def formats(self) -> None:
        """Number formats that llama.cpp cannot calculate with: it would end the process at the first token."""
        for tensor in self._tensors.values():
            name = types.TENSOR_TYPES[tensor.kind].name
            wrong = name != "F32" if len(tensor.shape) <= 1 else name in _NOT_IN_MATRICES
            if wrong and not any(table in tensor.name for table in _TABLES):
                raise self._broken("the tensor {name!r} cannot be stored as {stored}.", name=tensor.name, stored=name)

    def shapes(self) -> None:
        """Check the tensors that every text model has, against the numbers in the header."""
        tokens = self._header.count(TOKENS_KEY) or 0
        for name in ("token_embd.weight", "output.weight"):
            tensor = self._tensors.get(name)
            if tensor is None:
                if name == "token_embd.weight":
                    raise self._broken(Translatable("it lacks the tensor 'token_embd.weight'."))
                continue
            if tensor.shape != (self._width, tokens):
                raise self._broken(
                    "the tensor {name!r} has the shape {shape}, but its header says {told}.",
                    name=name,
                    shape=list(tensor.shape),
                    told=[self._width, tokens],
                )
        norm = self._tensors.get("output_norm.weight")
        if norm is not None and norm.elements != self._width:
            raise self._broken("the tensor 'output_norm.weight' does not have {width} elements.", width=self._width)


def _is_text(texts: TextTable) -> bool:
    """Return True if every text is valid UTF-8."""
    try:
        texts.lines().decode()
    except UnicodeDecodeError:
        return False
    return True
