"""Ask llama.cpp's parsers of replies through the compiled door. Only child processes load it: it runs the template."""

from __future__ import annotations

import ctypes
import json
from collections import OrderedDict
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from engine.translatable import Translatable

_MOST_OPEN = 4
_NOT_READ = Translatable("it cannot be read")
_open: OrderedDict[str, tuple[ctypes.c_void_p, dict[str, Any]]] = OrderedDict()
"""The grammars that were asked for last, by the request that made them."""


class Unreadable(Exception):
    """Report that llama.cpp cannot read the replies of a template, with its reason."""


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answer a request: `grammar`, which makes the parser, and `reply`, the text to parse.

    The answer has `grammar` and `parts`, as door.cpp gives them; or `lacking`, where no door was compiled.
    Raises Unreadable, MemoryError.
    """
    door = _door()
    if door is None:
        return {"lacking": True}
    chat, grammar = _opened(door, json.dumps(request["grammar"]))
    data = request["reply"].encode("utf-8", "replace")
    parts = _said(door, door.outrider_chat_parse(chat, data, len(data)))
    return {"grammar": grammar, "parts": parts}


@cache
def _door() -> Any:
    """Return the library beside that of llama.cpp; None if it was compiled without."""
    package = find_spec("llama_cpp")
    places = [] if package is None else list(package.submodule_search_locations or ())
    files = [file for place in places for file in sorted(Path(place, "lib").glob("*outrider_chat.*"))]
    if not files:
        return None
    try:
        door = ctypes.CDLL(str(files[0]))
    except OSError:
        return None
    text, handle = ctypes.c_char_p, ctypes.c_void_p
    door.outrider_chat_open.argtypes = [text, ctypes.POINTER(handle)]
    door.outrider_chat_parse.argtypes = [handle, text, ctypes.c_size_t]
    door.outrider_chat_release.argtypes = door.outrider_chat_close.argtypes = [handle]
    door.outrider_chat_open.restype = door.outrider_chat_parse.restype = handle
    door.outrider_chat_release.restype = door.outrider_chat_close.restype = None
    return door


def _opened(door: Any, request: str) -> tuple[ctypes.c_void_p, dict[str, Any]]:
    if request in _open:
        _open.move_to_end(request)
        return _open[request]
    chat = ctypes.c_void_p()
    grammar = _said(door, door.outrider_chat_open(request.encode(), ctypes.byref(chat)))
    _open[request] = chat, grammar
    while len(_open) > _MOST_OPEN:
        door.outrider_chat_close(_open.popitem(last=False)[1][0])
    return chat, grammar


def _said(door: Any, given: int | None) -> dict[str, Any]:
    """Return an answer, and release it. Raises Unreadable, MemoryError."""
    if not given:
        raise MemoryError
    try:
        said: dict[str, Any] = json.loads(ctypes.string_at(given))
    finally:
        door.outrider_chat_release(given)
    reason = said.get("error")
    if reason == "std::bad_alloc":
        raise MemoryError
    if reason is not None:
        # llama.cpp throws some of its errors on without what they say.
        raise Unreadable(_NOT_READ if reason in ("", "std::exception") else reason)
    return said
