"""Ask servers over HTTP: follow redirects, try again, read small answers whole and large ones in large pieces.

The standard library's client reads into large buffers of ours, which httpx has no way to do: a download is as quick as
the connection. Each answer is read on a thread of its own, so that it can be cancelled at any moment. Servers as a
target are asked by the same client (`Asking`).
"""

from __future__ import annotations

import base64
import os
import queue
import random
import socket
import ssl
import struct
import threading
from collections.abc import Generator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection, IncompleteRead
from time import monotonic
from typing import Final
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from engine._version import __version__
from engine.cancel import CancelToken
from engine.errors import DownloadFailed
from engine.hub import refusals
from engine.system.certificates import trusted
from engine.system.ports import is_loopback

_LOOK_S = 0.05
_MOST_HOPS = 10
_MOST_BYTES = 32 * 2**20
"""The limit of an answer that is read whole."""
_SMALLEST, _LARGEST = 64 * 2**10, 2**18
"""The sizes of the pieces in which an answer is read."""
_WAITING = 1
"""Pieces that were read and not taken yet. What a killed program loses is this and two more."""
_WAITING_LIVE = 64
_NEAR_WINDOW, _NEAR_PACKET = 2**17, 15_500
"""Bytes that a server on this machine may send ahead, and in one packet."""
_RESET = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
"""What `SO_LINGER` takes for a connection that closing resets."""
_AGAIN: Final = frozenset({408, 429, 500, 502, 503, 504})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Patience:
    """Hold timeouts, in seconds, and the number of retries.

    `connect`: for a connection; `silent`: for the next byte; `tries`: in a row without anything that came;
    `first` and `most`: between two tries; `longest_wait`: the most that a server may ask for.
    """

    connect: float = 15.0
    silent: float | None = 45.0
    tries: int = 7
    first: float = 0.5
    most: float = 30.0
    longest_wait: float = 300.0


@dataclass(frozen=True, slots=True)
class Head:
    """Hold the head of an answer. `url`: its final address; `first`: the headers of the server that was asked first."""

    status: int
    headers: HTTPMessage
    url: str
    first: HTTPMessage

    def number(self, name: str) -> int | None:
        """Return a header that is a whole number; None for any other."""
        value = (self.headers.get(name) or "").strip()
        return int(value) if value.isdecimal() and len(value) < 19 else None


class Unfinished(Exception):
    """Report a try that may go better the next time. Attributes: said (the error to raise if not), after (seconds)."""

    def __init__(self, said: DownloadFailed, after: float | None = None) -> None:
        super().__init__(str(said))
        self.said = said
        self.after = after


@dataclass(frozen=True, slots=True)
class Web:
    """Ask servers. `authorization`: sent to the server at `home` alone (scheme, name and port), wherever it leads.

    `bundle`: a file of further certificates that are trusted; `proxy`: in place of the environment's.
    """

    home: str = ""
    authorization: str | None = field(default=None, repr=False)
    patience: Patience = Patience()
    bundle: str | None = None
    proxy: str | None = None

    def with_home(self, url: str) -> Web:
        """Return a copy for another server, whose name and password may stand in its address."""
        parts = urlsplit(url)
        login = None
        if parts.username:
            login_text = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            login = "Basic " + base64.b64encode(login_text.encode()).decode()
        return replace(self, home=origin(url), authorization=login)

    def read(self, url: str, cancel: CancelToken, headers: Mapping[str, str] | None = None) -> tuple[Head, bytes]:
        """Return a small answer whole, with any status that tries again do not change.

        Raises DownloadFailed, Cancelled.
        """
        tries = Tries(self.patience, cancel)
        while True:
            try:
                return self._read_once(url, cancel, headers or {})
            except Unfinished as problem:
                tries.wait(problem)

    def _read_once(self, url: str, cancel: CancelToken, headers: Mapping[str, str]) -> tuple[Head, bytes]:
        with closing(self.pieces(url, cancel, headers)) as pieces:
            head = next(pieces)
            if not isinstance(head, Head):
                raise TypeError
            found = bytearray()
            for piece in pieces:
                if isinstance(piece, memoryview):
                    found += piece
                if len(found) > _MOST_BYTES:
                    raise refusals.too_long(url)
            length = head.number("content-length")
            if length is not None and len(found) < length:
                raise Unfinished(refusals.broke_off(head.url))
            return head, bytes(found)

    def pieces(
        self, url: str, cancel: CancelToken, headers: Mapping[str, str]
    ) -> Generator[Head | memoryview, None, None]:
        """Return the head of an answer and then its bytes.

        An answer that ends early ends here too: its reader knows the expected length. Raises Unfinished where
        another try may help; DownloadFailed, Cancelled.
        """
        asking = Asking(self, url, headers)
        waited, most = 0.0, self.patience.connect + (self.patience.silent or 0.0)
        with closing(asking.answer()) as pieces:
            for piece in pieces:
                cancel.check("The download")
                waited = waited + _LOOK_S if piece is None else 0.0
                if self.patience.silent is not None and waited > most:  # Single bytes that come are no answer.
                    raise _unfinished(url, TimeoutError())
                if isinstance(piece, Exception):
                    raise _unfinished(url, piece)
                if isinstance(piece, Head):
                    _check_head(piece)
                    yield piece
                elif piece is not None:
                    yield piece


