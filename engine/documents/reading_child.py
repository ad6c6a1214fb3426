"""Read one document in the child: bytes come in, JSON goes out; no file and no connection can be opened."""

from __future__ import annotations

import base64
import codecs
import encodings.aliases
import json
import os
import sys
from contextlib import suppress
from time import process_time
from typing import Any

from engine.documents import kinds
from engine.documents.refused import NotReadable
from engine.system.child_side import (
    be_harmless,
    limit_memory,
    limit_seconds,
    own_output,
    read_message,
    write_message,
)
from engine.translatable import Translatable, packed

if sys.platform != "win32":
    import resource

_MEMORY_BYTES = 640 * 2**20
"""What reading may take beside the process itself and the file."""
_MOST_REQUEST_BYTES = 2**27
_TOO_MUCH_MEMORY = Translatable("reading it takes too much memory")
_DAMAGED = Translatable("it is damaged")


def run(_argument: str) -> int:
    """Answer one request, and give the exit code 0."""
    out = own_output()
    be_harmless()
    write_message(out, b"{}")
    with os.fdopen(0, "rb", closefd=False) as requests:
        data = read_message(requests, _MOST_REQUEST_BYTES)
    if data is None:
        return 1
    head, _, data = data.partition(b"\n")
    asked = json.loads(head)
    limit_seconds(asked["seconds"])
    limit_memory(_MEMORY_BYTES)
    try:
        answer = json.dumps(_answer(asked, data) | {"used": process_time()}).encode("utf-8", "replace")
    except MemoryError:
        answer = json.dumps({"reason": packed(_TOO_MUCH_MEMORY), "used": process_time()}).encode()
    write_message(out, answer)
    return 0


def _answer(asked: dict[str, Any], data: bytes) -> dict[str, Any]:
    try:
        if asked["work"] == "picture":
            render = kinds.picture_renderer()
            _close_doors()
            return {"picture": base64.b64encode(render(data, asked["page"], asked["width"])).decode()}
        read = kinds.reader_of(data, asked["name"])
        _close_doors()
        budget = kinds.Budget(0.75 * asked["seconds"])
        return {"document": read(data, asked["name"], budget).to_dict()}
    except NotReadable as refused:
        return {"reason": packed(refused.reason)}
    except ImportError:
        return {"reason": packed(Translatable("what reads it is not installed: install the extra “documents”"))}
    except MemoryError:
        return {"reason": packed(_TOO_MUCH_MEMORY)}
    except RecursionError:
        return {"reason": packed(Translatable("it nests too deeply"))}
    except Exception:  # noqa: BLE001 - libraries raise whatever Python can over what is damaged
        return {"reason": packed(_DAMAGED)}


def _close_doors() -> None:
    """Let this process open nothing more: neither a file nor a connection. What it needs is imported by now.

    Encodings are modules that Python imports when they are first used.
    """
    for encoding in {*encodings.aliases.aliases.values(), "utf_8_sig", "idna", "punycode"}:
        with suppress(LookupError):
            codecs.lookup(encoding)
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
