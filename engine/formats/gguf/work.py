"""Calculate the reads of a one-token forward of a GGUF model: bytes of its matrices by number format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.formats.gguf import types
from engine.formats.gguf.header import Numbers
from engine.formats.gguf.parts import split_parts
from engine.formats.gguf.reader import read_gguf

_EMBEDDING, _OUTPUT = "token_embd.weight", "output.weight"
_EXPERTS = "_exps."


@dataclass(frozen=True, slots=True)
class ForwardWork:
    """Hold the reads of a forward: `matrices`, bytes by format; `layers`; `cache`: bytes for each token before it."""

    matrices: Mapping[str, int] = field(default_factory=dict)
    layers: int = 0
    cache: int = 0

    @property
    def size(self) -> int:
        """Return the bytes of all matrices."""
        return sum(self.matrices.values())


def forward_work(path: Path, cache: int = 0) -> ForwardWork:
    """Return the bytes that a forward of one token reads. Raises ModelFileBroken, ModelNotSupported.

    Of the table of embeddings it reads a row, but where the table is the output layer too; of the experts as many as
    the header says are asked for each token.
    """
    headers = [read_gguf(part) for part in split_parts(path)]
    number = Numbers(headers[0], headers[0].text("general.architecture") or "")
    tensors = [tensor for header in headers for tensor in header.tensors.values()]
    tied = not any(tensor.name == _OUTPUT for tensor in tensors)
    experts = number("expert_count")
    share = min(number("expert_used_count") / experts, 1.0) if experts else 1.0
    matrices: Counter[str] = Counter()
    for tensor in tensors:
        if len(tensor.shape) > 1 and (tied or tensor.name != _EMBEDDING):
            read = tensor.size * share if _EXPERTS in tensor.name else tensor.size
            matrices[types.TENSOR_TYPES[tensor.kind].name] += int(read)
    return ForwardWork(dict(matrices), number("block_count"), cache)
