"""Listen on an address, and pass the connections to an application."""

from __future__ import annotations

import asyncio
import logging
import socket
from types import TracebackType
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from engine.errors import InvalidRequest
from engine.server.connection import ConnectionLimits, connections_of
from engine.system.ports import claim
from engine.translatable import Translatable

_MOST_HEADER_BYTES = 32_768
_KEEP_ALIVE_S = 15
_BACKLOG = 128
_GRACE_S = 3


_LOOPBACKS = {"127.0.0.1": "::1", "localhost": "::1", "::1": "127.0.0.1"}
"""The addresses of this machine alone, each with the other one."""
_log = logging.getLogger("outrider.server")


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises OSError, UnicodeError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named asyncio sends each piece at once; otherwise the second one waits some 40 ms.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        claim(made, host, port)
        made.listen(_BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


class Listener:
    """Listen from the beginning, of this machine's own addresses on both, and answer in `run`. Attribute: url (`http://127.0.0.1:8642`).

    Raises InvalidRequest if the address cannot be used.
    """

    def __init__(self, app: ASGIApp, host: str, port: int, limits: ConnectionLimits | None = None) -> None:
        try:
            self._sockets = [_listening(host, port)]
        except (OSError, UnicodeError) as error:
            where = {"host": host, "port": str(port), "reason": getattr(error, "strerror", None) or str(error)}
            raise InvalidRequest(
                Translatable("Cannot listen on {host}, port {port}: {reason}. Choose another port.", **where)
            ) from None
        shown = f"[{host}]" if ":" in host else host
        port = self._sockets[0].getsockname()[1]
        self.url = f"http://{shown}:{port}"
        # Programs resolve localhost to either address.
        if (other := _LOOPBACKS.get(host)) is not None:
            try:
                self._sockets.append(_listening(other, port))
            except OSError as error:
                _log.info("Not listening on %s as well: %s", other, error.strerror)
        config = uvicorn.Config(
            app,
            http=connections_of(limits or ConnectionLimits()),
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_GRACE_S,
            backlog=_BACKLOG,
            h11_max_incomplete_event_size=_MOST_HEADER_BYTES,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Answer until `stop`; on the main thread also until Ctrl+C or SIGTERM."""
        asyncio.run(self._server.serve(self._sockets))

    def stop(self) -> None:
        """End `run`. From any thread."""
        self._server.should_exit = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for each in self._sockets:
            each.close()