class Tries:
    """Count tries in a row that brought nothing, and wait between them."""

    def __init__(self, patience: Patience, cancel: CancelToken) -> None:
        self._patience = patience
        self._cancel = cancel
        self._failed = 0

    def went_on(self) -> None:
        """Reset the count of failures after progress."""
        self._failed = 0

    def wait(self, problem: Unfinished) -> None:
        """Wait until the next try. Raises DownloadFailed if there were enough of them; Cancelled."""
        self._failed += 1
        patience = self._patience
        if self._failed >= patience.tries or (problem.after or 0) > patience.longest_wait:
            raise problem.said from None
        grown = min(patience.first * 2 ** (self._failed - 1), patience.most)
        end = monotonic() + (grown * random.uniform(0.75, 1.25) if problem.after is None else problem.after)  # noqa: S311
        while (left := end - monotonic()) > 0:
            self._cancel.check("The download")
            threading.Event().wait(min(left, _LOOK_S))


_Piece = Head | memoryview | Exception


class Asking(threading.Thread):
    """Ask a server once.

    `live`: the answer is handed on as it comes and must come whole, and redirects are not followed. `body`: what is
    posted; None: it is a GET.
    """

    def __init__(
        self, web: Web, url: str, headers: Mapping[str, str], body: bytes | None = None, *, live: bool = False
    ) -> None:
        super().__init__(name="outrider-http", daemon=True)
        self._pieces: queue.Queue[_Piece | None] = queue.Queue(_WAITING_LIVE if live else _WAITING)
        self._web, self._url, self._headers, self._body, self._live = web, url, headers, body, live
        self._stopped = False
        self._connection: HTTPConnection | None = None
        self._socket: socket.socket | None = None

    def answer(self) -> Generator[_Piece | None, None, None]:
        """Yield the head of the answer, then its bytes; or the error that ended it.

        None: nothing came for a moment. Closing the generator releases the connection.
        """
        self.start()
        try:
            while True:
                try:
                    piece = self._pieces.get(timeout=_LOOK_S)
                except queue.Empty:
                    yield None
                    continue
                if piece is None:
                    return
                yield piece
        finally:
            self._stopped = True
            if self._socket is not None:
                with suppress(OSError):
                    if not self._live:  # A server that waits until more is taken would only find out much later.
                        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    self._socket.shutdown(socket.SHUT_RDWR)
            self.join(2.0)

    def run(self) -> None:
        """Read it, to its end or until `stop`."""
        try:
            self._read()
            self._put(None)
        except Exception as error:  # noqa: BLE001 - whatever it is, the waiting caller gets it
            self._put(error)
        finally:
            if self._connection is not None:
                self._connection.close()

    def _put(self, piece: _Piece | None) -> None:
        while not self._stopped:
            with suppress(queue.Full):
                self._pieces.put(piece, timeout=_LOOK_S)
                return

    def _read(self) -> None:
        answer, head = self._answer()
        self._put(head)
        size = _SMALLEST
        while self._live and not self._stopped:
            if not (data := answer.read1(size)):
                if answer.length:
                    raise IncompleteRead(b"", answer.length)
                return
            self._put(memoryview(data))
        while not self._stopped:
            begun = monotonic()
            piece = memoryview(bytearray(size))
            length = answer.readinto(piece)
            if not length:
                return
            self._put(piece[:length])
            # A piece comes whole or not at all: of a slow connection small ones are taken.
            took = monotonic() - begun
            size = min(size * 2, _LARGEST) if took < 0.05 else max(size // 2, _SMALLEST // 16) if took > 0.25 else size

    def _answer(self) -> tuple[HTTPResponse, Head]:
        url, first = self._url, None
        for _ in range(_MOST_HOPS):
            if self._connection is not None:
                self._connection.close()
            self._connection, target, extra = _connect(self._web, url)
            self._socket = self._connection.sock  # The library forgets it with the head of the answer.
            headers = {"User-Agent": f"Outrider/{__version__}", "Accept-Encoding": "identity", "Connection": "close"}
            headers |= {**extra, **self._headers}
            if self._web.authorization is not None and origin(url) == self._web.home:
                headers["Authorization"] = self._web.authorization
            self._connection.request("GET" if self._body is None else "POST", target, self._body, headers)
            answer = self._connection.getresponse()
            first = first or answer.headers
            location = answer.headers.get("Location")
            if self._live or answer.status not in _REDIRECTS or location is None:
                return answer, Head(answer.status, answer.headers, url, first)
            url = _next_hop(url, location)
        raise refusals.endless(self._url)


def _next_hop(url: str, location: str) -> str:
    # http.client decodes headers as Latin-1, and servers write UTF-8.
    found = urljoin(url, quote(location.encode("latin-1", "replace"), safe="%/:=&?~#+!$,;'@()*[]"))
    before, after = urlsplit(url), urlsplit(found)
    if after.scheme not in ("http", "https") or not after.hostname:
        raise refusals.leads_nowhere(url)
    if before.scheme == "https" and after.scheme == "http":
        raise refusals.unencrypted(url)
    return found


def _connect(web: Web, url: str) -> tuple[HTTPConnection, str, dict[str, str]]:
    """Return a connection, the target of the request, and the headers for a proxy."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    target = urlunsplit(("", "", parts.path or "/", parts.query, ""))
    proxy = _proxy(web, parts.scheme, host, parts.port)
    secure = trusted(web.bundle) if parts.scheme == "https" else None
    timeout = web.patience.connect
    if proxy is None:
        made: HTTPConnection = (
            HTTPConnection(host, parts.port or 80, timeout=timeout)
            if secure is None
            else HTTPSConnection(host, parts.port or 443, timeout=timeout, context=secure)
        )
        extra: dict[str, str] = {}
    else:
        at = urlsplit(proxy if "//" in proxy else f"//{proxy}")
        if at.scheme not in ("", "http") or not at.hostname:
            raise refusals.strange_proxy(at.scheme or "?")
        login = f"{unquote(at.username)}:{unquote(at.password or '')}" if at.username else None
        login_header = (
            {} if login is None else {"Proxy-Authorization": "Basic " + base64.b64encode(login.encode()).decode()}
        )
        if secure is None:
            made, extra = HTTPConnection(at.hostname, at.port or 80, timeout=timeout), login_header
            target = urlunsplit(("http", parts.netloc.rpartition("@")[2], parts.path or "/", parts.query, ""))
        else:
            made, extra = HTTPSConnection(at.hostname, at.port or 80, timeout=timeout, context=secure), {}
            made.set_tunnel(host, parts.port or 443, login_header)
    if is_loopback(made.host):
        setattr(made, "_create_connection", _connect_near)  # noqa: B010 - the library has no public name for it
    made.connect()
    if made.sock is not None:
        made.sock.settimeout(web.patience.silent)
    return made, target, extra


def _connect_near(address: tuple[str, int], timeout: float, source: None = None) -> socket.socket:  # noqa: ARG001
    """Connect to a server on this machine, for http.client, whose `source` is not used. Raises OSError.

    Packets and window are made as small as a network's. There is no delay to make up for, and the kernel would keep up
    to 26 MB under way (measured), which a killed program loses though they were sent.
    """
    problem = OSError()
    for family, kind, protocol, _, place in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(timeout)
            with suppress(OSError, AttributeError):  # Not every system knows both.
                made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _NEAR_WINDOW)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _NEAR_PACKET)
            made.connect(place)
        except OSError as error:
            made.close()
            problem = error
        else:
            return made
    raise problem


def _proxy(web: Web, scheme: str, host: str, port: int | None) -> str | None:
    """Return the proxy of this system for a server. None stands between this machine and itself."""
    if is_loopback(host):
        return None
    if web.proxy is not None:
        return web.proxy or None
    proxies = getproxies()
    found = proxies.get(scheme) or proxies.get("all")
    return None if not found or proxy_bypass(f"{host}:{port}" if port else host) else found


def origin(url: str) -> str:
    """Return scheme, name and port of an address, as two that are one server have them alike."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    return f"{parts.scheme}://{(parts.hostname or '').casefold()}:{port}"


def _check_head(head: Head) -> None:
    """Raise Unfinished for a status that may pass soon; DownloadFailed for an answer that is compressed."""
    if head.status in _AGAIN:
        after = retry_after(head.headers.get("Retry-After"))
        raise Unfinished(refusals.busy(head.url, head.status, after), after)
    if head.headers.get("Content-Encoding", "identity").strip().casefold() not in ("", "identity"):
        raise refusals.compressed(head.url)


def retry_after(value: str | None) -> float | None:
    """Return the seconds that a server asks to wait: a number or a date; None if it says nothing of sense."""
    text = (value or "").strip()
    if text.isdecimal():
        return float(text[:9])
    try:
        return max((parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def _unfinished(url: str, error: Exception) -> Exception:
    """Return the error to raise for a reader's."""
    if isinstance(error, DownloadFailed | Unfinished):
        return error
    if isinstance(error, ssl.SSLCertVerificationError):
        return refusals.untrusted(url, error.verify_message)
    if isinstance(error, OSError | HTTPException):
        return Unfinished(refusals.unreachable(url, error))
    if isinstance(error, ValueError):  # An address that is none: a port of letters, a name of 70 letters.
        return refusals.leads_nowhere(url)
    return error
