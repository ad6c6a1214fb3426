"""The local server on a free port, and questions to it without a library."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from engine.config import SamplingConfig
from engine.decoder import SpeculativeDecoder
from engine.server.app import make_app
from engine.server.connection import ConnectionLimits
from engine.server.engine_thread import EngineThread
from engine.server.guard import Limits
from engine.server.interfaces.requests import Defaults
from engine.server.listen import Listener
from engine.server.registry import ModelRegistry
from engine.server.streams import ReplyStreams

NAME = "demo"


@contextmanager
def served(
    models: SpeculativeDecoder | ModelRegistry,
    limits: Limits,
    streams: ReplyStreams | None = None,
    connections: ConnectionLimits | None = None,
    *,
    ollama: bool = False,
) -> Iterator[str]:
    """Serve a decoder, or the models of a registry, on a free port of this machine."""
    registry = models if isinstance(models, ModelRegistry) else ModelRegistry(decoder=models, name=NAME)
    engine = EngineThread(registry, streams=streams)
    with Listener(
        make_app(engine, Defaults(SamplingConfig()), limits, ollama=ollama), "127.0.0.1", 0, connections
    ) as listener:
        thread = threading.Thread(target=listener.run)
        thread.start()
        try:
            yield listener.url
        finally:
            listener.stop()
            thread.join(20)
            engine.close()
    assert not thread.is_alive()


def asked(url: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
    """Ask without a library, and return the status and what the body says."""
    host, port = url.removeprefix("http://").rsplit(":", 1)
    with closing(http.client.HTTPConnection(host, int(port), timeout=60)) as connection:
        told = {
            "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        connection.request("GET" if body is None else "POST", path, body, told)
        response = connection.getresponse()
        data, whole = response.read(), response.headers.get_content_type() == "application/json"
    return response.status, json.loads(data) if whole and data[:1] == b"{" else data.decode()


def posted(url: str, path: str, body: object) -> tuple[int, Any]:
    """Ask with a JSON body."""
    return asked(url, path, json.dumps(body).encode())
