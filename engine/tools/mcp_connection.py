"""A connection to one MCP server within the child: its tools, and calls, each within bounds."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
import mcp_types
from mcp import Client, MCPError
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from engine._version import __version__
from engine.tools.tool import one_line, plain_text
from engine.translatable import Translatable

MOST_LISTED = 500
"""Tools of one server that are listed, and as many resources and prompts."""
_PAGES = 50
_MOST_SCHEMA = 16_000
_DEEPEST = 24
_MOST_DESCRIPTION = 2_000
_NAME = re.compile(r"[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]{0,127}")
_MOST_PICTURES, _MOST_PICTURE = 4, 2 * 2**20
_KINDS = ("image/png", "image/jpeg", "image/gif", "image/webp")
_SECONDS = 30.0


class ServerGone(Exception):
    """Report in one sentence why a server cannot be used."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


class ServerConnection:
    """Connect to a server, and stay connected until it is closed. Attributes: config, gone (True once it is lost)."""

    def __init__(self, name: str, config: Mapping[str, Any], notify: Callable[[dict[str, Any]], None]) -> None:
        self.config, self.gone = config, False
        self._name, self._notify = name, notify
        self._process: ServerProcess | None = None
        self._ended = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live())

    @property
    def log(self) -> str:
        """Return the end of the server program's log."""
        return "" if self._process is None else plain_text(self._process.log)

    async def close(self) -> None:
        """End the connection, and the server's program."""
        self._ended.set()
        if not self._client.done():
            self._task.cancel()
        await asyncio.wait([self._task])

    async def _live(self) -> None:
        """Run the one task that opens and closes the client's contexts."""
        try:
            async with self._transport() as transport, Client(transport, cache=None, client_info=_US) as client:
                self._client.set_result(client)
                await self._ended.wait()
        except BaseException as error:  # noqa: BLE001 - it is passed to the client's waiting callers
            if not self._client.done():
                self._client.set_exception(ServerGone(self._why(error)))
                self._client.exception()  # It was seen, whether or not anybody waits.
        finally:
            self.gone = True

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        if url := self.config["url"]:
            timeout = httpx2.Timeout(_SECONDS, read=None)
            wire = _Bounded()
            async with httpx2.AsyncClient(transport=wire, headers=self.config["headers"], timeout=timeout) as http:
                yield streamable_http_client(url, http_client=http, max_sse_event_size=MOST_MESSAGE)
        else:
            self._process = ServerProcess(self.config, self._notify, self._lost)
            yield self._process.transport()

    def _lost(self) -> None:
        """Mark the connection as lost: the server's program ended, or broke the protocol."""
        self.gone = True
        self._ended.set()

    async def _connected(self) -> Client:
        return await asyncio.shield(self._client)

    # What it offers ---------------------------------------------------------------------------------------------------

    async def offers(self) -> dict[str, Any]:
        """Return its tools, resources and prompts, and notes on them. Raises ServerGone."""
        client = await self._connected()
        has = client.server_capabilities
        notes: list[Any] = []
        try:
            tools = await self._tools(client, notes)
            resources = await _listed(client.list_resources, "resources") if has.resources is not None else []
            prompts = await _listed(client.list_prompts, "prompts") if has.prompts is not None else []
        except Exception as error:  # noqa: BLE001 - a library may fail on what a server says in its own ways
            raise ServerGone(self._why(error)) from None
        return {
            "tools": tools,
            "resources": [one_line(each.title or each.name) for each in resources],
            "prompts": [one_line(each.title or each.name) for each in prompts],
            "notes": notes,
        }

    async def _tools(self, client: Client, notes: list[Any]) -> list[dict[str, Any]]:
        found = [each for each in await _listed(client.list_tools, "tools") if not _is_task(each)]
        if len(found) > MOST_LISTED:
            notes.append(
                Translatable(
                    "The tool server {name} offers more than {most} tools: the others are left out.",
                    name=self._name,
                    most=MOST_LISTED,
                )
            )
        described = {each.name: _described(each) for each in found[:MOST_LISTED]}
        if bad := [name for name, each in described.items() if each is None]:
            notes.append(
                Translatable(
                    "Tools of {name} are left out, since their names or parameters are too long or too deep: {tools}.",
                    name=self._name,
                    tools=one_line(", ".join(one_line(each, 40) for each in bad[:5])),
                )
            )
        return [each for each in described.values() if each is not None]

    # Calls ------------------------------------------------------------------------------------------------------------

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; return its result as text. Raises ServerGone."""
        client = await self._connected()
        try:
            result = await client.call_tool(tool, arguments)
        except Exception as error:  # noqa: BLE001 - as above
            raise ServerGone(self._why(error)) from None
        return _as_text(result)

    def _why(self, error: BaseException) -> str:
        """Describe an error in one sentence. A connection that was closed is not used again."""
        process = self._process
        if isinstance(error, MCPError) and error.error.code == mcp_types.CONNECTION_CLOSED:
            self._lost()
        if process is not None and process.problem:
            return Translatable("The tool server {name} {problem}.", name=self._name, problem=process.problem)
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, FileNotFoundError | PermissionError | NotADirectoryError) and process is not None:
            return Translatable(
                "The tool server {name} cannot be started: {command}: {reason}.",
                name=self._name,
                command=one_line(self.config["command"]),
                reason=error.strerror or type(error).__name__,
            )
        reason = one_line(str(error)).rstrip(".") or type(error).__name__
        if isinstance(error, MCPError):
            return Translatable("The tool server {name} refuses: {reason}.", name=self._name, reason=reason)
        if isinstance(error, httpx2.HTTPError | httpx2.InvalidURL):
            return Translatable("The tool server {name} cannot be reached: {reason}.", name=self._name, reason=reason)
        return Translatable(
            "The tool server {name} answers what makes no sense: {reason}.", name=self._name, reason=reason
        )


_US = mcp_types.Implementation(name="outrider", version=__version__)


async def _listed(ask: Callable[..., Any], name: str) -> list[Any]:
    """Gather a list of several pages, a little more than MOST_LISTED at most."""
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await ask(cursor=cursor)
        found += getattr(page, name)
        cursor = page.next_cursor
        if cursor is None or len(found) > MOST_LISTED:
            break
    return found[: MOST_LISTED + 1]


def _is_task(tool: mcp_types.Tool) -> bool:
    """Return True for a tool that answers only to clients that keep tasks running, which this one does not."""
    return tool.execution is not None and tool.execution.task_support == "required"


def _described(tool: mcp_types.Tool) -> dict[str, Any] | None:
    """Read a tool; None if its name or parameters are out of bounds."""
    try:
        schema = json.dumps(tool.input_schema)
    except (ValueError, RecursionError):
        return None
    if not _NAME.fullmatch(tool.name) or len(schema) > _MOST_SCHEMA or not _shallow(tool.input_schema):
        return None
    hints = tool.annotations
    title = one_line(tool.title or (hints and hints.title) or tool.name, 80)
    return {
        "name": tool.name,
        "title": title or tool.name,
        "description": plain_text(tool.description or "", _MOST_DESCRIPTION),
        "schema": tool.input_schema,
        "writes": not (hints is not None and hints.read_only_hint is True),
    }


def _shallow(value: object) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for part in level
            if isinstance(part, dict | list)
            for inner in (part.values() if isinstance(part, dict) else part)
        ]
    return not any(isinstance(each, dict | list) for each in level)


def _as_text(result: mcp_types.CallToolResult) -> dict[str, Any]:
    """Return a result as one text, with its pictures beside it."""
    texts: list[str] = []
    pictures: list[str] = []
    for block in result.content:
        match block:
            case mcp_types.TextContent(text=text):
                texts.append(text)
            case mcp_types.ImageContent(data=data, mime_type=kind) if _is_picture(data, kind):
                pictures.append(f"data:{kind};base64,{data}")
            case mcp_types.EmbeddedResource(resource=mcp_types.TextResourceContents(text=text)):
                texts.append(text)
            case mcp_types.ResourceLink(uri=uri, name=name):
                texts.append(f"{one_line(name)}: {one_line(str(uri))}")
            case _:
                texts.append(f"[What is no text was left out: {block.type}.]")
    if not texts and not pictures and result.structured_content is not None:
        texts.append(json.dumps(result.structured_content, ensure_ascii=False))
    output = {"text": plain_text("\n".join(texts)), "is_error": result.is_error}
    return {**output, "pictures": pictures[:_MOST_PICTURES]}


def _is_picture(data: str, kind: str) -> bool:
    if kind not in _KINDS or len(data) > _MOST_PICTURE:
        return False
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


# HTTP -----------------------------------------------------------------------------------------------------------------


class _Bounded(httpx2.AsyncHTTPTransport):
    """End answers that are longer than a message may be. Streams of events are bounded event by event."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and bound its answer."""
        response = await super().handle_async_request(request)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = _Counted(response.stream)
        return response


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_MESSAGE
        async for part in self._stream:
            left -= len(part)
            if left < 0:
                raise httpx2.StreamError("it is too long")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


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
