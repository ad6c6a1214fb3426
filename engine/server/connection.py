"""Hold one connection of a client, and end it if the client sends nothing, or reads nothing.

Silent connections make room for others: nobody shuts the server for all by opening many.
"""

from __future__ import annotations

import asyncio
import importlib
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from engine.server.interfaces.form import as_json, error_body

_MOST = 512
_PROBE_S, _PROBES = 30, 4
"""The seconds of silence after which the system probes the other side, and the number of probes."""
_FULL = as_json(error_body("The server has too many connections. Try again later.", "server_error"))


def _most() -> int:
    """Return the most connections: half of the files that this process may open, where that is less."""
    try:
        resource = importlib.import_module("resource")
    except ImportError:  # Windows has no such limit.
        return _MOST
    files = int(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    return _MOST if files < 0 else max(1, min(_MOST, files // 2))


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Hold the limits of connections: their number at once, and the seconds that each may take.

    `head`: until the head of a request is whole; `taken`: until a client takes something of what waits for it.
    """

    most: int = field(default_factory=_most)
    head: float = 10.0
    taken: float = 60.0


class ClientConnection(H11Protocol):
    """Read requests of one client. Attribute: silent_since (when it last had no whole request; None: it has one)."""

    limits = ConnectionLimits()

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.silent_since: float | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _watch(transport.get_extra_info("socket"))
        self.silent_since = monotonic()
        if len(self.connections) > self.limits.most and not self._make_room():
            self._refuse()
        else:
            self._note_silence()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._note_silence()

    def on_response_complete(self) -> None:
        unread = self.conn.their_state is h11.SEND_BODY
        super().on_response_complete()
        if unread:  # It was answered before its body came, which nobody waits for.
            self.transport.close()
        if self.transport.is_closing():  # That waits until the answer is taken.
            self._wait_for_taking()
        self._note_silence()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_taking()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop("taken")

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._wait_for_taking()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for name in list(self._timers):
            self._stop(name)

    def _note_silence(self) -> None:
        """Time a client's silence before its request is complete: the head must be whole in time, however it drips."""
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self.silent_since = None
        elif self.silent_since is None:
            self.silent_since = monotonic()
        begun = self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None
        if not begun:
            self._stop("head")
        elif "head" not in self._timers:
            self._after("head", self.limits.head, self.transport.abort)

    def _wait_for_taking(self) -> None:
        """End the connection if its client reads nothing between two checks; slowly is good enough."""
        left = self.transport.get_write_buffer_size()

        def look() -> None:
            if self.transport.get_write_buffer_size() < left:
                self._wait_for_taking()
            else:
                self.transport.abort()

        if left:
            self._after("taken", self.limits.taken, look)

    def _make_room(self) -> bool:
        """End the connection that has been silent for the longest; return True if there was any but this one.

        One that was never used goes before one that is kept for another request.
        """
        others = [each for each in self.connections if isinstance(each, ClientConnection) and each is not self]
        silent = [each for each in others if each.silent_since is not None and not each.transport.is_closing()]
        if not silent:
            return False
        min(silent, key=lambda each: (each.cycle is not None, each.silent_since or 0.0)).transport.abort()
        return True

    def _refuse(self) -> None:
        head = f"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {len(_FULL)}\r\n"
        self.transport.write(f"{head}connection: close\r\n\r\n".encode() + _FULL)
        self.transport.close()
        self._after("taken", self.limits.head, self.transport.abort)

    def _after(self, name: str, seconds: float, act: Callable[[], None]) -> None:
        self._stop(name)
        self._timers[name] = self.loop.call_later(seconds, act)

    def _stop(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()


def connections_of(limits: ConnectionLimits) -> type[ClientConnection]:
    """Return the class of connections with these limits."""
    return type("ClientConnection", (ClientConnection,), {"limits": limits})


def _watch(connection: socket.socket | None) -> None:
    """Enable keep-alive probes, which notice a peer that is gone without a word, such as a computer switched off."""
    with suppress(OSError, AttributeError):
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in (("TCP_KEEPIDLE", _PROBE_S), ("TCP_KEEPINTVL", _PROBE_S), ("TCP_KEEPCNT", _PROBES)):
                option = getattr(socket, name, None)
                if option is not None:
                    connection.setsockopt(socket.IPPROTO_TCP, option, value)
