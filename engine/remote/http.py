"""Ask a server that is a target: the data of its answers as they come, within limits of size and of silence."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from time import monotonic
from typing import Any

from engine.cancel import CancelToken
from engine.errors import Cancelled, ServerFailed
from engine.hub import web
from engine.hub.web import Head
from engine.remote.address import Address
from engine.remote.refusals import broke_off, is_silent, not_understood, refused, unreachable
from engine.translatable import Translatable

MOST_BYTES = 16 * 2**20
"""The limit of an answer that is read whole, and of one line and one event of a stream."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Hold timeouts, in seconds: for a connection, for the first of an answer, and from piece to piece."""

    connect: float = 10.0
    first: float = 600.0
    between: float = 120.0


class Connection:
    """Ask one server. `key` is sent with each request."""

    def __init__(self, address: Address, key: str | None, patience: Patience) -> None:
        self.address = address
        self.key = key
        self.patience = patience

    def read(self, url: str, cancel: CancelToken, body: Mapping[str, Any] | None = None) -> bytes:
        """Return an answer whole. Raises ServerFailed, Cancelled."""
        found = bytearray()
        with closing(self._pieces(url, cancel, body)) as pieces:
            head = next(pieces)
            for piece in pieces:
                found += piece if isinstance(piece, memoryview) else b""
                if len(found) > MOST_BYTES:
                    raise not_understood(self.address, Translatable("the answer is longer than any should be"))
        if not isinstance(head, Head) or head.status != 200:
            raise self._refused(head, bytes(found))
        return bytes(found)

    def read_json(self, url: str, cancel: CancelToken) -> Any:
        """Parse an answer as JSON. Raises ServerFailed, Cancelled."""
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
            if not isinstance(head, Head) or head.status != 200 or "event-stream" not in _kind(head):
                whole = bytearray()
                for piece in pieces:
                    whole += piece if isinstance(piece, memoryview) else b""
                    if len(whole) > MOST_BYTES:
                        break
                if not isinstance(head, Head) or head.status != 200 or "json" not in _kind(head):
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

    def _refused(self, head: Head | memoryview, body: bytes) -> ServerFailed:
        status, after = (head.status, head.headers.get("Retry-After", "")) if isinstance(head, Head) else (0, "")
        return refused(self.address, status, after, body, with_key=self.key is not None)

    def _lines(self, pieces: Iterator[Head | memoryview]) -> Iterator[str]:
        rest = b""
        for piece in pieces:
            rest += piece if isinstance(piece, memoryview) else b""
            *whole, rest = rest.split(b"\n")
            for line in whole:
                yield line.rstrip(b"\r").decode("utf-8", "replace")
            if len(rest) > MOST_BYTES:
                raise not_understood(self.address, Translatable("a line of the reply is longer than any should be"))
        if rest:
            yield rest.rstrip(b"\r").decode("utf-8", "replace")

    def _pieces(
        self, url: str, cancel: CancelToken, body: Mapping[str, Any] | None
    ) -> Generator[Head | memoryview, None, None]:
        """Return the head of an answer and then its bytes, as they come. Raises ServerFailed, Cancelled."""
        headers = {"Accept": "*/*"} if self.key is None else {"Accept": "*/*", "Authorization": f"Bearer {self.key}"}
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        asking = web.Asking(
            web.Web(patience=web.Patience(connect=self.patience.connect, silent=None)), url, headers, data, live=True
        )
        arrived, begun = monotonic(), False
        with closing(asking.answer()) as pieces:
            for piece in pieces:
                if cancel.cancelled:
                    raise Cancelled
                if piece is None:
                    most = self.patience.between if begun else self.patience.first
                    if monotonic() - arrived > most:
                        raise is_silent(self.address, most, begun=begun)
                    continue
                arrived = monotonic()
                if isinstance(piece, Exception):
                    raise (broke_off if begun else unreachable)(self.address, piece, self.patience.connect) from None
                if isinstance(piece, Head):
                    if piece.headers.get("Content-Encoding", "").lower() not in ("", "identity"):
                        raise not_understood(self.address, Translatable("it is compressed, which was not asked for"))
                    yield piece
                else:
                    yield piece
                begun = True


def _kind(head: Head) -> str:
    return head.headers.get("Content-Type", "").lower()
