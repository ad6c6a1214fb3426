"""Run the child's side of the trial: load an unknown model and take it through the steps of a chat.

If llama.cpp ends the process, that is the answer. Otherwise one line on the standard output gives the verdict.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from engine.backends.base import Backend
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.llama_cpp.embedding import LlamaCppEmbedder
from engine.backends.prefix import read_all
from engine.cancel import CancelToken
from engine.config import MAX_LOOKAHEAD, LoadConfig
from engine.errors import (
    EngineError,
    LoadFailed,
    ModelNotSupported,
    TextNotEncodable,
)
from engine.formats.vocabulary import Vocabulary
from engine.messages.picture import Picture, Pixels
from engine.system.child_side import be_harmless, own_output
from engine.system.hidden_commands import VERDICT_MARK, memory_is_short
from engine.system.machine import tells_of_no_memory
from engine.translatable import Translatable, packed

_UNKNOWN = re.compile(r"unknown (model architecture|pre-tokenizer type): '([^']{1,80})'")
_LONG_BATCH = 128
_SHORT_BATCH = 34
_MOST_TOKENS = 5_000
_SMALL_MODEL, _ONE_THREAD = 256 * 2**20, 2 * 2**30
_TEXTS = (
    *("Once upon a time", " Hello, world!\n\n\tHow are you?  ", "\n", "\r\n", "\x00", "\u2581"),
    *("äöüß €", "你好世界", "🙂👩\u200d👩\u200d👧", "e\u0301", "\ufffd", "<s></s><unk>[INST]<|im_start|>"),
)
_MARKS = 32
"""Texts of control tokens that are tried, as chats have them."""
_SIDE = 64
"""Pixels of a picture that is tried."""


class _Failed(Exception):
    """Report that the trial showed a broken model; the text is the reason."""


def run(settings: str) -> int:
    """Try the model that `settings` (JSON) names, print the verdict, and give the exit code 0.

    Where it is a path, or empty, the settings follow on the standard input: the file at the path will be the one.
    """
    out = own_output()
    be_harmless()
    weights = None
    if not settings.startswith("{"):
        weights = _read_ahead(settings, out) if settings else None
        settings = _first_line()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        wanted = json.loads(settings)
        config = LoadConfig(
            Path(wanted["path"]),
            wanted["context_length"],
            wanted["threads"],
            wanted["gpu_layers"],
            trusted=True,
            cache_type=wanted["cache_type"],
            projector=wanted["projector"],
        )
        if config.path.stat().st_size < _ONE_THREAD:
            # The other cores load the file, and a second one, in the parent meanwhile.
            config = replace(config, threads=1)
        _say(out, progress=0.0)  # From here on, or from reading ahead, the file may be at fault for how this ends.
        if wanted.get("embeds"):
            _try_embedder(config)
        else:
            _try_model(config, wanted["vocabulary"], weights, out)
        verdict, reason = "good", ""
    except ModelNotSupported as error:
        verdict, reason = "not supported", error.reason
    except LoadFailed as error:
        verdict, reason = _explained(error.reason)
    except _Failed as error:
        verdict, reason = "broken", error.args[0]
    except (EngineError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        verdict, reason = "broken", Translatable("it cannot be run ({reason}).", reason=str(error))
        if tells_of_no_memory(str(error)):
            verdict = "no memory"
    except MemoryError:
        verdict, reason = "no memory", ""
    if verdict == "broken" and memory_is_short():
        verdict = "no memory"
    _say(out, verdict=verdict, reason=packed(reason))
    return 0


def _explained(complaint: str) -> tuple[str, str]:
    """Return the verdict and the reason for a person in llama.cpp's complaint."""
    if tells_of_no_memory(complaint):
        return "no memory", complaint
    unknown = _UNKNOWN.search(complaint)
    if unknown is not None:
        return "not supported", Translatable(
            "this version does not support the {kind} {name!r}. Choose another model.", kind=unknown[1], name=unknown[2]
        )
    complaint = re.sub(r"(\w+: )?error loading model: ", "", complaint)
    return "broken", Translatable("{complaint} Download or convert it again.", complaint=complaint)


def _say(out: BinaryIO, **message: object) -> None:
    with contextlib.suppress(OSError):
        out.write(b"\n" + VERDICT_MARK + json.dumps(message).encode() + b"\n")


def _read_ahead(path: str, out: BinaryIO) -> Any:
    """Return the weights in a file, mapped for the processor; None if they cannot be read, or it is a large one."""
    _say(out, progress=0.0)
    with contextlib.suppress(EngineError, OSError, ValueError):
        if Path(path).stat().st_size < _ONE_THREAD:
            return LlamaCppBackend.read_weights(Path(path))
    return None


def _first_line() -> str:
    """Return the settings, behind which the parent writes nothing."""
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(0, 65536)
        if not more:
            os._exit(1)  # The parent needs no trial.
        line += more
    return line.decode()


