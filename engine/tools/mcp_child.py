"""The child's side of MCP: one process that talks to all tool servers, started by the program and ended with it.

What servers send is parsed here and nowhere else: it may be large, deep or never end, and the program goes on. Its
messages with the parent are JSON, each behind its length (engine.system.child_side). The parent asks
`{"id", "op": "open" | "call" | "close" | "log" | "cancel", …}`; an answer has the id and "ok", "error" or "cancelled".
A message with "started" or "ended" names the process of a server.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, BinaryIO

from engine.system.child_side import be_harmless, own_output, read_message, write_message
from engine.tools.mcp_connection import ServerConnection, ServerGone
from engine.translatable import Translatable, packed

MOST_BYTES = 16 * 2**20
"""The largest message between parent and child."""


def run(_argument: str) -> int:
    """Serve the parent until it closes the pipe or is gone."""
    be_harmless()
    logging.disable(logging.CRITICAL)
    output = own_output()
    asyncio.run(_Child(output).serve())
    return 0


class _Child:
    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self._connections: dict[str, ServerConnection] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def serve(self) -> None:
        """Answer the parent's requests until there are no more; end all servers."""
        requests: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def read() -> None:
            while (message := read_message(sys.stdin.buffer, MOST_BYTES)) is not None:
                loop.call_soon_threadsafe(requests.put_nowait, json.loads(message))
            with suppress(RuntimeError):  # The loop may have ended.
                loop.call_soon_threadsafe(requests.put_nowait, None)

        threading.Thread(target=read, name="parent", daemon=True).start()
        while (request := await requests.get()) is not None:
            if request["op"] == "cancel":
                if (task := self._tasks.get(request["of"])) is not None:
                    task.cancel()
            else:
                self._tasks[request["id"]] = asyncio.create_task(self._answer(request))
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*(each.close() for each in self._connections.values()))

    async def _answer(self, request: Mapping[str, Any]) -> None:
        number = request["id"]
        try:
            self._send({"id": number, "ok": await self._do(request)})
        except asyncio.CancelledError:
            self._send({"id": number, "cancelled": True})
        except ServerGone as error:
            self._send({"id": number, "error": packed(error.said)})
        except Exception as error:  # noqa: BLE001 - whatever a library raises is one sentence for the parent
            said = Translatable(
                "The tool server {name} failed: {error}.", name=request["server"], error=type(error).__name__
            )
            self._send({"id": number, "error": packed(said)})
        finally:
            self._tasks.pop(number, None)

    async def _do(self, request: Mapping[str, Any]) -> dict[str, Any]:
        name = request["server"]
        actions: dict[str, Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]] = {
            "open": self._open,
            "call": self._call,
            "log": self._log,
            "close": self._close,
        }
        return await actions[request["op"]](name, request)

    async def _open(self, name: str, request: Mapping[str, Any]) -> dict[str, Any]:
        connection = self._connections.get(name)
        if connection is None or connection.gone or connection.config != request["config"]:
            if connection is not None:
                await connection.close()
            connection = self._connections[name] = ServerConnection(name, request["config"], self._send)
        try:
            async with asyncio.timeout(request["seconds"]):
                return await connection.offers()
        except TimeoutError:
            await connection.close()
            said = Translatable(
                "The tool server {name} does not answer: {seconds:g} seconds are over.",
                name=name,
                seconds=request["seconds"],
            )
            raise ServerGone(said) from None

    async def _call(self, name: str, request: Mapping[str, Any]) -> dict[str, Any]:
        connection = self._connections.get(name)
        if connection is None or connection.gone:
            await self._open(name, {"config": request["config"], "seconds": request["open_seconds"]})
            connection = self._connections[name]
        try:
            async with asyncio.timeout(request["seconds"]):
                return await connection.call(request["tool"], request["arguments"])
        except TimeoutError:
            said = Translatable(
                "The tool {tool} does not answer: {seconds:g} seconds are over.",
                tool=request["tool"],
                seconds=request["seconds"],
            )
            raise ServerGone(said) from None

    async def _log(self, name: str, _request: Mapping[str, Any]) -> dict[str, Any]:
        connection = self._connections.get(name)
        return {"log": "" if connection is None else connection.log}

    async def _close(self, name: str, _request: Mapping[str, Any]) -> dict[str, Any]:
        connection = self._connections.pop(name, None)
        if connection is not None:
            await connection.close()
        return {}

    def _send(self, message: dict[str, Any]) -> None:
        with suppress(OSError):  # The parent is gone; the end of its pipe ends this process.
            write_message(self._output, json.dumps(message).encode())
