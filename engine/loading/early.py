"""Begin early with loading: children of trials, and weights, while this process imports what replies need.

Imported before anything heavy.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from engine.errors import EngineError
from engine.loading.passed import has_passed, state_of
from engine.system.child import child_command, end_child, start_child
from engine.system.forked import check_not_forked, note_loaded
from engine.system.hidden_commands import TRIAL
from engine.system.machine import available_memory
from engine.system.processor import check_processor

_waiting: dict[Path, subprocess.Popen[bytes]] = {}
_MOST = 2
"""A target and a draft."""
_WEIGHTS, _REPLIES = "engine.backends.llama_cpp.weights", "engine.decoder"
_SHARE_OF_MEMORY = 0.25


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


@contextmanager
def early_weights(*models: object) -> Iterator[None]:
    """Begin to read the weights of GGUF files, or of their configurations, that passed their trial as they are.

    Only where that takes little of the memory, and something is left to import meanwhile. What nobody took is freed at
    the end.
    """
    paths = [Path(path).absolute() for each in models if isinstance(path := getattr(each, "path", each), str | Path)]
    with suppress(ImportError, OSError, RuntimeError, ValueError, EngineError):  # The load itself tells what is wrong.
        if _REPLIES not in sys.modules and paths and all(map(_is_passed, paths)) and _is_little(paths):
            check_processor()
            check_not_forked()
            weights = importlib.import_module(_WEIGHTS)
            note_loaded()
            for path in paths:
                weights.read_early(path)
    try:
        yield
    finally:
        if _WEIGHTS in sys.modules:
            sys.modules[_WEIGHTS].drop_early()


def _is_little(paths: Iterable[Path]) -> bool:
    return sum(path.stat().st_size for path in paths) < _SHARE_OF_MEMORY * available_memory()


def _is_passed(path: Path) -> bool:
    return path.suffix.lower() == ".gguf" and path.is_file() and has_passed(state_of(path))
