"""Test that a file is safe to load: first check its header, then try it in a child process.

llama.cpp ends the process that it runs in when a file breaks its assumptions. So this process takes a file through a
step only once a child has: it imports llama.cpp, loads the file, computes a few tokens, and replies.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Literal

from engine._version import __version__
from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.chat.render import Renderer
from engine.chat.template import render_prompt
from engine.config import LoadConfig
from engine.errors import (
    CardTooSmall,
    ChatTemplateFailed,
    LoadFailed,
    ModelFileBroken,
    ModelNotSupported,
    ModelTooLarge,
    NotAvailable,
    TextNotEncodable,
)
from engine.formats.gguf.parts import split_parts
from engine.formats.model_file import ModelFile
from engine.library.memory_needs import MemoryNeeds, memory_needs, usable_cache_types
from engine.library.scan import known_model
from engine.loading.early import take_child, trial_command
from engine.loading.passed import has_passed, remember_passed, state_of
from engine.messages.message import Message
from engine.system.child import end_child, start_child
from engine.system.hidden_commands import VERDICT_MARK
from engine.system.installation import gpu_library_installed
from engine.system.machine import available_memory, tells_of_no_memory
from engine.system.processor import library_stamp
from engine.translatable import Translatable, as_clause, unpacked

Step = Literal["begun", "read", "loaded", "computed"]
"""A step of the child: it has imported llama.cpp, read the weights, loaded all, computed batches of up to 34 tokens."""
_STEPS: tuple[Step, ...] = ("read", "loaded", "computed")
_LIBRARY = "engine.backends.llama_cpp.library"
_POLL_S = 0.05
_LEAST_LIMIT_S = 120.0
_BYTES_PER_S = 20e6
_SHADERS = 5
"""Times as long: a graphics driver compiles its programs when it first needs them."""
_KEPT_LINES = 40
_TRIAL = 2
"""Counts up when the trial tries more than it did."""
_ROOM_FOR_BOTH = 5
"""Times its memory must be free for a file to be loaded here and in the child, and a draft beside it."""
_TRIED_CONTEXT = 512
"""Tokens of the child's context where memory is no question: nothing that it computes depends on the room behind them,
and clearing the cache of a long one takes longer than many tokens."""
_NO_MEMORY = Translatable(
    "memory ran out while it was tested. Close other programs, or choose a shorter context or a smaller model."
)
_NO_CARD_MEMORY = Translatable(
    "memory ran out while it was tested, perhaps that of the graphics card. Give it fewer layers (GPU layers), or "
    "choose a shorter context or a smaller model."
)
_CHAT = (
    Message("system", "You are helpful."),
    Message("user", "Hello!"),
    Message("assistant", "Hi."),
    Message("user", "Tell me more."),
)
_CRASHED = {-6, -7, -11}
"""Exit codes of an abort, a bus error and a segmentation fault: a graphics driver may be at fault."""
_KILLED = {-9}
"""The system does so where memory ran out; few others do."""
_ILLEGAL = {-4, 0xC000001D}
"""Exit codes at an instruction that the processor lacks: SIGILL, on Windows this status (untested)."""


def check_model_file(
    config: LoadConfig,
    *,
    cancel: CancelToken | None = None,
    progress: Callable[[float], None] | None = None,
    embeds: bool = False,
) -> None:
    """Wait until a model file may be loaded in this process with these settings, and compute. As `checked_file`."""
    with checked_file(config, cancel=cancel, progress=progress, embeds=embeds):
        pass


@dataclass(frozen=True, slots=True)
class Checked:
    """Hold a file that may be loaded here once a child has loaded it: its header, and the steps of the child.

    `tried`: it is being tried now.
    """

    model: ModelFile
    tried: bool = False
    _steps: Iterator[Step | None] = field(default_factory=lambda: iter(()))

    def wait(self, step: Step, cancel: CancelToken | None = None) -> None:
        """Wait until the child has taken the file through a step. Raises as `checked_file`.

        `cancel`: a further one, of a thread that nobody waits for any more.
        """
        for taken in self._steps:
            if taken == step:
                return
            _check_cancel(cancel)


@contextmanager
def checked_file(
    config: LoadConfig,
    *,
    cancel: CancelToken | None = None,
    progress: Callable[[float], None] | None = None,
    embeds: bool = False,
) -> Iterator[Checked]:
    """Yield a model file whose steps can be waited for; return when the child has found it good.

    Reads the header, compares the memory that it needs with what is free, and tries the file in a child process
    unless `config.trusted` or it passed before. What the child has done may be done here while the child goes on,
    where memory has room for both; else it is found good before it is yielded. `embeds`: it is to make vectors of
    texts. `progress` receives a fraction 0..1.
    Raises ModelFileBroken, ModelNotSupported, ModelTooLarge, LoadFailed, NotAvailable (llama.cpp itself), Cancelled.
    """
    model = check_model_header(config.path, embeds=embeds)
    _check_cache_type(config, model)
    if config.trusted:
        yield Checked(model)
        return
    _check_cancel(cancel)
    free, needed = available_memory(), needs_of(model, config).in_memory
    if not config.despite_memory:
        if needed > free:
            raise ModelTooLarge(config.path, needed, free)
        _check_card(config, model)
    key = passed_key(config, model) + ("-embeds" if embeds else "")
    if has_passed(key):
        yield Checked(model)
        return
    both = free > _ROOM_FOR_BOTH * needed and not _uses_card(config)
    settings = _settings(config, model, embeds=embeds)
    if both and not embeds and config.projector is None:
        settings["context_length"] = min(_TRIED_CONTEXT, config.context_length or _TRIED_CONTEXT)
    with closing(_try_in_child(config, model, cancel, progress, settings)) as trial:
        if not both:
            deque(trial, maxlen=0)
        yield Checked(model, True, trial)
        deque(trial, maxlen=0)
    with suppress(OSError):
        remember_passed(key, state_of(model.path))


def needs_of(model: ModelFile, config: LoadConfig) -> MemoryNeeds:
    """Return the memory needs of a model with these settings."""
    return memory_needs(
        model,
        context_length=config.context_length,
        cache_type=config.cache_type,
        gpu_layers=0 if config.device == "cpu" else config.gpu_layers,
    )


def _check_card(config: LoadConfig, model: ModelFile) -> None:
    """Raise CardTooSmall if a graphics card of known free memory has too little for its part."""
    needed = needs_of(model, config).on_card
    if not needed:
        return
    try:
        free = importlib.import_module(_LIBRARY).free_card_memory()
    except (RuntimeError, OSError):  # The load itself will say what of the library is missing.
        return
    if free is not None and needed > free:
        raise CardTooSmall(config.path, needed, free)


def _check_cache_type(config: LoadConfig, model: ModelFile) -> None:
    """Raise ModelNotSupported if the cache cannot be of the type that is asked for."""
    usable = usable_cache_types(model)
    if config.cache_type is not None and usable and config.cache_type not in usable:
        raise ModelNotSupported(
            config.path,
            "its cache cannot be {cache_type}: {count} of its numbers lie together, not a multiple of 32. Choose "
            "the cache type f16.",
            cache_type=config.cache_type,
            count=model.row_elements,
        )


def check_model_header(path: Path, *, embeds: bool = False) -> ModelFile:
    """Read the header of a model file. Raises ModelFileBroken, ModelNotSupported."""
    model = known_model(path)
    if not model.usable and not (embeds and model.role == "embedding"):
        raise ModelNotSupported(path, as_clause(model.problem or Translatable("it is not a model.")))
    return model


def _try_in_child(
    config: LoadConfig,
    model: ModelFile,
    cancel: CancelToken | None,
    progress: Callable[[float], None] | None,
    settings: dict[str, Any],
) -> Generator[Step | None]:
    """Try the file; yield the steps that the child has taken, None from time to time, and end when it is found good."""
    limit = monotonic() + (_LEAST_LIMIT_S + model.size_bytes / _BYTES_PER_S) * (_SHADERS if _uses_card(config) else 1)
    noise, begun = _Noise(), False
    with _child(config, settings) as (process, lines):
        while True:
            _check_cancel(cancel)
            if monotonic() > limit:
                raise ModelFileBroken(config.path, Translatable("llama.cpp took too long to load it."))
            try:
                line = lines.get(timeout=_POLL_S)
            except Empty:
                yield None
                continue
            if line is None:
                break
            said = _message(line)
            if said is None:
                noise.add(line.decode("utf-8", "replace").strip())
                continue
            if not begun:
                begun = True
                yield "begun"
            if "verdict" in said:
                _obey(config, said)
                return
            yield from (step for step in _STEPS if step in said)
            if progress is not None and "progress" in said:
                progress(float(said["progress"]))
        raise _death(config, process.wait(), noise, begun=begun)


def check_template(backend: Backend, path: Path, cancel: CancelToken | None = None) -> None:
    """Try the chat template in its own child: it may refuse this conversation, but must come to an end.

    Raises ModelFileBroken, Cancelled.
    """
    renderer = Renderer(cancel)
    for messages in (_CHAT, _CHAT[1:2]):
        with suppress(ChatTemplateFailed, TextNotEncodable):
            render_prompt(messages, backend.tokenizer, renderer)
        if renderer.timed_out:
            raise ModelFileBroken(path, Translatable("its chat template does not terminate."))


class _Noise:
    """Collect the output of the child and its libraries: the last lines, and the signs of failure in any line.

    Attributes: lines; no_memory, traceback: whether a line said that memory ran out, or was the first of a traceback.
    """

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self.no_memory = self.traceback = False

    def add(self, line: str) -> None:
        """Take the next line."""
        self.lines.append(line)
        self.no_memory |= tells_of_no_memory(line)
        self.traceback |= line.startswith("Traceback")

    def last(self) -> str:
        """Return the last line that says something."""
        return next((line for line in reversed(self.lines) if line), "")


def _message(line: bytes) -> dict[str, Any] | None:
    """Return the message in a line of the child, or None if the line is not one of ours."""
    if not line.startswith(VERDICT_MARK):
        return None
    try:
        said = json.loads(line[len(VERDICT_MARK) :])
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def _obey(config: LoadConfig, said: dict[str, Any]) -> None:
    """Raise the error that the child's verdict names."""
    path, verdict, reason = config.path, said["verdict"], _reason(said.get("reason", ""))
    if verdict == "good":
        return
    if verdict == "not supported":
        raise ModelNotSupported(path, reason)
    if verdict == "broken":
        raise ModelFileBroken(path, reason)
    raise LoadFailed(path, _memory_ran_out(config) if verdict == "no memory" else reason)


