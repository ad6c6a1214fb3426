"""The hidden command by which this program starts itself to try a model file (see engine.loading.trial)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

HIDDEN_COMMAND = "--probe-model"
VERDICT_MARK = b"outrider-probe "
"""Lines of the child that begin with this are meant for its parent."""


def run_hidden_command(argv: Sequence[str]) -> int | None:
    """Run the child's side of the trial if `argv` asks for it, and give its exit code; None for any other command.

    Both entry points call this before anything else.
    """
    if not argv or argv[0] != HIDDEN_COMMAND:
        return None
    child = importlib.import_module("engine.loading.trial_child")  # only the child needs what that imports
    return int(child.run(argv[1] if len(argv) > 1 else ""))
