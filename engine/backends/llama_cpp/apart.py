"""Run a GGUF model on other machines in a child process, whose end is an error and not the end of this program.

The child has the model and its cache; this side has the tokenizer, and reads the logits from memory that both map.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

import llama_cpp

from engine.backends.base import Backend, Logits, Rewind
from engine.backends.llama_cpp.apart_child import mapped_rows
from engine.backends.llama_cpp.library import library_rows, prepare_library
from engine.backends.llama_cpp.machines import check_machines_usable
from engine.backends.llama_cpp.tokenizer import LlamaCppTokenizer
from engine.backends.llama_cpp.weights import load_vocabulary
from engine.cancel import CancelToken
from engine.config import MAX_LOOKAHEAD, LoadConfig
from engine.errors import BackendFailure, Cancelled, ContextFull, LoadFailed, RewindNotSupported, TokenOutOfRange
from engine.system.child import child_command, end_child, start_child
from engine.system.child_side import read_message, write_message
from engine.system.hidden_commands import APART
from engine.translatable import Translatable, unpacked

_POLL_S = 0.02
_ANSWER_S = 5.0
"""The seconds within which a machine must accept a connection."""
_GREETING_S = 30.0
"""The seconds within which it must greet. An rpc-server computes for one at a time and lets the others wait."""
_GIVE_UP_S = 5.0
"""The seconds from a request to cancel to the child's end: a machine that does not answer would hold it for ever."""
_PIECE = 256
"""Tokens of a prompt per piece, between which it can be cancelled: other machines cannot be interrupted."""
_MEMORY = Path("/dev/shm")  # noqa: S108 - mkstemp makes the file, for this user alone