def _uses_card(config: LoadConfig) -> bool:
    return config.gpu_layers != 0 and gpu_library_installed()


def _memory_ran_out(config: LoadConfig) -> Translatable:
    return _NO_CARD_MEMORY if _uses_card(config) else _NO_MEMORY


def _reason(said: object) -> str:
    try:
        return unpacked(said)
    except (KeyError, ValueError, TypeError, IndexError):
        return str(said)


def library_missing(complaint: str) -> NotAvailable:
    """Return the error for llama.cpp's library that cannot be loaded; `complaint` is the loader's reason."""
    return NotAvailable(
        Translatable("Running GGUF models"),
        "llama.cpp cannot be loaded ({reason}). A build for graphics cards needs the card's driver; install "
        "that, or Outrider again.",
        reason=" ".join(complaint.rsplit("': ", maxsplit=1)[-1].split()),
    )


def _death(config: LoadConfig, code: int, noise: _Noise, *, begun: bool) -> LoadFailed | NotAvailable:
    """Return the error for a child that ended without a verdict: the file is one of several that may be at fault.

    `begun`: the child had begun with the file.
    """
    path = config.path
    if code in _KILLED or noise.no_memory:
        return LoadFailed(path, _memory_ran_out(config))
    if code in _ILLEGAL:
        return LoadFailed(
            path,
            Translatable(
                "this build of llama.cpp uses instructions that this processor lacks. Install Outrider again on this "
                "computer (from its sources: make setup)."
            ),
        )
    if noise.traceback and not begun and "hared library" in noise.last():  # In the words of llama-cpp-python.
        return library_missing(noise.last())
    if noise.traceback or not begun:
        last = noise.last()[:200] if noise.traceback else f"it ended with {code}"
        return LoadFailed(path, "the process that tests it failed ({noise}).", noise=last)
    words = ("GGML_ASSERT", "GGML_ABORT", "what():")
    complaints = [line for line in noise.lines if any(word in line for word in words)]
    if code in _CRASHED and not complaints and _uses_card(config):
        return LoadFailed(
            path,
            "the process that tests it crashed (signal {signal}), perhaps in the graphics driver. Update the "
            "driver, or compute on the processor (GPU layers: 0).",
            signal=-code,
        )
    detail = complaints[-1][:200] if complaints else f"it ended with {code}"
    return ModelFileBroken(
        path, "llama.cpp cannot run this file ({detail}). Download or convert the model again.", detail=detail
    )


