"""Start the child processes of trials early: they import what they need while this process still does the same.

Imported by the command line before anything heavy.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from engine.loading.passed import has_passed, state_of
from engine.system.child import child_command, end_child, start_child
from engine.system.hidden_commands import TRIAL

_waiting: list[subprocess.Popen[bytes]] = []
_MOST = 2
"""A target and a draft."""


def trial_command() -> list[str]:
    """Return the command line of a child that reads from its input which file it shall try."""
    return child_command(TRIAL)


def start_trials(arguments: Iterable[str]) -> None:
    """Start a child for each GGUF file among a command's arguments that no trial has passed in its present state.

    A child that nobody takes ends with this process, which holds the other end of its input.
    """
    for argument in dict.fromkeys(arguments):
        with suppress(OSError, ValueError):
            path = Path(argument)
            if path.suffix.lower() == ".gguf" and not has_passed(state_of(path)) and len(_waiting) < _MOST:
                _waiting.append(start_child(trial_command(), errors=subprocess.STDOUT))


def take_child() -> subprocess.Popen[bytes] | None:
    """Return a child that waits for a file to try; None if there is none."""
    while _waiting:
        child = _waiting.pop()
        if child.poll() is None:
            return child
        end_child(child)
    return None