class ApartBackend(Backend):
    """Run a GGUF model on other machines (see engine.backends.base.Backend). Made by `open`, which `config` says."""

    def __init__(self, config: LoadConfig, child: Child, facts: dict[str, Any], model: Any) -> None:
        self.config, self._child, self._model = config, child, model
        self.rows = library_rows()
        self.name, self.device = config.path.stem, "+".join(config.rpc)
        self.tokenizer = self._tokenizer = LlamaCppTokenizer(model)
        self.vocab_size = self._tokenizer.vocab_size
        self.eos_token_ids = self._tokenizer.eos_token_ids
        self.context_length, self.threads = int(facts["context_length"]), int(facts["threads"])
        kind, depth = facts["rewind"]
        self.rewind = Rewind(kind, depth)
        self.notes = tuple(facts["notes"])
        self.parameters, self.weight_bytes = int(facts["parameters"]), int(facts["weight_bytes"])
        self._tokens: list[int] = []
        self._cancel: CancelToken | None = None
        self._lost = False
        self._lock = threading.RLock()
        self._free = weakref.finalize(self, _free, child, model)
        self._shared = self._share()

    @classmethod
    def open(
        cls, config: LoadConfig, *, progress: Callable[[float], None] | None = None, cancel: CancelToken | None = None
    ) -> ApartBackend:
        """Load a model. `progress` receives a fraction 0..1. Raises LoadFailed, NotAvailable, Cancelled."""
        check_machines_usable()
        for address in config.rpc:
            _check_reachable(config.path, address, cancel)
        child = Child(config)
        try:
            facts = child.wait_until_loaded(progress, cancel)
            # The child has read the file before: what is wrong with it would have ended that.
            model = load_vocabulary(config, prepare_library())
        except BaseException:
            child.end()
            raise
        backend = cls(config, child, facts, model)
        backend._tokenizer.use_template(config.chat_template)
        return backend

    def _share(self) -> Logits:
        """Return the memory for rows of logits, which the child maps too."""
        size = 4 * (MAX_LOOKAHEAD + 1) * self.vocab_size
        folder = _MEMORY if os.access(_MEMORY, os.W_OK) else None
        handle, path = tempfile.mkstemp(prefix="outrider-rows-", dir=folder)
        try:
            os.truncate(handle, size)
            rows = mapped_rows(path, self.vocab_size)
            self._ask("map", path=path)
        except OSError as error:
            reason = Translatable("there is no room for its logits ({reason}).", reason=error.strerror or error)
            raise LoadFailed(self.config.path, reason) from None
        finally:
            os.close(handle)
            with suppress(OSError):  # Windows keeps it as long as it is mapped.
                Path(path).unlink()
        return rows

    @property
    def length(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> Sequence[int]:
        return self._tokens

    def watch(self, cancel: CancelToken | None) -> None:
        self._cancel = cancel

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        with self._lock:
            self._check(tokens, n_outputs)
            first = held = len(self._tokens)
            end = held + len(tokens)
            tail = end - max(min(_PIECE, len(tokens)), n_outputs)
            try:
                while first < tail:
                    count = min(_PIECE, tail - first)
                    self._feed(tokens[first - held : first - held + count], 0)
                    first += count
                self._feed(tokens[first - held :], n_outputs)
            except Cancelled:
                if not self.closed and len(self._tokens) > held:
                    self.truncate(held if self.rewind.kind == "any" else 0)
                raise
            return self._shared[:n_outputs]

    def _feed(self, tokens: Sequence[int], n_outputs: int) -> None:
        if self._cancel is not None and self._cancel.cancelled:
            raise Cancelled
        self._ask("forward", tokens=list(map(int, tokens)), outputs=n_outputs)
        self._tokens.extend(tokens)

    def _check(self, tokens: Sequence[int], n_outputs: int) -> None:
        self.check_open()
        count = len(tokens)
        if not count or not 0 <= n_outputs <= min(count, MAX_LOOKAHEAD + 1):
            raise BackendFailure(
                "{n_outputs} rows of logits were requested for {count} tokens",
                self.length,
                n_outputs=n_outputs,
                count=count,
            )
        wrong = next((token for token in tokens if not 0 <= token < self.vocab_size), None)
        if wrong is not None:
            raise TokenOutOfRange(wrong, self.vocab_size)
        if self.length + count > self.context_length:
            raise ContextFull(self.length + count, self.context_length)

    def truncate(self, length: int) -> None:
        with self._lock:
            self.check_open()
            if not 0 <= length <= self.length or (0 < length < self.length and self.rewind.kind == "none"):
                raise RewindNotSupported(length, self.length)
            if length == self.length:
                return
            self._ask("truncate", length=length)
            del self._tokens[length:]

    def mark(self) -> None:
        if self.rewind.kind == "snapshots":
            with self._lock:
                self._ask("mark")

    def _ask(self, do: str, **what: Any) -> None:
        """Send the child a command, and wait for its answer. Raises BackendFailure, Cancelled."""
        self.check_open()
        answer = self._child.ask({"do": do, **what}, self._cancel)
        if answer is None:
            self._lost = True
            self.close()
            self.check_open()
            return
        del self._tokens[answer["length"] :]
        if answer.get("cancelled"):
            raise Cancelled
        if answer.get("cannot_rewind"):
            raise RewindNotSupported(int(what["length"]), self.length)
        if "failed" in answer:
            reason = unpacked(answer["failed"])
            raise BackendFailure("its process failed ({reason})", self.length, reason=reason)

    def check_open(self) -> None:
        if self._lost:
            machines = ", ".join(self.config.rpc)
            raise BackendFailure(
                "the connection to {machines} was lost. See that rpc-server runs there and load the model again, "
                "or choose another one",
                machines=machines,
            )
        super().check_open()

    def close(self) -> None:
        with self._lock:
            self.closed = True
            self._tokenizer.close(self.check_open)
            self._free()


class Child:
    """Start, ask and end the process that has the model."""

    def __init__(self, config: LoadConfig) -> None:
        """Start it. Raises LoadFailed."""
        self._config, self._late = config, False
        wanted = {
            "path": os.fspath(Path(config.path).absolute()),
            "context_length": config.context_length,
            "threads": config.threads,
            "gpu_layers": config.gpu_layers,
            "cache_type": config.cache_type,
            "rpc": config.rpc,
        }
        try:
            self._process = start_child(child_command(APART, json.dumps(wanted)))
        except OSError as error:
            reason = Translatable("no process can be started for it ({reason}).", reason=error.strerror or error)
            raise LoadFailed(config.path, reason) from None
        self._answers: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._reader = threading.Thread(
            target=_read_answers, args=(self._process, self._answers), name="outrider-apart", daemon=True
        )
        self._reader.start()

    def wait_until_loaded(self, progress: Callable[[float], None] | None, cancel: CancelToken | None) -> dict[str, Any]:
        """Read the child's description of the model. Raises LoadFailed, Cancelled."""
        greeted = False
        while True:
            answer = self._next(cancel, grace=0.0, limit=None if greeted else _GREETING_S)
            if cancel is not None and cancel.cancelled:
                raise Cancelled(Translatable("Loading the model"))
            if answer is None:
                raise LoadFailed(self._config.path, self._why_lost())
            greeted = True
            if "failed" in answer:
                raise LoadFailed(self._config.path, unpacked(answer["failed"]))
            if "ready" in answer:
                return dict(answer["ready"])
            if progress is not None:
                progress(float(answer["progress"]))

    def _why_lost(self) -> str:
        machines = ", ".join(self._config.rpc)
        if self._late:
            return Translatable(
                "{machines} takes connections and does not answer. It may be computing for another program, or is no "
                "rpc-server.",
                machines=machines,
            )
        return Translatable(
            "the connection to {machines} was lost, or the memory there does not suffice. See that rpc-server of this "
            "version runs there.",
            machines=machines,
        )

    def ask(self, message: dict[str, Any], cancel: CancelToken | None) -> dict[str, Any] | None:
        """Return the answer to a message; None if the child has ended."""
        try:
            self._send(message)
        except OSError:
            return None
        answer = self._next(cancel)
        if answer is not None and answer.get("told_to_cancel"):
            # A cancellation that came too late would cancel the next call.
            try:
                self._send({"do": "begin"})
            except OSError:
                return None
            if self._next(None) is None:
                return None
        return answer

    def _next(
        self, cancel: CancelToken | None, *, grace: float = _GIVE_UP_S, limit: float | None = None
    ) -> dict[str, Any] | None:
        """Return the next answer; None if the child has ended, or was ended since it was too late.

        `grace`: seconds after a request to cancel; `limit`: seconds in all.
        """
        began, cancelled = monotonic(), False
        while True:
            try:
                answer = self._answers.get(timeout=_POLL_S)
            except Empty:
                self._late = limit is not None and monotonic() - began > limit
                if cancel is not None and cancel.cancelled and not cancelled:
                    cancelled, began, limit = True, monotonic(), grace
                    with suppress(OSError):
                        self._send({"do": "cancel"})
                elif self._late:
                    self._process.kill()
                continue
            return answer if answer is None or not cancelled else answer | {"told_to_cancel": True}

    def _send(self, message: dict[str, Any]) -> None:
        pipe: Any = self._process.stdin
        write_message(pipe, json.dumps(message).encode())

    def end(self) -> None:
        """End the process at once."""
        self._process.kill()
        if threading.current_thread() is not self._reader:
            self._reader.join()
        end_child(self._process)


def _read_answers(process: subprocess.Popen[bytes], answers: SimpleQueue[dict[str, Any] | None]) -> None:
    pipe: Any = process.stdout
    with suppress(OSError, ValueError):
        while (data := read_message(pipe, 2**20)) is not None:
            answers.put(json.loads(data))
    answers.put(None)


def _check_reachable(path: Path, address: str, cancel: CancelToken | None) -> None:
    """Wait until something answers at an address. Raises LoadFailed, Cancelled."""
    if cancel is not None:
        cancel.check("Loading the model")
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), _ANSWER_S).close()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise LoadFailed(
            path,
            "{address} does not answer ({reason}). Start rpc-server there, or see whether the address is right.",
            address=address,
            reason=reason,
        ) from None


def _free(child: Child, model: Any) -> None:
    child.end()
    llama_cpp.llama_model_free(model)
