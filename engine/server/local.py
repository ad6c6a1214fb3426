"""Serve a program's own decoder to others, beside the program's use of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from engine.cancel import CancelToken
from engine.config import SamplingConfig, SpeculationConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest, ModelNotLoaded
from engine.server.app import make_app
from engine.server.engine_thread import EngineThread
from engine.server.guard import Limits
from engine.server.interfaces.requests import Defaults
from engine.server.listen import Listener
from engine.server.metrics import ServerFigures, ServerLine
from engine.server.registry import ModelRegistry, NoSuchModel
from engine.system.ports import is_loopback
from engine.translatable import Translatable

T = TypeVar("T")
Hand = Callable[[Callable[[], None]], None]
"""Hands work to the thread that has the decoder; it is done there in its turn."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Hold the address to listen on, and the key that each request must have ('' none).

    `hosts`: further names by which the server may be called. Raises InvalidRequest.
    """

    host: str = "127.0.0.1"
    port: int = 8642
    key: str = ""
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.key.isprintable():
            raise InvalidRequest(Translatable("A key is one line of letters, digits and signs. Choose another one."))
        if not is_loopback(self.host) and not self.key.strip():
            raise InvalidRequest(Translatable("Other computers could use this address: set a key."))
        if not 0 <= self.port <= 65535:
            raise InvalidRequest(Translatable("The port must be a whole number from 0 to 65535."))


class LocalServer:
    """Serve a decoder of the caller's. It listens from the beginning. Attributes: url, address.

    `decoder` returns it, None as long as there is none; without a target, requests get an error. `hand`: brings
    work to the thread that uses the decoder. Raises InvalidRequest if the address cannot be used.

    >>> from engine import LocalServer, ServerAddress, bundled_pair, load
    >>> with load(*bundled_pair()) as decoder:
    ...     server = LocalServer(ServerAddress(port=0), lambda: decoder, lambda work: work())
    ...     url = server.url
    ...     server.stop(10)
    True
    """

    def __init__(self, address: ServerAddress, decoder: Callable[[], SpeculativeDecoder | None], hand: Hand) -> None:
        self.address = address
        self._engine = EngineThread(_Own(decoder), runner=_Handed(hand))
        limits = Limits(address.key.strip() or None, address.hosts, note=self._engine.metrics.note)
        defaults = Defaults(SamplingConfig(), SpeculationConfig())
        self._listener = Listener(make_app(self._engine, defaults, limits), address.host, address.port)
        self.url = f"{self._listener.url}/v1"
        self._thread = threading.Thread(target=self._run, name="outrider-server", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with self._listener:
            self._listener.run()
        self._engine.close()

    def figures(self) -> ServerFigures:
        """Return the counters so far. From any thread."""
        queue = self._engine.queue
        return self._engine.metrics.figures(queue.running, queue.waiting)

    def lines(self) -> tuple[ServerLine, ...]:
        """Return the last requests, the oldest first. From any thread."""
        return self._engine.metrics.lines()

    def stop(self, timeout: float | None = 0.0) -> bool:
        """Listen no more; replies are cancelled. False: it has not ended in time (seconds; None: no limit)."""
        self._listener.stop()
        self._engine.cancel()
        self._thread.join(timeout)
        return not self._thread.is_alive()


class _Handed:
    """Run work where the caller has it done."""

    def __init__(self, hand: Hand) -> None:
        self._hand = hand

    def submit(self, work: Callable[[], T], /) -> Future[T]:
        future: Future[T] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # noqa: BLE001 - it is passed to the waiting caller
                    future.set_exception(error)

        self._hand(run)
        return future


class _Own(ModelRegistry):
    """Offer the target that a decoder of somebody else's has now."""

    def __init__(self, decoder: Callable[[], SpeculativeDecoder | None]) -> None:
        super().__init__()
        self._current = decoder

    @property
    def names(self) -> tuple[str, ...]:
        return (self.loaded,) if self.loaded else ()

    @property
    def loaded(self) -> str:
        decoder = self._current()
        target = None if decoder is None else decoder.target
        return "" if target is None else target.name

    def find(self, name: str, *, embeds: bool = False) -> str:
        there = self.loaded
        if not there:
            raise ModelNotLoaded("target")
        if embeds:
            raise InvalidRequest(f"The model {there!r} makes no embeddings.")
        return there

    def describe(self, name: str) -> dict[str, Any]:
        decoder, there = self._current(), self.find(name)
        if name != there:
            raise NoSuchModel(name, (there,))
        length = decoder.target.context_length if decoder is not None and decoder.target is not None else 0
        facts = {"id": there, "object": "model", "created": 0, "owned_by": "outrider"}
        return {**facts, "context_length": length, "loaded": True}

    def ready(self, name: str, cancel: CancelToken) -> SpeculativeDecoder:
        if name != self.find(name):  # Another one was loaded while the request waited.
            raise NoSuchModel(name, self.names)
        decoder = self._current()
        if decoder is None:
            raise ModelNotLoaded("target")
        return decoder

    def if_loaded(self, name: str) -> SpeculativeDecoder | None:
        return self._current() if self.loaded == name else None
