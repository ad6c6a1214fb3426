"""Run the hidden commands by which this program starts itself as a child that may crash without harm."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from contextlib import suppress

TRIAL = "--probe-model"
VERDICT_MARK = b"outrider-probe "
"""Lines of a trial that begin with this are meant for its parent."""
RENDERING = "--render-templates"
CONVERSION = "--convert-pickled"
APART = "--run-model-apart"
CALCULATION = "--calculate"
TOOL_SERVERS = "--talk-to-tool-servers"
READING = "--read-documents"
DICTATION = "--write-down-speech"
READING_CHATS = "--read-chats"
DRAWING = "--draw-preview"
_SHORT = 64 * 2**20
"""Bytes; a little more than a trial takes of the address space for its imports once numpy is there, and as much again
for the demo target (53 and 54 MB on Linux)."""
_MODULES = {
    TRIAL: "engine.loading.trial_child",
    RENDERING: "engine.chat.render_child",
    CONVERSION: "engine.backends.transformers.convert_child",
    APART: "engine.backends.llama_cpp.apart_child",
    CALCULATION: "engine.tools.builtin.calculator_child",
    TOOL_SERVERS: "engine.tools.mcp_child",
    READING: "engine.documents.reading_child",
    DICTATION: "engine.speech.dictated_child",
    # The window's own, which only a program with the window asks for.
    READING_CHATS: "app.state.conversations.other_programs.child",
    DRAWING: "app.system.drawing_child",
}


def run_hidden_command(argv: Sequence[str]) -> int | None:
    """Run the child's side that `argv` asks for, and give its exit code; None for any other command.

    Both entry points call this before anything else.
    """
    module = _MODULES.get(argv[0]) if argv else None
    if module is None:
        return None
    try:
        child = importlib.import_module(module)  # only the child needs what that imports
        return int(child.run(argv[1] if len(argv) > 1 else ""))
    except BaseException:  # OpenBLAS answers with an interrupt where it cannot start its threads.
        if memory_is_short():
            with suppress(OSError):
                os.write(2, b"out of memory\n")  # The error itself may tell of anything.
        raise


def memory_is_short() -> bool:
    """Return True if this process cannot get as much memory as its imports took, or the trial of a small model takes.

    The memory is asked for, not touched.
    """
    try:
        bytes(_SHORT)
    except MemoryError:
        return True
    return False
