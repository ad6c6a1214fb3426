"""Open streams of loaded models: backends with the same weights, whose forwards are computed together."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import cast

from engine.backends.base import Backend
from engine.backends.streams import StreamBatcher, StreamSlot

_MODULES = {"LlamaCppBackend": "engine.backends.llama_cpp.streams"}


def open_pairs(
    target: Backend, draft: Backend | None, count: int
) -> tuple[StreamBatcher, Sequence[tuple[StreamSlot, Backend, Backend | None]]] | None:
    """Open streams of a target and its draft: their batcher, and each one's slot and backends.

    None if there can be none.
    """
    batcher = StreamBatcher()
    targets = _open(target, batcher, count)
    if targets is None:
        return None
    drafts: Sequence[Backend | None] | None = [None] * count if draft is None else _open(draft, batcher, count)
    if drafts is None:
        for stream in targets:
            stream.close()
        return None
    slots = (StreamSlot(batcher, number) for number in range(count))
    return batcher, tuple(zip(slots, targets, drafts, strict=True))


def _open(backend: Backend, batcher: StreamBatcher, count: int) -> list[Backend] | None:
    module = _MODULES.get(type(backend).__name__)
    if module is None:
        return None
    return cast("list[Backend] | None", importlib.import_module(module).open_streams(backend, batcher, count))
