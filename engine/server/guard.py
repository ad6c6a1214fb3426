"""Refuse requests before anything reads them: of web pages, without the key, of a wrong form, too large or too slow."""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.errors import InvalidRequest
from engine.server.interfaces.form import error_body
from engine.system.ports import is_address

_LONGEST_PATH = 60
ANY_ORIGIN = "*"
_PORTS = {"http": 80, "https": 443}
_OPEN = ("/health",)
"""Paths that need no key."""
CONTAINER_HOSTS = frozenset(
    {
        *("host.docker.internal", "gateway.docker.internal", "host.containers.internal", "host.lima.internal"),
        *("host.orb.internal", "host.minikube.internal", "docker.for.mac.localhost", "docker.for.mac.host.internal"),
    }
)
"""The names by which programs in containers and virtual machines call their host."""
_HOST_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")


@dataclass(frozen=True, slots=True)
class Limits:
    """Hold the server's limits and permissions.

    `key`: None if none is needed; `hosts`: names by which the server may be called, beside addresses and localhost;
    `origins`: of web pages that may call it, `*`: of any; `most_bytes` of a body, which comes within `body_seconds`;
    `note`: receives the path, the status and the seconds of each request that was answered. Raises InvalidRequest.
    """

    key: str | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    most_bytes: int = 16 * 2**20
    body_seconds: float = 30.0
    note: Callable[[str, int, float], None] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "origins", tuple(map(read_origin, self.origins)))
        object.__setattr__(self, "hosts", tuple(map(read_host, self.hosts)))


def read_origin(text: str) -> str:
    """Return an origin of web pages in the browsers' form, from a person's text. Raises InvalidRequest."""
    written = text.strip()
    if written in (ANY_ORIGIN, "null"):
        return written
    wrong = InvalidRequest(f"{text!r} is no web page's origin. Write it like https://example.org, or * for any page.")
    try:
        parts = urlsplit(written)
        host, port = parts.hostname or "", parts.port
        if not host.isascii():
            host = host.encode("idna").decode()
    except ValueError:
        raise wrong from None
    more = parts.path.strip("/") or parts.query or parts.fragment or parts.username or parts.password
    if not parts.scheme or not host or more or any(map(str.isspace, written)):
        raise wrong
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + ("" if port in (None, _PORTS.get(parts.scheme)) else f":{port}")


def read_host(text: str) -> str:
    """Return a name for the server, from a person's text. Raises InvalidRequest."""
    try:
        name = text.strip().lower()
        name = name if name.isascii() else name.encode("idna").decode()
    except ValueError:
        name = ""
    if not _HOST_NAME.fullmatch(name) and not is_address(name):
        raise InvalidRequest(f"{text!r} is no name of a computer. Write it like my-computer.local, without a port.")
    return name.removesuffix(".")


class _Refused(Exception):
    """Report a body that is not read to its end."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _name_of(host: str) -> str:
    """Return the name in a Host header, without its port."""
    name = host.rsplit("]", 1)[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    return name.lower().removesuffix(".")


def _is_json(path: str, headers: Mapping[str, str]) -> bool:
    """Return True if a body is JSON by its headers. Ollama's programs name no type; web pages have to."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    of_page = "origin" in headers or "sec-fetch-site" in headers
    return kind == "application/json" or (path.startswith("/api/") and not of_page)


class Guard:
    """Guard an application: let requests within the limits through."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif self._limits.note is None:
            await self._let_through(scope, receive, send)
        else:
            await self._timed(scope, receive, send, self._limits.note)

    async def _timed(self, scope: Scope, receive: Receive, send: Send, note: Callable[[str, int, float], None]) -> None:
        began, status = perf_counter(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._let_through(scope, receive, sent)
        finally:
            note(scope["path"][:_LONGEST_PATH], status, perf_counter() - began)

    async def _let_through(self, scope: Scope, receive: Receive, send: Send) -> None:
        wrong = self._wrong(scope, Headers(scope=scope))
        if wrong is None:
            try:
                received = await self._body(scope, receive)
            except _Refused as error:
                wrong = error.status, str(error), None
            else:
                await self._app(scope, received, send)
                return
        status, message, code = wrong
        headers = {"connection": "close", **({"www-authenticate": "Bearer"} if status == 401 else {})}
        await JSONResponse(error_body(message, code=code), status, headers)(scope, receive, send)

    def _wrong(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str, str | None] | None:
        """Return status, message and code of a refusal; None: the request may pass."""
        limits = self._limits
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._known_host(host):
            name = _name_of(host)[:100]
            said = f"This server does not know itself by the name {name!r}. Start it with --allow-host {name}"
            if not _HOST_NAME.fullmatch(name):
                said = "The name by which this server was called (Host) is none. Call it by its address"
            return 403, f"{said}.", "host_not_allowed"
        pages = ANY_ORIGIN not in limits.origins
        if pages and (
            (origin is not None and origin not in limits.origins)
            or (origin is None and headers.get("sec-fetch-site") in ("cross-site", "same-site"))
        ):
            return 403, "Web pages may not use this server. Name them with --allow-origin.", "origin_not_allowed"
        preflight = scope["method"] == "OPTIONS"
        if limits.key is not None and not preflight and scope["path"] not in _OPEN and not self._has_key(headers):
            return 401, "The API key is missing or wrong.", "invalid_api_key"
        if scope["method"] == "POST":
            if not _is_json(scope["path"], headers):
                return 415, "The body must be JSON (Content-Type: application/json).", None
            length = headers.get("content-length", "0")
            if not length.isascii() or not length.isdigit() or int(length[:20]) > limits.most_bytes:
                return 413, f"The body is too large: the limit is {limits.most_bytes:,} bytes.", None
        return None

    def _known_host(self, host: str) -> bool:
        """Return True if a Host header is an address, localhost or one of the names: no name that a page made up."""
        name = _name_of(host)
        known = name in ("localhost", *self._limits.hosts) or name in CONTAINER_HOSTS or name.endswith(".localhost")
        return known or is_address(name)

    def _has_key(self, headers: Mapping[str, str]) -> bool:
        kind, _, authorization = headers.get("authorization", "").partition(" ")
        given = authorization.strip() if kind.lower() == "bearer" else headers.get("x-api-key", "")
        key = (self._limits.key or "").strip()
        # A header is read as Latin-1; clients write letters beyond ASCII so, or in UTF-8.
        forms = [key.encode()] + ([key.encode("latin-1")] if all(ord(letter) < 256 for letter in key) else [])
        sent = given.encode("latin-1", "replace")
        return sum(hmac.compare_digest(sent, form) for form in forms) > 0

    async def _body(self, scope: Scope, receive: Receive) -> Receive:
        """Read the body, and return a receiver that gives it again. Raises _Refused."""
        data = bytearray()
        more = scope["method"] in ("POST", "PUT", "PATCH")
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise _Refused(400, "The body is not complete.")
                    data += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(data) > self._limits.most_bytes:
                        raise _Refused(413, f"The body is too large: the limit is {self._limits.most_bytes:,} bytes.")
        except TimeoutError:
            raise _Refused(408, "The body came too slowly.") from None
        whole: list[Message] = [{"type": "http.request", "body": bytes(data), "more_body": False}]

        async def received() -> Message:
            return whole.pop() if whole else await receive()

        return received
