"""Test that a file is safe to load: first check its header, then try it in a child process.

llama.cpp ends the process that it runs in when a file breaks its assumptions.

A file that passed is remembered on disk, so the trial costs time once; a file of these that is missing, damaged or
unwritable costs one more.
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
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from engine._version import __version__
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import CardTooSmall, LoadFailed, ModelFileBroken, ModelNotSupported, ModelTooLarge, NotAvailable
from engine.formats.gguf.parts import split_parts
from engine.formats.model_file import ModelFile
from engine.library.memory_needs import MemoryNeeds, memory_needs, usable_cache_types
from engine.library.scan import known_model
from engine.system.cache_files import cache_folder, write_file
from engine.system.child import child_command, start_child
from engine.system.hidden_commands import TRIAL, VERDICT_MARK
from engine.system.installation import gpu_library_installed
from engine.system.machine import available_memory, tells_of_no_memory
from engine.system.processor import library_stamp
from engine.translatable import Translatable, as_clause, unpacked

_LIBRARY = "engine.backends.llama_cpp.library"
_POLL_S = 0.05
_LEAST_LIMIT_S = 120.0
_BYTES_PER_S = 20e6
_SHADERS = 5
"""Times as long: a graphics driver compiles its programs when it first needs them."""
_KEPT_LINES = 40
_TRIAL = 2
"""Counts up when the trial tries more than it did."""
_REMEMBERED = 512
_ROOM_FOR_BOTH = 5
"""Times its memory must be free for a file to be loaded here and in the child, and a draft beside it."""
_NO_MEMORY = Translatable(
    "memory ran out while it was tested. Close other programs, or choose a shorter context or a smaller model."
)
_NO_CARD_MEMORY = Translatable(
    "memory ran out while it was tested, perhaps that of the graphics card. Give it fewer layers (GPU layers), or "
    "choose a shorter context or a smaller model."
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


@contextmanager
def checked_file(
    config: LoadConfig,
    *,
    cancel: CancelToken | None = None,
    progress: Callable[[float], None] | None = None,
    embeds: bool = False,
) -> Iterator[ModelFile]:
    """Yield the checked header when a model file may be loaded in this process; return when it may compute too.

    Reads the header, compares the memory that it needs with what is free, and tries the file in a child process
    unless `config.trusted` or it passed before. What the child has loaded may be loaded here while the child computes,
    where memory has room for both. `embeds`: it is to make vectors of texts. `progress` receives a fraction 0..1.
    Raises ModelFileBroken, ModelNotSupported, ModelTooLarge, LoadFailed, NotAvailable (llama.cpp itself), Cancelled.
    """
    model = check_model_header(config.path, embeds=embeds)
    _check_cache_type(config, model)
    if config.trusted:
        yield model
        return
    _check_cancel(cancel)
    free, needed = available_memory(), needs_of(model, config).in_memory
    if not config.despite_memory:
        if needed > free:
            raise ModelTooLarge(config.path, needed, free)
        _check_card(config, model)
    key = passed_key(config, model) + ("-embeds" if embeds else "")
    if has_passed(key):
        yield model
        return
    command = _command(config) if not embeds else _embedder_command(config)
    with closing(_try_in_child(config, model.size_bytes, cancel, progress, command)) as trial:
        if free > _ROOM_FOR_BOTH * needed and not _uses_card(config):
            next(trial, None)
        else:
            deque(trial, maxlen=0)
        yield model
        deque(trial, maxlen=0)
    remember_passed(key)


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
    size: int,
    cancel: CancelToken | None,
    progress: Callable[[float], None] | None,
    command: list[str],
) -> Generator[None]:
    """Try the file; yield when the child has loaded it, and end when it is found good."""
    limit = monotonic() + (_LEAST_LIMIT_S + size / _BYTES_PER_S) * (_SHADERS if _uses_card(config) else 1)
    noise, begun = _Noise(), False
    with _child(config, command) as (process, lines):
        while True:
            _check_cancel(cancel)
            if monotonic() > limit:
                raise ModelFileBroken(config.path, Translatable("llama.cpp took too long to load it."))
            try:
                line = lines.get(timeout=_POLL_S)
            except Empty:
                continue
            if line is None:
                break
            said = _message(line)
            if said is None:
                noise.add(line.decode("utf-8", "replace").strip())
                continue
            begun = True
            if "verdict" in said:
                _obey(config, said)
                return
            if "loaded" in said:
                yield
            elif progress is not None:
                progress(float(said.get("progress", 0.0)))
        raise _death(config, process.wait(), noise, begun=begun)


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
    config: LoadConfig, command: list[str]
) -> Iterator[tuple[subprocess.Popen[bytes], SimpleQueue[bytes | None]]]:
    """Run the child; yield it and its lines, None after the last. It is gone when the block is left."""
    lines: SimpleQueue[bytes | None] = SimpleQueue()
    try:
        process = start_child(command, errors=subprocess.STDOUT)
    except OSError as error:
        reason = Translatable("the process that tests it cannot be started ({reason}).", reason=error.strerror or error)
        raise LoadFailed(config.path, reason) from None
    reader = threading.Thread(target=_read_lines, args=(process, lines), name="outrider-probe")
    reader.start()
    try:
        yield process, lines
    finally:
        process.kill()
        process.wait()
        reader.join()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _read_lines(process: subprocess.Popen[bytes], lines: SimpleQueue[bytes | None]) -> None:
    pipe = process.stdout
    while pipe is not None and (line := pipe.readline(65536)):
        lines.put(line)
    lines.put(None)


def _command(config: LoadConfig) -> list[str]:
    return child_command(TRIAL, json.dumps(_settings(config)))


def _embedder_command(config: LoadConfig) -> list[str]:
    return child_command(TRIAL, json.dumps(_settings(config) | {"embeds": True}))


def _settings(config: LoadConfig) -> dict[str, Any]:
    return {
        "path": os.fspath(Path(config.path).absolute()),
        "context_length": config.context_length,
        "threads": config.threads,
        "gpu_layers": config.gpu_layers,
        "cache_type": config.cache_type,
        "projector": None if config.projector is None else os.fspath(Path(config.projector).absolute()),
    }


def _check_cancel(cancel: CancelToken | None) -> None:
    if cancel is not None:
        cancel.check("Loading the model")


# Files that passed ----------------------------------------------------------------------------------------------------


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


def has_passed(key: str) -> bool:
    """Return True if the trial of this key has passed."""
    return key in _passed()


def remember_passed(key: str) -> None:
    """Remember that it passed, forgetting the oldest beyond a few hundred. Does nothing if it cannot write."""
    keys = [*[known for known in _passed() if known != key], key][-_REMEMBERED:]
    with suppress(OSError):
        write_file(_passed_path(), json.dumps({"passed": keys}).encode())


def _passed() -> list[str]:
    try:
        loaded = json.loads(_passed_path().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    passed = loaded.get("passed") if isinstance(loaded, dict) else None
    return [key for key in passed if isinstance(key, str)] if isinstance(passed, list) else []


def _passed_path() -> Path:
    return cache_folder() / "passed.json"
