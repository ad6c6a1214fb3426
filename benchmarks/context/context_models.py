"""Models that take more context than they were trained for: to measure what a long context costs, not what it says."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import gguf
import numpy as np

from engine import LoadConfig, SpeculativeDecoder, bundled_pair
from engine.backends.base import Logits
from engine.chat.template import encode_prompt
from engine.config import freeze_prompt
from engine.growth.arithmetic import GrownShape
from engine.growth.grown import cache_folder, grown_target
from helpers.models.pairs import held_out_prompts

_CERTAIN = 8.0
"""How far the logit of a proposal that is set lies above the others: the draft is sure of it, mostly."""


def open_pair(name: str, context: int, threads: int, shape: GrownShape) -> SpeculativeDecoder:
    """`demo`, or `q8_0` or `q4_0` (the grown target of that kind) with the demo draft, taking `context` tokens.

    No token ends a reply. Raises GrowthError, OSError.
    """
    small, draft = bundled_pair()
    target = small if name == "demo" else grown_target("q8_0" if name == "q8_0" else "q4_0", shape)
    decoder = SpeculativeDecoder()
    decoder.attach_target(LoadConfig(stretched(target, context), context, threads, trusted=True))
    decoder.attach_draft(LoadConfig(stretched(draft, context), context, threads, trusted=True))
    for backend in (decoder.target, decoder.draft):
        assert backend is not None
        backend.eos_token_ids = frozenset()
    return decoder


def stretched(path: Path, context: int) -> Path:
    """The file, or a copy whose header says that it was trained for `context` tokens, made if it is not there yet."""
    if int(gguf.GGUFReader(path).fields["llama.context_length"].contents()) >= context:
        return path
    copy = cache_folder() / f"{path.stem}-context-{context}.gguf"
    if copy.exists():
        return copy
    partial = copy.with_name(f"{copy.name}.{os.getpid()}.partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(path, partial)
        reader = gguf.GGUFReader(partial, "r+")
        reader.fields["llama.context_length"].parts[-1][0] = context
        reader.data.flush()
        partial.rename(copy)
    finally:
        partial.unlink(missing_ok=True)
    return copy


def long_text(decoder: SpeculativeDecoder, length: int) -> list[int]:
    """So many tokens of chats, one after the other, and over again where they do not suffice."""
    assert decoder.target is not None
    tokenizer = decoder.target.tokenizer
    chats = [encode_prompt(freeze_prompt(prompt), tokenizer, raw=False) for prompt in held_out_prompts(80)]
    tokens = [token for chat in chats for token in chat]
    return (tokens * (length // len(tokens) + 1))[:length]


class SetAcceptance:
    """Makes the draft right about a given reply in a given share of places, at its own real cost.

    Behind the length that they were trained for small models write nonsense that no draft foresees, so their acceptance
    says nothing about long contexts. Here the draft runs as ever, then the logit of the token that comes next (or in
    some places, always the same ones, of another) is raised. `reply` stands behind `start` tokens.
    """

    def __init__(self, decoder: SpeculativeDecoder, start: int, reply: Sequence[int], share: float) -> None:
        assert decoder.draft is not None
        self._draft = decoder.draft
        self._inner: Callable[[Sequence[int], int], Logits] = decoder.draft.forward
        self._start, self._reply = start, reply
        random = Random(6)
        self._right = [random.random() < share for _ in reply]
        self._draft.forward = self._forward  # type: ignore[method-assign]

    def _forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        rows = self._inner(tokens, n_outputs)
        place = self._draft.length - self._start
        if n_outputs != 1 or not 0 <= place < len(self._reply):
            return rows
        token = self._reply[place] if self._right[place] else (self._reply[place] + 1) % rows.shape[1]
        changed = np.array(rows)
        changed[0, token] = changed.max() + _CERTAIN
        return changed