def _end_with_parent() -> None:
    """End with the parent: the standard input, whose other end it holds, is closed when the parent ends in any way."""
    with contextlib.suppress(OSError):
        while os.read(0, 1024):
            pass
    os._exit(1)


def _try_model(config: LoadConfig, vocabulary: list[Any] | None, weights: Any, out: BinaryIO) -> None:
    """Take it through the steps. `vocabulary`: its size and special tokens, by the header. `weights`: read ahead."""

    def loading(fraction: float) -> None:
        percent = int(fraction * 100)
        if percent > shown[0]:
            shown[0] = percent
            _say(out, progress=0.7 * fraction)

    def read() -> None:
        _say(out, read=True)

    shown = [-1]
    size, special = vocabulary or (0, ())
    known = Vocabulary("", size, None, None, "", np.zeros(0, np.uint32), special=tuple(special))
    backend = LlamaCppBackend.open(config, progress=loading, packed=False, vocabulary=known, weights=weights, read=read)
    _say(out, loaded=True)
    with contextlib.closing(backend):
        _try_tokenizer(backend)
        _say(out, progress=0.8)
        _try_forward(backend)
        _say(out, computed=True)
        if config.path.stat().st_size < _SMALL_MODEL:
            _try_batch(backend, _LONG_BATCH)
            backend.truncate(0)
        _say(out, progress=0.95)
        _try_reply(backend)
        if backend.sees:
            _try_picture(backend)


def _try_embedder(config: LoadConfig) -> None:
    """Try vectors of texts of every kind, and of the longest one."""
    embedder = LlamaCppEmbedder.open(config)
    with contextlib.closing(embedder):
        for text in _texts():
            with contextlib.suppress(TextNotEncodable):
                _check_vector(embedder, embedder.encode(text)[: embedder.context_length])
        _check_vector(embedder, embedder.encode("a b " * embedder.context_length)[: embedder.context_length])


def _check_vector(embedder: LlamaCppEmbedder, tokens: list[int]) -> None:
    if tokens and not np.all(np.isfinite(embedder.embed(tokens))):
        raise _Failed(Translatable("it computes no usable numbers: its weights are damaged."))


def _try_tokenizer(backend: Backend) -> None:
    """Try tokens' texts, and texts of every kind. What the vocabulary cannot write is no fault.

    llama.cpp makes the texts of all tokens while it loads; asking for each of 150,000 takes half a second.
    """
    most = backend.vocab_size
    for token in {*range(0, most, 1 + most // _MOST_TOKENS), most - 1}:
        backend.tokenizer.piece(token)
    marks = "".join([*backend.tokenizer.added_tokens][:_MARKS])
    for text in (*_texts(), marks):
        for add_special in (True, False):
            with contextlib.suppress(TextNotEncodable):
                backend.tokenizer.encode(text, add_special=add_special, parse_special=not add_special)


def _texts() -> Iterator[str]:
    yield from _TEXTS
    yield from map(chr, range(256))
    yield "".join(map(chr, range(32, 127)))
    yield ""


def _try_forward(backend: Backend) -> None:
    """Try batches of the sizes that a chat uses, and going back: one token, a verified draft, a prompt."""
    _try_batch(backend, 1)
    backend.mark()
    before = backend.length
    _try_batch(backend, 4)
    if backend.rewind.kind != "none":
        backend.truncate(before)
        _try_batch(backend, 3)
    _try_batch(backend, _SHORT_BATCH)
    backend.truncate(0)


def _try_batch(backend: Backend, count: int) -> None:
    if backend.length + count <= backend.context_length:
        _check(backend.forward(_tokens(backend, count), min(count, MAX_LOOKAHEAD + 1)))


def _tokens(backend: Backend, count: int) -> list[int]:
    """Return tokens from all over the vocabulary."""
    return [int(token) for token in np.linspace(0, backend.vocab_size - 1, count, dtype=np.int64)]


def _try_reply(backend: Backend) -> None:
    """Try a reply of a few tokens."""
    token = max(0, min(1, backend.vocab_size - 1))
    for _ in range(min(2, backend.context_length)):
        rows = backend.forward([token], 1)
        _check(rows)
        token = int(np.argmax(rows[0]))


def _try_picture(backend: Backend) -> None:
    """Try the steps of a chat with a picture."""
    pixels = Pixels(_SIDE, _SIDE, np.arange(3 * _SIDE * _SIDE, dtype=np.uint32).astype(np.uint8).tobytes())
    tokens = backend.see(Picture("", lambda: pixels))
    if len(tokens) < backend.context_length:
        backend.truncate(0)
        read_all(backend, tokens, CancelToken())
        _check(backend.forward([0], 1))


def _check(rows: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> None:
    if not np.all(np.isfinite(rows.max(axis=1))):
        raise _Failed(Translatable("it computes no usable numbers: its weights are damaged."))
