"""Ask a server over HTTP: each request is read on a thread of its own, so that it can be cancelled at any moment."""

from __future__ import annotations

import asyncio
import json
import queue
import ssl
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from engine._version import __version__
from engine.cancel import CancelToken
from engine.errors import Cancelled, NotAvailable, ServerFailed
from engine.remote.address import Address
from engine.remote.refusals import broke_off, is_silent, not_understood, refused, unreachable
from engine.system.certificates import system_certificates
from engine.translatable import Translatable

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 16 * 2**20
"""Of an answer that is read whole, and of one line and one event of a stream."""
_LOOK_S = 0.05
_WAITING = 64
"""Pieces that were read and not taken yet; then the server has to wait."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Hold how long to wait, in seconds: for a connection, for the first of an answer, and from piece to piece."""

    connect: float = 10.0
    first: float = 600.0
    between: float = 120.0


@dataclass(frozen=True, slots=True)
class Head:
    """Hold how an answer begins."""

    status: int
    kind: str
    encoding: str
    retry_after: str


class Connection:
    """Ask one server. `key` is sent with each request."""

    def __init__(self, address: Address, key: str | None, patience: Patience) -> None:
        try:
            import httpx  # noqa: F401, PLC0415 - what talks to no server starts without it
        except ImportError:
            advice = Translatable("install httpx: pip install httpx")
            raise NotAvailable(Translatable("A server as a target"), advice) from None
        self.address = address
        self.key = key
        self.patience = patience

    def read(self, url: str, cancel: CancelToken, body: Mapping[str, Any] | None = None) -> bytes:
        """Return an answer whole. Raises ServerFailed, Cancelled."""
        found = bytearray()
        with closing(self._pieces(url, cancel, body)) as pieces:
            head = next(pieces)
            for piece in pieces:
                found += piece if isinstance(piece, bytes) else b""
                if len(found) > MOST_BYTES:
                    raise not_understood(self.address, Translatable("the answer is longer than any should be"))
        if not isinstance(head, Head) or head.status != 200:
            raise self._refused(head, bytes(found))
        return bytes(found)

    def read_json(self, url: str, cancel: CancelToken) -> Any:
        """Return what an answer says as JSON. Raises ServerFailed, Cancelled."""
        try:
            return json.loads(self.read(url, cancel))
        except (ValueError, RecursionError):
            raise not_understood(self.address, Translatable("it is not JSON")) from None

    def events(self, url: str, cancel: CancelToken, body: Mapping[str, Any]) -> Generator[str, None, None]:
        """Return the data of each event of a stream; of an answer that is none, the whole as one.

        Raises ServerFailed, Cancelled.
        """
        with closing(self._pieces(url, cancel, body)) as pieces:
            head = next(pieces)
            if not isinstance(head, Head) or head.status != 200 or "event-stream" not in head.kind:
                whole = bytearray()
                for piece in pieces:
                    whole += piece if isinstance(piece, bytes) else b""
                    if len(whole) > MOST_BYTES:
                        break
                if not isinstance(head, Head) or head.status != 200 or "json" not in head.kind:
                    raise self._refused(head, bytes(whole))
                yield whole.decode("utf-8", "replace")
                return
            data: list[str] = []
            held = 0
            for line in self._lines(pieces):
                if line.startswith("data:"):
                    data.append(line[5:].removeprefix(" "))
                    held += len(line)
                    if held > MOST_BYTES:
                        raise not_understood(self.address, Translatable("a piece of it is longer than any should be"))
                elif not line and data:
                    yield "\n".join(data)
                    data, held = [], 0
            if data:
                yield "\n".join(data)

    def _refused(self, head: Head | bytes, body: bytes) -> ServerFailed:
        status, after = (head.status, head.retry_after) if isinstance(head, Head) else (0, "")
        return refused(self.address, status, after, body, with_key=self.key is not None)

    def _lines(self, pieces: Iterator[Head | bytes]) -> Iterator[str]:
        rest = b""
        for piece in pieces:
            rest += piece if isinstance(piece, bytes) else b""
            *whole, rest = rest.split(b"\n")
            for line in whole:
                yield line.rstrip(b"\r").decode("utf-8", "replace")
            if len(rest) > MOST_BYTES:
                raise not_understood(self.address, Translatable("a line of the reply is longer than any should be"))
        if rest:
            yield rest.rstrip(b"\r").decode("utf-8", "replace")

    def _pieces(
        self, url: str, cancel: CancelToken, body: Mapping[str, Any] | None
    ) -> Generator[Head | bytes, None, None]:
        """Return the head of an answer and then its bytes, as they come. Raises ServerFailed, Cancelled."""
        reader = _Reader(url, body, self)
        reader.start()
        heard = monotonic()
        begun = False
        try:
            while True:
                if cancel.cancelled:
                    raise Cancelled
                try:
                    piece = reader.pieces.get(timeout=_LOOK_S)
                except queue.Empty:
                    most = self.patience.between if begun else self.patience.first
                    if monotonic() - heard > most:
                        raise is_silent(self.address, most, begun=begun) from None
                    continue
                heard = monotonic()
                if piece is None:
                    return
                if isinstance(piece, BaseException):
                    raise (broke_off if begun else unreachable)(self.address, piece, self.patience.connect) from None
                if isinstance(piece, Head) and piece.encoding not in ("", "identity"):
                    raise not_understood(self.address, Translatable("it is compressed, which was not asked for"))
                begun = True
                yield piece
        finally:
            reader.stop()
            reader.join(2.0)


