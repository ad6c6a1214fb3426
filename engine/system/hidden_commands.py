"""Run the hidden commands by which this program starts itself as a child that may crash without harm."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

TRIAL = "--probe-model"
VERDICT_MARK = b"outrider-probe "
"""Lines of a trial that begin with this are meant for its parent."""
RENDERING = "--render-templates"
CONVERSION = "--convert-pickled"
APART = "--run-model-apart"
_MODULES = {
    TRIAL: "engine.loading.trial_child",
    RENDERING: "engine.chat.render_child",
    CONVERSION: "engine.backends.transformers.convert_child",
    APART: "engine.backends.llama_cpp.apart_child",
}


def run_hidden_command(argv: Sequence[str]) -> int | None:
    """Run the child's side that `argv` asks for, and give its exit code; None for any other command.

    Both entry points call this before anything else.
    """
    module = _MODULES.get(argv[0]) if argv else None
    if module is None:
        return None
    child = importlib.import_module(module)  # only the child needs what that imports
    return int(child.run(argv[1] if len(argv) > 1 else ""))
