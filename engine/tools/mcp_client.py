"""Use MCP servers: each is a host of tools, and one child process of this program talks to all of them.

Nothing is started before a host is first asked for its tools. The child ends with this program, however that ends, and
the servers' programs with the child.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from engine.cancel import CancelToken
from engine.errors import Cancelled, EngineError, NotAvailable, ToolServerFailed
from engine.system.child import child_command, end_child, start_child
from engine.system.child_side import read_message, write_message
from engine.system.hidden_commands import TOOL_SERVERS
from engine.tools.servers import ServerConfig
from engine.tools.tool import CALL_SECONDS, Tool, ToolOutput
from engine.translatable import Translatable, unpacked

OPEN_SECONDS = 120.0
"""The seconds for a server to start and list its tools: some are downloaded when they are first started."""
_GRACE_S = 10.0
"""The grace beyond a limit that the child keeps itself: behind that it is stuck, and is ended."""
_MOST_BYTES = 16 * 2**20
_POLL_S = 0.05
_END_S = 6.0


@dataclass(frozen=True, slots=True)
class ServerOffer:
    """Hold a server's tools, the names of its resources and prompts, and notes for a person."""

    tools: tuple[Tool, ...] = ()
    resources: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class ToolServers:
    """Manage the child that talks to MCP servers. Thread-safe; it starts at the first request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: _Child | None = None
        self._closed = False

    def host(self, config: ServerConfig, *, open_seconds: float = OPEN_SECONDS) -> McpHost:
        """Return the host of a server's tools. Nothing is started."""
        return McpHost(self, config, open_seconds)

    def ask(self, op: str, seconds: float, cancel: CancelToken | None = None, **request: Any) -> dict[str, Any]:
        """Return the child's answer. Raises ToolServerFailed, NotAvailable, Cancelled."""
        with self._lock:
            if self._closed:
                raise ToolServerFailed(Translatable("Tool servers are ended."))
            if self._child is None or self._child.ended:
                self._child = _Child()
            child = self._child
        return child.ask(op, seconds, cancel, request)

    @property
    def running(self) -> bool:
        """Return True if the child was started, and lives."""
        child = self._child
        return child is not None and not child.ended

    def close(self) -> None:
        """End all servers, and the child. Waits a few seconds at most."""
        with self._lock:
            self._closed, child = True, self._child
        if child is not None:
            child.close()


class McpHost:
    """Host the tools of an MCP server (see engine.tools.tool.ToolHost). Made by ToolServers.host."""

    def __init__(self, servers: ToolServers, config: ServerConfig, open_seconds: float = OPEN_SECONDS) -> None:
        self.config = config
        self._servers, self._open_seconds = servers, open_seconds

    @property
    def name(self) -> str:
        """Return the name that the server has in the list of servers: it cannot choose it."""
        return self.config.name

    def tools(self) -> tuple[Tool, ...]:
        """Return its tools; starts it. Raises ToolServerFailed, NotAvailable, InvalidRequest."""
        return self.offer().tools

    def offer(self, cancel: CancelToken | None = None) -> ServerOffer:
        """Return all that it offers; starts it. Raises ToolServerFailed, NotAvailable, InvalidRequest, Cancelled."""
        said = self._ask("open", self._open_seconds, cancel)
        tools = tuple(
            Tool(each["name"], each["title"], each["description"], each["schema"], self.name, each["writes"])
            for each in said["tools"]
        )
        return ServerOffer(tools, tuple(said["resources"]), tuple(said["prompts"]), tuple(map(str, said["notes"])))

    def call(
        self, tool_name: str, arguments: Mapping[str, Any], *, cancel: CancelToken, timeout: float = CALL_SECONDS
    ) -> ToolOutput:
        """Run a tool. What fails is an output that says so. Raises Cancelled."""
        how = {"tool": tool_name, "arguments": dict(arguments), "open_seconds": self._open_seconds}
        try:
            said = self._ask("call", timeout, cancel, **how)
        except Cancelled:
            raise
        except EngineError as error:
            return ToolOutput(str(error), is_error=True)
        return ToolOutput(said["text"], said["is_error"], tuple(said["pictures"]))

    def log(self) -> str:
        """Return the end of the server program's log; starts nothing."""
        if not self._servers.running:
            return ""
        try:
            return str(self._ask("log", _END_S)["log"])
        except ToolServerFailed:
            return ""

    def close(self) -> None:
        """End the server."""
        if self._servers.running:
            with suppress(ToolServerFailed, NotAvailable):
                self._ask("close", _END_S)

    def _ask(self, op: str, seconds: float, cancel: CancelToken | None = None, **request: Any) -> dict[str, Any]:
        config = self.config.expanded()
        message = {
            "command": config.command,
            "arguments": config.arguments,
            "environment": dict(config.environment),
            "folder": config.folder,
            "url": config.url,
            "headers": dict(config.headers),
        }
        return self._servers.ask(op, seconds, cancel, server=self.name, config=message, **request)


