"""Notice that this process was forked from one in which models were loaded: their threads are not there any more."""

from __future__ import annotations

import os

from engine.errors import NotAvailable
from engine.translatable import Translatable

_LOADED, _FORKED = "loaded", "forked"
_marks: set[str] = set()


def note_loaded() -> None:
    """Record that libraries with threads of their own compute in this process from now on."""
    _marks.add(_LOADED)


def check_not_forked() -> None:
    """Raise NotAvailable if such libraries would wait for threads that only the parent has, for ever."""
    if _FORKED in _marks:
        raise NotAvailable(
            Translatable("Running models in a forked process"),
            Translatable(
                "models were loaded before the fork, and their threads are lost. Start processes with "
                "multiprocessing's 'spawn', or load models only behind the fork."
            ),
        )


def _note_fork() -> None:
    if _LOADED in _marks:
        _marks.add(_FORKED)


if hasattr(os, "register_at_fork"):  # Not on Windows, which forks nothing.
    os.register_at_fork(after_in_child=_note_fork)
