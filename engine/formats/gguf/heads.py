"""Check the header of a file with a draft head, and find the head that is inside a model's own file.

llama.cpp checks little of a head before it computes with it, and by assertions, which end the process.
Source of the names and shapes: its loaders (src/models/eagle3.cpp and those of the models that have MTP).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from engine.errors import ModelFileBroken, ModelNotSupported
from engine.formats.draft_head import DraftHead
from engine.formats.gguf import types
from engine.formats.gguf.assistant import ASSISTANT, check_assistant
from engine.formats.gguf.checks import HeaderChecks, check_model
from engine.formats.gguf.header import Numbers
from engine.formats.gguf.reader import GgufFile, Tensor
from engine.formats.gguf.shapes import check_shape
from engine.formats.gguf.vocabulary import TOKENS_KEY
from engine.formats.model_file import printable
from engine.translatable import Translatable

EAGLE3 = "eagle3"
DFLASH = "dflash"
_MOST_BLOCK = 64
_MOST_TOKENS = 2**22


def read_head(header: GgufFile, others: Sequence[GgufFile] = ()) -> DraftHead:
    """Return the head in a file, all of it checked: of a head's own file, or inside a model's (`others`: its parts).

    Raises ModelFileBroken, ModelNotSupported.
    """
    architecture = header.text("general.architecture") or ""
    alone = is_mtp_file(header)
    if alone or architecture in (EAGLE3, DFLASH, ASSISTANT):
        checks = HeaderChecks(header, architecture, header.tensors)
        checks.types()
        checks.sizes()
        checks.attention()
        checks.vocabulary()
        checks.formats()
        if alone:
            return _mtp_alone(header)
        if architecture == ASSISTANT:
            return check_assistant(header)
        return _Eagle(header).checked() if architecture == EAGLE3 else _Block(header).checked()
    check_model(header, others)
    return _inner_head(header, _all_tensors(header, others))


class _Eagle:
    """Check a file of the architecture eagle3."""

    def __init__(self, header: GgufFile) -> None:
        self._header = header
        self._tensors: Mapping[str, Tensor] = header.tensors
        self._width = self._number("embedding_length")
        self._target = self._number("target_hidden_size")

    def checked(self) -> DraftHead:
        header = self._header
        if self._number("block_count") != 1:
            raise self._broken("an EAGLE-3 head has one layer, this one {count}.", count=self._number("block_count"))
        layers = header.numbers(f"{EAGLE3}.target_layers")
        if layers is None or layers.dtype.kind not in "iu" or len(layers) != 3 or int(layers.min()) < 0:
            raise self._broken(Translatable("its header does not name the three layers of the target that it reads."))
        for name in ("norm_before_residual", "norm_before_fc"):
            if f"{EAGLE3}.{name}" in header.metadata and header.flag(f"{EAGLE3}.{name}") is None:
                raise self._broken("the header entry {key!r} has the wrong type.", key=f"{EAGLE3}.{name}")
        self._shapes()
        check_table(self._header)
        return DraftHead(EAGLE3, tuple(int(layer) for layer in layers), self._target)

    def _shapes(self) -> None:
        width, heads = self._width, self._number("attention.head_count")
        key = self._number("attention.key_length", width // max(heads, 1))
        value = self._number("attention.value_length", width // max(heads, 1))
        if key != value:
            raise self._broken("its keys are {key} wide and its values {value}.", key=key, value=value)
        shared, inner = self._number("attention.head_count_kv", heads), self._number("feed_forward_length")
        tokens = self._header.count(TOKENS_KEY) or 0
        table = self._tensors.get("d2t")
        drafted = tokens if table is None else table.elements
        wanted: dict[str, tuple[int, ...]] = {
            "fc.weight": (3 * self._target, width),
            "output_norm.weight": (width,),
            "blk.0.attn_norm.weight": (width,),
            "blk.0.attn_norm_2.weight": (width,),
            "blk.0.attn_q.weight": (2 * width, key * heads),
            "blk.0.attn_k.weight": (2 * width, key * shared),
            "blk.0.attn_v.weight": (2 * width, key * shared),
            "blk.0.attn_output.weight": (key * heads, width),
            "blk.0.ffn_norm.weight": (width,),
            "blk.0.ffn_gate.weight": (width, inner),
            "blk.0.ffn_up.weight": (width, inner),
            "blk.0.ffn_down.weight": (inner, width),
        }
        if self._header.flag(f"{EAGLE3}.norm_before_fc"):
            wanted["enc.output_norm.weight"] = (3 * self._target,)
        optional = {"token_embd.weight": (width, tokens), "output.weight": (width, drafted)}
        for name, shape in (wanted | optional).items():
            check_shape(self._header, self._tensors, name, shape, required=name in wanted)
        borrowed = [name for name in optional if name not in self._tensors]
        if borrowed and (width != self._target or ("output.weight" in borrowed and drafted != tokens)):
            raise self._broken("it lacks the tensor {name!r}.", name=borrowed[-1])

    def _number(self, key: str, otherwise: int = 0) -> int:
        return max(self._header.number(f"{EAGLE3}.{key}") or otherwise, 0)

    def _broken(self, reason: str, /, **fields: object) -> ModelFileBroken:
        return ModelFileBroken(self._header.path, reason, **fields)


class _Block:
    """Check a file of the architecture dflash: DFlash, or DSpark where it has a Markov head."""

    def __init__(self, header: GgufFile) -> None:
        self._header = header
        self._tensors: Mapping[str, Tensor] = header.tensors
        self._number = Numbers(header, DFLASH)

    def checked(self) -> DraftHead:
        header, number = self._header, self._number
        if number("hyper_connection_count"):
            raise ModelNotSupported(
                header.path, "heads of the kind {kind} cannot be used yet.", kind="DSpark for DeepSeek V4"
            )
        if header.metadata.get(f"{DFLASH}.attention.sliding_window"):
            raise ModelNotSupported(
                header.path, "heads of the kind {kind} cannot be used yet.", kind="DFlash with a sliding window"
            )
        layers = header.numbers(f"{DFLASH}.target_layers")
        if layers is None or layers.dtype.kind not in "iu" or not len(layers) or int(layers.min()) < 0:
            raise self._broken(Translatable("its header does not name the layers of the target that it reads."))
        tokens, block = header.count(TOKENS_KEY) or 0, number("block_size")
        if not 2 <= block <= _MOST_BLOCK:
            raise self._broken(
                "the header entry {name!r} has the invalid value {content}.", name=f"{DFLASH}.block_size", content=block
            )
        mask = header.number("tokenizer.ggml.mask_token_id")
        if mask is None or not 0 <= mask < tokens:
            raise self._broken(Translatable("its header names no mask token."))
        self._shapes(len(layers), tokens)
        check_table(header)
        method = "dspark" if "markov_w1.weight" in self._tensors else DFLASH
        return DraftHead(method, tuple(int(layer) for layer in layers), number("embedding_length"))

    def _shapes(self, read: int, tokens: int) -> None:
        number = self._number
        width, heads, inner = number("embedding_length"), number("attention.head_count"), number("feed_forward_length")
        key = number("attention.key_length") or width // max(heads, 1)
        value = number("attention.value_length") or width // max(heads, 1)
        if key != value:
            raise self._broken("its keys are {key} wide and its values {value}.", key=key, value=value)
        shared, table = number("attention.head_count_kv") or heads, self._tensors.get("d2t")
        drafted = tokens if table is None else table.elements
        wanted: dict[str, tuple[int, ...]] = {
            "fc.weight": (read * width, width),
            "enc.output_norm.weight": (width,),
            "output_norm.weight": (width,),
        }
        for layer in range(number("block_count")):
            wanted |= {
                f"blk.{layer}.{name}.weight": shape
                for name, shape in {
                    "attn_norm": (width,),
                    "attn_q": (width, key * heads),
                    "attn_k": (width, key * shared),
                    "attn_output": (key * heads, width),
                    "attn_q_norm": (key,),
                    "attn_k_norm": (key,),
                    "ffn_norm": (width,),
                    "ffn_gate": (width, inner),
                    "ffn_up": (width, inner),
                    "ffn_down": (inner, width),
                }.items()
            }
            check_shape(
                self._header, self._tensors, f"blk.{layer}.attn_v.weight", (width, key * shared), required=False
            )
        if "selector_hidden.weight" in self._tensors:
            wanted |= self._selector(width, tokens)
        if "markov_w1.weight" in self._tensors:
            rank = self._tensors["markov_w1.weight"].shape[0]
            wanted |= {"markov_w1.weight": (rank, tokens), "markov_w2.weight": (rank, drafted)}
        for name, shape in wanted.items():
            check_shape(self._header, self._tensors, name, shape)
        # Without an output of its own it takes its embedding's, and without either the target's.
        needs_output = table is not None
        check_shape(self._header, self._tensors, "token_embd.weight", (width, tokens), required=False)
        check_shape(self._header, self._tensors, "output.weight", (width, drafted), required=needs_output)

    def _selector(self, width: int, tokens: int) -> dict[str, tuple[int, ...]]:
        """Return the tensors that DFlash2 has beside DFlash's, its numbers checked."""
        names = ("conv_kernel_size", "conv_group_size", "selector_rank", "selector_top_k")
        kernel, group, rank, most = (self._number(name) for name in names)
        good = kernel > 0, group > 0 and width % group == 0, rank > 0, 0 < most <= tokens and most * (most + 1) <= width
        for name, each in zip(names, good, strict=True):
            if not each:
                raise self._broken(
                    "the header entry {name!r} has the invalid value {content}.",
                    name=f"{DFLASH}.{name}",
                    content=self._number(name),
                )
        found: dict[str, tuple[int, ...]] = {
            "selector_predecessor.weight": (rank, tokens),
            "selector_successor.weight": (rank, tokens),
            "selector_hidden.weight": (width, rank),
        }
        for layer in range(self._number("block_count")):
            for part in ("attn", "ffn"):
                base = f"blk.{layer}.{part}_conv_base"
                found |= {
                    base: (width, kernel, 2),
                    f"blk.{layer}.{part}_conv_proj.weight": (width, 2 * kernel * (width // group)),
                }
                if base in self._tensors and types.TENSOR_TYPES[self._tensors[base].kind].name != "F32":
                    stored = types.TENSOR_TYPES[self._tensors[base].kind].name
                    raise self._broken("the tensor {name!r} cannot be stored as {stored}.", name=base, stored=stored)
        return found

    def _broken(self, reason: str, /, **fields: object) -> ModelFileBroken:
        return ModelFileBroken(self._header.path, reason, **fields)


def check_table(header: GgufFile) -> None:
    """Check the tokens that the draft's vocabulary stands for: llama.cpp writes to these places unseen."""
    damaged = ModelFileBroken(header.path, Translatable("its table of draft tokens (d2t) is damaged."))
    table = header.tensors.get("d2t")
    if table is None:
        return
    tokens = header.count(TOKENS_KEY) or 0
    if types.TENSOR_TYPES[table.kind].name != "I64" or len(table.shape) != 1 or table.elements > _MOST_TOKENS:
        raise damaged
    with header.path.open("rb") as file:
        file.seek(header.data_start + table.offset)
        found = np.frombuffer(file.read(table.size), "<i8")
    if len(found) != table.elements or (len(found) and not 0 <= found.min() <= found.max() < tokens):
        raise damaged
    if len(np.unique(found)) != len(found):
        raise damaged


def inner_head(header: GgufFile, others: Sequence[GgufFile] = ()) -> DraftHead | None:
    """Return the MTP layers inside a model's file, None if it has none that can be used.

    Many quantised files keep the header's entry and lack the tensors, so these are looked at.
    """
    if not header.number(f"{header.text('general.architecture')}.nextn_predict_layers"):
        return None
    try:
        return _inner_head(header, _all_tensors(header, others))
    except (ModelFileBroken, ModelNotSupported):
        return None


def is_mtp_file(header: GgufFile) -> bool:
    """Return True if a file holds nothing of a model but its MTP layers and the tensors that they share with it.

    llama.cpp's converter writes such files (`--mtp`), with the header of the whole model.
    """
    number = Numbers(header, header.text("general.architecture") or "")
    count, layers = number("nextn_predict_layers"), number("block_count")
    if not 0 < count < layers or (header.number("split.count") or 0) > 1:
        return False
    blocks = {name.split(".")[1] for name in header.tensors if name.startswith("blk.")}
    return bool(blocks) and blocks <= {str(layer) for layer in range(layers - count, layers)}


def _mtp_alone(header: GgufFile) -> DraftHead:
    """Return the head of such a file, with its shared tensors checked too."""
    head = _inner_head(header, header.tensors)
    tokens = header.count(TOKENS_KEY) or 0
    for name, shape in (("token_embd", (head.width, tokens)), ("output_norm", (head.width,))):
        check_shape(header, header.tensors, f"{name}.weight", shape)
    check_shape(header, header.tensors, "output.weight", (head.width, tokens), required=False)
    return head


def _all_tensors(header: GgufFile, others: Sequence[GgufFile]) -> dict[str, Tensor]:
    return header.tensors | {name: each for part in others for name, each in part.tensors.items()}


def _inner_head(header: GgufFile, tensors: Mapping[str, Tensor]) -> DraftHead:
    architecture = header.text("general.architecture") or ""
    number = Numbers(header, architecture)
    count, width = number("nextn_predict_layers"), number("embedding_length")
    layers = number("block_count") - count
    if count < 1:
        raise ModelNotSupported(header.path, Translatable("it has no draft heads."))
    if architecture not in _RUN_MTP or count > 1 or layers < 1:
        reason = Translatable("MTP layers of the architecture {kind} cannot be used yet.", kind=printable(architecture))
        if architecture in _NEVER_RUN:
            reason = Translatable("llama.cpp loads the MTP layers of {kind}, but never runs them.", kind=architecture)
        raise ModelNotSupported(header.path, reason)
    heads = number("attention.head_count")
    key = number("attention.key_length") or width // max(heads, 1)
    shared, inner = number("attention.head_count_kv") or heads, number("feed_forward_length")
    wanted = {
        "attn_norm": (width,),
        "post_attention_norm": (width,),
        "attn_output": (key * heads, width),
        "attn_q_norm": (key,),
        "attn_k_norm": (key,),
        "ffn_gate": (width, inner),
        "ffn_up": (width, inner),
        "ffn_down": (inner, width),
        "nextn.eh_proj": (2 * width, width),
        "nextn.enorm": (width,),
        "nextn.hnorm": (width,),
    }
    block = f"blk.{layers}"
    if f"{block}.attn_qkv.weight" not in tensors:
        wanted |= {"attn_q": (width, 2 * key * heads)} | dict.fromkeys(("attn_k", "attn_v"), (width, key * shared))
    if not any(name.startswith(f"{block}.") for name in tensors):
        reason = Translatable(
            "it lacks the tensor {name!r} and all others of the layer for later tokens (MTP) that its header tells of.",
            name=f"{block}.attn_norm.weight",
        )
        raise ModelFileBroken(header.path, reason)
    for name, shape in wanted.items():
        check_shape(header, tensors, f"{block}.{name}.weight", shape)
    return DraftHead("mtp", (layers,), width)


_RUN_MTP = frozenset({"qwen35"})
"""Architectures whose MTP layers are run here."""
_NEVER_RUN = frozenset({"glm4", "exaone4", "exaone-moe"})