@contextmanager
def _child(
    config: LoadConfig, settings: dict[str, Any]
) -> Iterator[tuple[subprocess.Popen[bytes], SimpleQueue[bytes | None]]]:
    """Let a child try what `settings` name; yield it and its lines, None after the last.

    It is gone when the block is left.
    """
    lines: SimpleQueue[bytes | None] = SimpleQueue()
    try:
        process = take_child(config.path) or start_child(_command(), errors=subprocess.STDOUT)
    except OSError as error:
        reason = Translatable("the process that tests it cannot be started ({reason}).", reason=error.strerror or error)
        raise LoadFailed(config.path, reason) from None
    reader = threading.Thread(target=_talk, args=(process, settings, lines), name="outrider-probe")
    reader.start()
    try:
        yield process, lines
    finally:
        process.kill()
        reader.join()
        end_child(process)


def _talk(process: subprocess.Popen[bytes], settings: dict[str, Any], lines: SimpleQueue[bytes | None]) -> None:
    if process.stdin is not None:
        with suppress(OSError):  # It may have ended: its output says why.
            process.stdin.write(json.dumps(settings).encode() + b"\n")
            process.stdin.flush()
    pipe = process.stdout
    while pipe is not None and (line := pipe.readline(65536)):
        lines.put(line)
    lines.put(None)


