"""Start the child processes of trials early: they import what they need while this process still does the same.

Imported before anything heavy.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from engine.loading.passed import has_passed, state_of
from engine.system.child import child_command, end_child, start_child
from engine.system.hidden_commands import TRIAL

_waiting: dict[Path, subprocess.Popen[bytes]] = {}
_MOST = 2
"""A target and a draft."""


def trial_command(path: Path | str = "") -> list[str]:
    """Return the command line of a child that reads from its input what it shall try, and a file ahead of that."""
    return child_command(TRIAL, os.fspath(path))


@contextmanager
def trials(*models: object) -> Iterator[None]:
    """Start a child for each GGUF file, or configuration of one, that passed no trial in its present state.

    A child that nobody took ends with the block, and with this process, which holds the other end of its input.
    """
    for model in models:
        with suppress(OSError, ValueError):
            path = _path_of(model)
            if path is None or path in _waiting or len(_waiting) >= _MOST:
                continue
            if path.suffix.lower() == ".gguf" and not has_passed(state_of(path)):
                _waiting[path] = start_child(trial_command(path), errors=subprocess.STDOUT)
    try:
        yield
    finally:
        for path in filter(None, map(_path_of, models)):
            child = _waiting.pop(path, None)
            if child is not None:
                end_child(child)


def _path_of(model: object) -> Path | None:
    """Return the path of a file, or of a configuration that does not trust it."""
    path = None if getattr(model, "trusted", False) else getattr(model, "path", model)
    return Path(path).absolute() if isinstance(path, str | Path) else None


def take_child(path: Path) -> subprocess.Popen[bytes] | None:
    """Return a child that waits for the settings of this file; None if there is none."""
    child = _waiting.pop(path.absolute(), None)
    if child is not None and child.poll() is not None:
        end_child(child)
        return None
    return child