class _Child:
    """Talk to the child. Attribute: ended."""

    def __init__(self) -> None:
        if importlib.util.find_spec("mcp") is None:
            advice = Translatable("the package mcp is not installed. Run: pip install 'outrider[tools]'")
            raise NotAvailable(Translatable("Using tool servers"), advice)
        try:
            self._process = start_child(child_command(TOOL_SERVERS))
        except OSError as error:
            said = Translatable("Tool servers cannot be used: {reason}.", reason=error.strerror or str(error))
            raise ToolServerFailed(said) from None
        self.ended = False
        self._lock = threading.Lock()
        self._waiting: dict[int, SimpleQueue[dict[str, Any] | None]] = {}
        self._number = 0
        self._programs: set[int] = set()
        self._reader = threading.Thread(target=self._read, name="outrider-tool-servers", daemon=True)
        self._reader.start()

    def ask(self, op: str, seconds: float, cancel: CancelToken | None, request: Mapping[str, Any]) -> dict[str, Any]:
        answers: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        with self._lock:
            self._number += 1
            number = self._number
            self._waiting[number] = answers
        try:
            self._send({"id": number, "op": op, "seconds": seconds, **request})
            answer = self._await(answers, number, monotonic() + seconds + _GRACE_S, cancel)
        finally:
            with self._lock:
                self._waiting.pop(number, None)
        if answer is None:
            raise ToolServerFailed(Translatable("The process that talks to tool servers ended. Try again."))
        if "ok" not in answer:
            raise ToolServerFailed(unpacked(answer["error"]))
        return dict(answer["ok"])

    def _await(
        self, answers: SimpleQueue[dict[str, Any] | None], number: int, limit: float, cancel: CancelToken | None
    ) -> dict[str, Any] | None:
        while True:
            if self.ended and answers.empty():
                return None
            with suppress(Empty):
                return answers.get(timeout=_POLL_S)
            if cancel is not None and cancel.cancelled:
                self._send({"op": "cancel", "of": number})
                raise Cancelled(Translatable("The call"))
            if monotonic() > limit:
                self._process.kill()
                raise ToolServerFailed(Translatable("The process that talks to tool servers is stuck, and was ended."))

    def _send(self, message: Mapping[str, Any]) -> None:
        data = json.dumps(message).encode()
        if len(data) > _MOST_BYTES:
            raise ToolServerFailed(Translatable("The arguments are too long."))
        with self._lock, suppress(OSError, ValueError):  # It ended: the reader reports it to the waiting callers.
            assert self._process.stdin is not None  # noqa: S101 - for type checkers
            write_message(self._process.stdin, data)  # type: ignore[arg-type]

    def _read(self) -> None:
        output: Any = self._process.stdout
        with suppress(OSError, ValueError):
            while (data := read_message(output, _MOST_BYTES)) is not None:
                said = json.loads(data)
                if "started" in said:
                    self._programs.add(said["started"])
                elif "ended" in said:
                    self._programs.discard(said["ended"])
                else:
                    with self._lock:
                        answers = self._waiting.get(said["id"])
                    if answers is not None:
                        answers.put(said)
        self.ended = True
        end_child(self._process)
        for program in self._programs:  # Of a child that could not end them itself.
            _kill_group(program)

    def close(self) -> None:
        with self._lock, suppress(OSError):
            assert self._process.stdin is not None  # noqa: S101 - for type checkers
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reader.join(_END_S)


def _kill_group(leader: int) -> None:
    with suppress(OSError):
        if sys.platform == "win32":
            os.kill(leader, signal.SIGTERM)
        else:
            os.killpg(leader, signal.SIGKILL)
