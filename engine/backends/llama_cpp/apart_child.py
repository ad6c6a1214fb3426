"""Run the child's side of a model in another process (see apart.py): load it, and carry out the parent's commands.

Messages are JSON; rows of logits go through a file that both have mapped. If llama.cpp ends this process, the parent
sees the pipe close.
"""

from __future__ import annotations

import json
import mmap
import os
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

import numpy as np

from engine.backends.base import Logits
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.llama_cpp.machines import machine_devices
from engine.cancel import CancelToken
from engine.config import MAX_LOOKAHEAD, LoadConfig
from engine.errors import Cancelled, EngineError, RewindNotSupported
from engine.system.child_side import be_harmless, own_output, read_message, write_message
from engine.translatable import packed

_MOST_BYTES = 2**26
"""The largest message: a prompt of millions of tokens."""


def run(settings: str) -> int:
    """Load the model that `settings` (JSON) names, and serve the parent until it ends. Returns the exit code."""
    out = own_output()
    be_harmless()
    wanted = json.loads(settings)
    config = LoadConfig(Path(wanted.pop("path")), trusted=True, **wanted)
    requests: SimpleQueue[dict[str, Any]] = SimpleQueue()
    cancel = CancelToken()
    threading.Thread(target=_listen, args=(os.fdopen(0, "rb", buffering=0), requests, cancel), daemon=True).start()

    def loading(fraction: float) -> None:
        _say(out, progress=fraction)

    try:
        machine_devices(config)
        _say(out, progress=0.0)
        backend = LlamaCppBackend.open(config, progress=loading, cancel=cancel)
    except EngineError as error:
        _say(out, failed=packed(getattr(error, "reason", None) or str(error)))
        return 0
    backend.watch(cancel)
    _say(out, ready=_facts(backend))
    _serve(backend, out, requests, cancel)
    return 0


def _facts(backend: LlamaCppBackend) -> dict[str, Any]:
    return {
        "vocab_size": backend.vocab_size,
        "context_length": backend.context_length,
        "rewind": [backend.rewind.kind, backend.rewind.depth],
        "notes": list(backend.notes),
        "threads": backend.threads,
        "parameters": backend.parameters,
        "weight_bytes": backend.weight_bytes,
    }


def _listen(pipe: BinaryIO, requests: SimpleQueue[dict[str, Any]], cancel: CancelToken) -> None:
    """Queue the parent's messages, and exit the process when the pipe closes."""
    while (data := read_message(pipe, _MOST_BYTES)) is not None:
        message = json.loads(data)
        if message["do"] == "cancel":
            cancel.cancel()
        else:
            requests.put(message)
    os._exit(1)


def _serve(backend: LlamaCppBackend, out: BinaryIO, requests: SimpleQueue[dict[str, Any]], cancel: CancelToken) -> None:
    rows: Logits | None = None
    while True:
        message = requests.get()
        try:
            match message["do"]:
                case "map":
                    rows = mapped_rows(message["path"], backend.vocab_size)
                case "forward":
                    found = backend.forward(message["tokens"], message["outputs"])
                    if rows is not None and message["outputs"]:
                        rows[: len(found)] = found
                case "truncate":
                    backend.truncate(message["length"])
                case "mark":
                    backend.mark()
                case "begin":
                    cancel.clear()
            _say(out, length=backend.length)
        except Cancelled:
            _say(out, length=backend.length, cancelled=True)
        except RewindNotSupported:
            _say(out, length=backend.length, cannot_rewind=True)
        except EngineError as error:
            _say(out, length=backend.length, failed=packed(str(error)))


def mapped_rows(path: str, vocab_size: int) -> Logits:
    """Return the rows of logits in a file, shape (MAX_LOOKAHEAD + 1, vocab_size). Raises OSError."""
    with Path(path).open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    return np.frombuffer(memory, np.float32).reshape(MAX_LOOKAHEAD + 1, vocab_size)


def _say(out: BinaryIO, **message: object) -> None:
    try:
        write_message(out, json.dumps(message).encode())
    except OSError:
        os._exit(1)
