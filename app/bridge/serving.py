"""Serve the loaded models to other programs: the switch of the local server."""

from __future__ import annotations

import engine
from app.bridge.bridge import EngineBridge
from engine import EngineError, ServerAddress
from engine.host import ServerFigures, ServerLine


class ServerSwitch:
    """Turn the local server on and off. Attribute: problem (the reason why it is off although wanted, or '').

    Methods are called on the Qt thread.
    """

    def __init__(self, bridge: EngineBridge) -> None:
        self.problem = ""
        self._bridge = bridge
        self._server: engine.LocalServer | None = None

    @property
    def url(self) -> str:
        """Return its address; '' if it is off."""
        return "" if self._server is None else self._server.url

    def turn_on(self, host: str, port: int, key: str, names: str = "") -> None:
        """Listen on this address, and no longer on another one; `problem` is set on failure.

        `names`: by which others call this computer too, with commas.
        """
        self.problem = ""
        try:
            address = ServerAddress(host, port, key, tuple(names.replace(",", " ").split()))
            if self._server is not None and self._server.address == address:
                return
            self.turn_off()
            self._server = engine.LocalServer(address, self._bridge.current_decoder, self._bridge.hand)
        except EngineError as error:
            self.turn_off()
            self.problem = error.message
        except ImportError:
            self.problem = engine.Translatable(
                "The local server needs Starlette and uvicorn. Install them: pip install 'outrider[server]'"
            )

    def turn_off(self, timeout: float = 1.0) -> bool:
        """Stop listening, and cancel the replies for others. False: it has not ended in time (seconds)."""
        server, self._server = self._server, None
        self.problem = ""
        return server is None or server.stop(timeout)

    def figures(self) -> ServerFigures | None:
        """Return the counters so far, None if it is off."""
        return None if self._server is None else self._server.figures()

    def lines(self) -> tuple[ServerLine, ...]:
        """Return the last requests, the oldest first."""
        return () if self._server is None else self._server.lines()
