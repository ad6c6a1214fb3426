"""Open streams of loaded models: backends with the same weights, whose forwards are computed together."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import cast

from engine.backends.base import Backend
from engine.backends.streams import Meeting, Seat

_MODULES = {"LlamaCppBackend": "engine.backends.llama_cpp.streams"}


def open_pairs(
    target: Backend, draft: Backend | None, count: int
) -> tuple[Meeting, Sequence[tuple[Seat, Backend, Backend | None]]] | None:
    """Open streams of a target and its draft: their meeting point, and each one's seat and backends.

    None if there can be none.
    """
    meeting = Meeting()
    targets = _open(target, meeting, count)
    if targets is None:
        return None
    drafts: Sequence[Backend | None] | None = [None] * count if draft is None else _open(draft, meeting, count)
    if drafts is None:
        for stream in targets:
            stream.close()
        return None
    seats = (Seat(meeting, number) for number in range(count))
    return meeting, tuple(zip(seats, targets, drafts, strict=True))


def _open(backend: Backend, meeting: Meeting, count: int) -> list[Backend] | None:
    module = _MODULES.get(type(backend).__name__)
    if module is None:
        return None
    return cast("list[Backend] | None", importlib.import_module(module).open_streams(backend, meeting, count))
