"""Answer requests to render chat templates, in the child, within limits of memory and time.

A request and its answer are JSON (engine.chat.render). A template that exceeds the limits or crashes ends this process
and nothing else.
"""

from __future__ import annotations

import json
import os
from time import process_time
from typing import Any

from engine.chat import parser_child, sandbox
from engine.system.child_side import be_harmless, limit_memory, limit_seconds, own_output, read_message, write_message
from engine.translatable import Translatable, packed

MEMORY_BYTES = 320 * 2**20
"""The memory of rendering beside the process itself."""
_MOST_REQUEST_BYTES = 2**30
_MOST_REASON_LETTERS = 300


def run(_argument: str) -> int:
    """Answer requests until the parent is gone, and give the exit code 0."""
    out = own_output()
    be_harmless()
    # The first template costs more than others: that is over before anybody waits for it.
    sandbox.render("{% for each in [1] %}{{ each | trim }}{% endfor %}", {})
    limit_memory(MEMORY_BYTES)
    try:
        write_message(out, b"{}")
        with os.fdopen(0, "rb", closefd=False) as requests:
            while (data := read_message(requests, _MOST_REQUEST_BYTES)) is not None:
                began = process_time()
                said = _answer(data)
                write_message(out, json.dumps(said | {"used": process_time() - began}).encode())
    except (OSError, MemoryError):  # The parent is gone, or the request itself is too large.
        return 1
    return 0


def _answer(data: bytes) -> dict[str, Any]:
    said: dict[str, Any]
    try:
        request = json.loads(data)
        limit_seconds(request["seconds"])
        if "reply" in request:
            return parser_child.answer(request)
        if "names" in request:
            return {"names": sandbox.names(request["names"])}
        text = sandbox.render(request["template"], request["variables"])
        if len(text) <= request["letters"]:
            return {"text": text}
        said = {"reason": packed(Translatable("its text is far longer than the chat"))}
    except MemoryError:
        said = {"reason": packed(Translatable("it takes too much memory")), "spent": True}
    except RecursionError:
        said = {"reason": packed(Translatable("it nests too deeply")), "raised": True}
    except Exception as error:  # noqa: BLE001 - a template can raise whatever Python can
        said = {"reason": _reason(error), "raised": True}
    return said


def _reason(error: Exception) -> object:
    """Describe an error in few words and one line; a template may have made it long."""
    if error.args and isinstance(error.args[0], Translatable):
        return packed(error.args[0])
    try:
        words = str(error)[: 4 * _MOST_REASON_LETTERS]
    except Exception:  # noqa: BLE001 - as above
        words = ""
    return " ".join(words.split())[:_MOST_REASON_LETTERS].rstrip(".") or type(error).__name__