class _Reader(threading.Thread):
    """Read one answer. Attribute: pieces (its head, its bytes, then None; or an error)."""

    def __init__(self, url: str, body: Mapping[str, Any] | None, connection: Connection) -> None:
        super().__init__(name="outrider-remote", daemon=True)
        self.pieces: queue.Queue[Head | bytes | BaseException | None] = queue.Queue(_WAITING)
        self._url, self._body, self._connection = url, body, connection
        self._stopped = False
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def run(self) -> None:
        """Read it, to its end or until `stop`."""
        try:
            asyncio.run(self._read())
            self._put(None)
        except asyncio.CancelledError:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told to the one who waits
            self._put(error)

    def stop(self) -> None:
        """Let go of the connection. From any thread."""
        self._stopped = True
        if self._running is not None:
            loop, task = self._running
            with suppress(RuntimeError):  # It has ended meanwhile.
                loop.call_soon_threadsafe(task.cancel)

    def _put(self, piece: Head | bytes | BaseException | None) -> None:
        while not self._stopped:
            with suppress(queue.Full):
                self.pieces.put(piece, timeout=_LOOK_S)
                return

    async def _read(self) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._running = asyncio.get_running_loop(), task
        if self._stopped:
            return
        async with _client(self._connection) as client:
            method = "GET" if self._body is None else "POST"
            async with client.stream(method, self._url, json=self._body) as answer:
                told = answer.headers
                encoding, kind = told.get("content-encoding", ""), told.get("content-type", "")
                self._put(Head(answer.status_code, kind.lower(), encoding.lower(), told.get("retry-after", "")))
                async for piece in answer.aiter_raw():
                    self._put(piece)
                    if self._stopped:
                        return


def _client(connection: Connection) -> httpx.AsyncClient:
    import httpx  # noqa: PLC0415 - see Connection

    headers = {"User-Agent": f"Outrider/{__version__}", "Accept-Encoding": "identity"}
    if connection.key is not None:
        headers["Authorization"] = f"Bearer {connection.key}"
    address = connection.address
    return httpx.AsyncClient(
        headers=headers,
        timeout=httpx.Timeout(None, connect=connection.patience.connect),
        # Without TLS there is nothing to verify, and reading the certificates takes its time: a context without any.
        verify=system_certificates() if address.base.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        # No proxy stands between this machine and itself, whatever the environment says of the network.
        trust_env=not address.is_loopback,
    )
