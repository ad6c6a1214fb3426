"""Describe a model in a folder, before it is loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Literal

from engine.config import SamplingConfig
from engine.errors import LoadFailed
from engine.formats.draft_head import DraftHead
from engine.formats.recommended import Recommended, sampling_of
from engine.formats.turns import format_of_vocabulary
from engine.translatable import Translatable, as_sentence

if TYPE_CHECKING:
    from engine.formats.vocabulary import Vocabulary

Role = Literal["model", "projector", "embedding", "draft-head", "adapter", "folder", "other"]
FileFormat = Literal["gguf", "safetensors"]

DEFAULT_CONTEXT = 4096
"""Tokens of context of a model whose training length is unknown."""
_LEAST_CONTEXT = 8192
_SHARE_OF_FREE = 10
"""The cache of a context that nobody asked for takes no more than this part of the free memory."""
_LONGEST_NAME = 120

ROLE_PROBLEMS: dict[Role, str] = {
    "projector": Translatable("It is the vision part of a model (a projector), which does not generate text."),
    "embedding": Translatable("It is an embedding model, which does not generate text."),
    "draft-head": Translatable("It is a draft head for a target, not a model of its own."),
    "adapter": Translatable("It is an adapter (LoRA) for a model, not a model of its own."),
}


@dataclass(frozen=True)
class ModelFile:
    """Describe a model in a folder, or a file that looks like one.

    `path`: the file, the first of a split model, or a folder. `parameters`: number of weights. `quantisation`: their
    number format, such as Q4_K_M. `context_length`: trained for, in tokens. `size_bytes`: of all its files.
    `vocabulary`: None if there is none. `problem`: the reason why it cannot be used, None if it can. `role`:
    its kind; only a "model" writes text. `cache_per_token` (with the growth of the working space), `state_bytes`,
    `compute_bytes`: bytes besides the weights. `cache_elements`: numbers in the cache for each token, `row_elements`:
    the smallest contiguous row of them, `float32_cache`: they are stored in float32; `layers`: the layers that could go
    to a GPU one by one. `file_format`: decides the backend. `recommended`: its makers' sampling, fields of a
    SamplingConfig with their values. `thinks`: its chat template has a place for reasoning before the answer. `width`:
    numbers in a hidden state; `depth`: layers with one each. `head`: the draft head that it is or contains, None if
    none is usable. `tokens`: number of token ids in a folder's configuration, with or without a tokenizer. `shared`:
    the part of its cache that a head may read, as of a DraftHead. `size_label`: its size in its makers' words (1.5B),
    or "".
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
    file_format: FileFormat = "gguf"
    cache_elements: int = 0
    row_elements: int = 0
    float32_cache: bool = False
    layers: int = 0
    recommended: Recommended = ()
    thinks: bool = False
    width: int = 0
    depth: int = 0
    head: DraftHead | None = None
    tokens: int = 0
    shared: tuple[tuple[int, int], ...] = ()
    size_label: str = ""

    def holds_heads_for(self, target: Path | None) -> bool:
        """True if it holds heads that a target may draft with: in a file of their own, or inside the target's."""
        return self.head is not None and (self.role == "draft-head" or self.path == target)

    @property
    def usable(self) -> bool:
        """Return True if it can be loaded as a target or a draft, as far as its files show."""
        return self.problem is None and self.role == "model"

    @property
    def can_draft(self) -> bool:
        """True if it can propose tokens for a target: it is usable, or holds heads."""
        return self.usable or self.head is not None

    @cached_property
    def turns(self) -> str:
        """Return the form of its chats: its own "template", the name of a known format, or "plain text".

        '' if it writes no text.
        """
        if self.role != "model" or self.has_chat_template:
            return "template" if self.role == "model" else ""
        form = None if self.vocabulary is None else format_of_vocabulary(self.vocabulary)
        return "plain text" if form is None else form.name

    @property
    def recommended_sampling(self) -> SamplingConfig | None:
        """Return the sampling that its makers recommend, or None."""
        return sampling_of(self.recommended)

    def context_held(self, wanted: int | None = None) -> int:
        """Return the context length in tokens with which it is loaded for this wish, as both backends calculate it.

        None: the trained length, limited to a tenth of the free memory, but at least 8,192. Between these it is a power
        of two, so that small changes of the free memory change nothing.
        """
        most = self.context_length or (DEFAULT_CONTEXT if self.file_format == "gguf" else None)
        if wanted is not None or most is None:
            return min(wanted or DEFAULT_CONTEXT, most or wanted or DEFAULT_CONTEXT)
        held = _LEAST_CONTEXT
        if held < most:
            room = _free_memory(int(monotonic())) // _SHARE_OF_FREE // max(self.cache_per_token, 1)
            while held < most and min(2 * held, most) <= room:
                held *= 2
        return min(held, most)

    def memory_needed(self, context_length: int | None = None) -> int:
        """Return bytes that it takes to run: weights, cache of so many tokens, and working space. An estimate."""
        cache = self.context_held(context_length) * self.cache_per_token
        return self.size_bytes + cache + self.state_bytes + self.compute_bytes


@lru_cache(maxsize=1)
def _free_memory(_second: int) -> int:
    """Return the free memory, looked at once a second: lists ask for it by the thousand."""
    from engine.system.machine import available_memory  # noqa: PLC0415 - it brings psutil, which lists of names do without

    return available_memory()


def problem_of(error: LoadFailed, path: Path | None = None) -> str:
    """Return an error's reason as a sentence for a list.

    `path`: the listed model; the sentence names the broken file in it.
    """
    if path is None or error.path == path:
        return _printable_reason(as_sentence(error.reason))
    return Translatable("{file}: {reason}", file=printable(error.path.name), reason=_printable_reason(error.reason))


def _printable_reason(reason: str) -> str:
    shown = printable(reason, 400)
    return reason if shown == reason else shown


def is_lasting(error: LoadFailed) -> bool:
    """Return True if it lasts as long as the files do not change: the system may allow later what it refuses now."""
    cause = error.__context__
    return not isinstance(cause, OSError) or isinstance(cause, FileNotFoundError)


def printable(text: str, longest: int = _LONGEST_NAME) -> str:
    """Return a text from a file or a file's name, fit to be shown on one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[:longest]).split())


def file_title(name: str) -> str:
    """Return a file's name, with or without its ending, fit to be shown and never empty.

    Each byte that is no text is shown as a replacement sign.
    """
    unknown = "\N{REPLACEMENT CHARACTER}"
    return printable("".join(unknown if "\ud800" <= c <= "\udfff" else c for c in name)) or unknown
