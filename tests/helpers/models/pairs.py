"""Real pairs that share a vocabulary, opened for a test."""

import json
from collections.abc import Sequence
from pathlib import Path

from engine.backends.base import Backend
from engine.config import CacheType, LoadConfig, Prompt
from engine.decoder import SpeculativeDecoder
from engine.events import GenerationResult
from helpers.paths import ROOT, SHARED_MODELS

PAIRS = [
    ("stories260K-F32", "stories-draft43K-F32"),
    ("stories260K-F32", "stories260K-Q8_0"),
    ("stories260K-F32", "stories260K-Q4_0"),
    ("stories260K-F32", "stories260K-4layers-F32"),
    ("stories260K-Q8_0", "stories-draft43K-F32"),
    ("stories260K-Q4_0", "stories-draft43K-F32"),
    ("stories260K-F32", "stories-mamba131K-F32"),
    ("stories-mamba131K-F32", "stories-draft43K-F32"),
    ("babyllama361-F32", "babyllama105as361-F32"),
    ("babyllama361-Q8_0", "babyllama105as361-F32"),
    ("rwkv5.2-730K-as-rwkv6-F32", "babyllama-byte256-F32"),
    ("babyllama-byte256-F32", "rwkv5.2-730K-as-rwkv6-F32"),
    ("rwkv7-834K-F32", "babyllama-byte256-F32"),
]
"""Target and draft: names of shared GGUF files. Attention and recurrent models, good drafts and poor ones."""

HELD_OUT = ROOT / "recipes" / "demo_models" / "heldout.json"
CLOSE = 1e-3
"""Where the two best logits lie closer than this, batches of different size may choose differently."""


def open_shared(target: str, draft: str | None, *, threads: int = 1) -> SpeculativeDecoder:
    """A decoder with shared models, which are known to be sound."""
    folder = SHARED_MODELS / "gguf"
    return open_files(folder / f"{target}.gguf", None if draft is None else folder / f"{draft}.gguf", threads=threads)


def open_files(
    target: Path,
    draft: Path | None,
    *,
    threads: int = 1,
    context_length: int | None = None,
    cache_type: CacheType | None = None,
) -> SpeculativeDecoder:
    """A decoder with models from files that are known to be sound: no trial in a child process."""
    decoder = SpeculativeDecoder()
    decoder.attach_target(LoadConfig(target, context_length, threads, trusted=True, cache_type=cache_type))
    if draft is not None:
        decoder.attach_draft(LoadConfig(draft, context_length, threads, trusted=True, cache_type=cache_type))
    return decoder


def held_out_prompts(count: int) -> list[Prompt]:
    """Prompts that the bundled pair was not trained on, evenly from all categories: text, or the turns of a chat."""
    entries = json.loads(HELD_OUT.read_text(encoding="utf-8"))
    chosen = [entries[index * len(entries) // count] for index in range(count)]
    return [entry["prompt"] if "prompt" in entry else entry["messages"] for entry in chosen]


def assert_same_greedy(
    target: Backend, prompt: Sequence[int], plain: GenerationResult, other: GenerationResult, *, close: float = CLOSE
) -> int:
    """The same tokens, but for a place where the target's two best logits are shown to lie too close to tell.

    Gives the number of tokens that were alike.
    """
    if plain.tokens == other.tokens:
        assert plain.text == other.text
        assert plain.finish_reason == other.finish_reason
        return len(plain.tokens)
    alike = next(
        (i for i, (a, b) in enumerate(zip(plain.tokens, other.tokens, strict=False)) if a != b),
        min(len(plain.tokens), len(other.tokens)),
    )
    assert alike < min(len(plain.tokens), len(other.tokens)), "one reply is only a beginning of the other"
    target.truncate(0)
    row = None
    for token in [*prompt, *plain.tokens[:alike]]:
        row = target.forward([token], 1)[0].copy()
    assert row is not None
    first, second = row.argsort()[::-1][:2]
    gap = float(row[first] - row[second])
    assert {plain.tokens[alike], other.tokens[alike]} == {first, second}, f"other tokens at {alike}, gap {gap:.2g}"
    assert gap < close, f"token {alike} differs where the gap is {gap:.2g}"
    return alike
