"""The program of an MCP server: started in a process group of its own, spoken to by lines, and ended with its group."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from engine.tools.tool import one_line
from engine.translatable import Translatable

MOST_MESSAGE = 4 * 2**20
"""Bytes of one message of a server."""
_MOST_LOG = 64_000
_GRACE_S = 1.0
_POLL_S = 0.01


class ServerProcess:
    """Run the program of a server. Attributes: log (the end of its standard error), problem (why it ended, or "")."""

    def __init__(
        self, config: Mapping[str, Any], notify: Callable[[dict[str, Any]], None], lost: Callable[[], None]
    ) -> None:
        self.problem = ""
        self._config, self._notify, self._lost = config, notify, lost
        self._log = bytearray()
        self._closing = False

    @property
    def log(self) -> str:
        """Return the end of its standard error."""
        return self._log.decode("utf-8", "replace")

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[tuple[Any, Any]]:
        """Start it, and carry messages there and back. Raises OSError."""
        process = await self._start()
        self._notify({"started": process.pid})
        to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, process, to_us)
                tasks.start_soon(self._write, process, from_us)
                tasks.start_soon(self._keep_log, process)
                try:
                    yield incoming, outgoing
                finally:
                    self._closing = True
                    with anyio.CancelScope(shield=True):
                        await _end(process)
                    tasks.cancel_scope.cancel()
        finally:
            for stream in (to_us, incoming, outgoing, from_us):
                stream.close()
            self._notify({"ended": process.pid})

    async def _start(self) -> asyncio.subprocess.Process:
        environment = get_default_environment() | self._config["environment"]
        command = shutil.which(self._config["command"], path=environment.get("PATH")) or self._config["command"]
        apart: dict[str, Any] = {"creationflags": 0x08000000} if sys.platform == "win32" else {"process_group": 0}
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            command,
            *self._config["arguments"],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=environment,
            cwd=self._config["folder"] or None,
            limit=MOST_MESSAGE,
            **apart,
        )

    async def _read(self, process: asyncio.subprocess.Process, to_us: Any) -> None:
        assert process.stdout is not None  # noqa: S101 - for type checkers
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async with to_us:
                while message := await self._next_line(process.stdout):
                    try:
                        parsed = jsonrpc_message_adapter.validate_json(message, by_name=False)
                    except ValueError as error:
                        if "recursion" in str(error):
                            self.problem = Translatable("sent a message that is nested too deeply")
                            break
                        self._note(message)  # Some programs write there what is for people.
                        continue
                    await to_us.send(SessionMessage(parsed))
                if not self.problem and not self._closing:
                    self.problem = await self._how_it_ended(process)
        self._lost()

    async def _next_line(self, lines: asyncio.StreamReader) -> bytes:
        try:
            return await lines.readline()
        except ValueError:
            size = MOST_MESSAGE // 2**20
            self.problem = Translatable("sent more than {size} MB at once, and was ended", size=size)
            return b""

    async def _how_it_ended(self, process: asyncio.subprocess.Process) -> str:
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await process.wait()
                await asyncio.sleep(2 * _POLL_S)  # Its last words may still come.
        last = next((line for line in reversed(self.log.splitlines()) if line.strip()), "")
        code = process.returncode
        if last:
            return Translatable("ended ({code}): {last}", code=code, last=one_line(last).rstrip("."))
        return Translatable("ended ({code})", code=code)

    async def _write(self, process: asyncio.subprocess.Process, from_us: Any) -> None:
        assert process.stdin is not None  # noqa: S101 - for type checkers
        with suppress(OSError, anyio.ClosedResourceError):
            async with from_us:
                async for each in from_us:
                    line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    process.stdin.write(line.encode() + b"\n")
                    await process.stdin.drain()

    async def _keep_log(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None  # noqa: S101 - for type checkers
        while part := await process.stderr.read(2**16):
            self._note(part)

    def _note(self, part: bytes) -> None:
        self._log += part
        if len(self._log) > 2 * _MOST_LOG:
            del self._log[:-_MOST_LOG]


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close a program's input, which tells it to end; kill it and all that it started where it does not."""
    if process.stdin is not None:
        process.stdin.close()
    for end in (None, signal.SIGTERM):
        if end is not None:
            _signal(process, end)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                # Not `wait`: it also waits for pipes, which what the program started may hold open.
                while process.returncode is None:  # noqa: ASYNC110 - no event comes when it changes
                    await asyncio.sleep(_POLL_S)
                break
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))


def _signal(process: asyncio.subprocess.Process, kind: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, kind)