def _command() -> list[str]:
    return trial_command()


def _settings(config: LoadConfig, model: ModelFile, *, embeds: bool = False) -> dict[str, Any]:
    words = model.vocabulary
    return {
        "path": os.fspath(Path(config.path).absolute()),
        "context_length": config.context_length,
        "threads": config.threads,
        "gpu_layers": config.gpu_layers,
        "cache_type": config.cache_type,
        "projector": None if config.projector is None else os.fspath(Path(config.projector).absolute()),
        "embeds": embeds,
        "vocabulary": None if words is None else [words.size, words.special],
    }


def _check_cancel(cancel: CancelToken | None) -> None:
    if cancel is not None:
        cancel.check("Loading the model")


def passed_key(config: LoadConfig, model: ModelFile) -> str:
    """Return the key of a file in its present state, with the relevant settings and the library that will run it."""
    stats = []
    projectors = [] if config.projector is None else [Path(config.projector)]
    for part in (*split_parts(model.path), *projectors):
        status = part.stat()
        stats.append((status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev))
    vocabulary = None if model.vocabulary is None else model.vocabulary.digest
    facts = (
        _TRIAL,
        __version__,
        library_stamp(),
        os.fspath(model.path.absolute()),
        stats,
        vocabulary,
        config.context_length,
        config.gpu_layers,
        config.cache_type,
    )
    return hashlib.blake2b(repr(facts).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
