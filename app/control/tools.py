"""Hold the tools for models: the built-in ones and those of servers, and the permissions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from app.bridge.job import Job
from app.bridge.tool_bench import ToolBench
from app.control.conversations import ConversationController
from app.control.problems import describe
from app.settings.settings import Settings
from app.state.conversations.conversation import Conversation
from app.state.tools.choice import TOOLS_OFF, Builtin, ToolChoice, tools_off
from app.state.tools.shown import HostShown, HostStage, ToolShown
from app.system.translation import say
from engine import Cancelled, CancelToken, EngineError, Permission, Permissions, Tool, Toolbox, ToolHost, ToolOutput
from engine.host import (
    BuiltinChoice,
    FoundChat,
    PlannedCall,
    ServerConfig,
    ToolServers,
    builtin_host,
    read_servers,
    run_call,
    servers_elsewhere,
    servers_in,
    write_servers,
)

if TYPE_CHECKING:
    from engine.host import McpHost, ServerOffer, ServersElsewhere

_SERVERS, _PERMISSIONS = "mcp.json", "tool-permissions.json"
_CLOSE_S = 1.0
_PASSAGE = 500
_READY_S = 20.0
"""The seconds that a reply waits for servers that are just starting."""


class _Known:
    """Cache a host's list of tools: reading it never waits."""

    def __init__(self, host: ToolHost, tools: tuple[Tool, ...]) -> None:
        self.name = host.name
        self._host, self._tools = host, tools

    def tools(self) -> tuple[Tool, ...]:
        return self._tools

    def call(
        self, tool_name: str, arguments: Mapping[str, Any], *, cancel: CancelToken, timeout: float = 120.0
    ) -> ToolOutput:
        return self._host.call(tool_name, arguments, cancel=cancel, timeout=timeout)

    def close(self) -> None:
        self._host.close()


@dataclass(eq=False)
class _Server:
    """Hold a server and its state."""

    config: ServerConfig
    host: McpHost | None = None
    stage: HostStage = "off"
    problem: str = ""
    offer: ServerOffer | None = None
    job: Job[Any] | None = None
    settled: asyncio.Event = field(default_factory=asyncio.Event)


class ToolDesk(QObject):
    """Manage the tool hosts. No program is started and no socket opened before somebody switches one on.

    Attributes: choice (which of ours are on), permissions, bench (runs what takes its time). Signal: changed().
    """

    changed = Signal()

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        settings: Settings,
        conversations: ConversationController,
        folder: Path | None,
    ) -> None:
        """Set up the desk. `folder`: where servers and permissions are kept; None: nowhere."""
        super().__init__()
        self.choice = ToolChoice.from_mapping(settings.tools)
        self.permissions = Permissions(None if folder is None else folder / _PERMISSIONS)
        self._settings = settings
        self._conversations = conversations
        self._file = None if folder is None else folder / _SERVERS
        self.bench = ToolBench(loop)
        self._children: ToolServers | None = None
        self._in_chats: set[tuple[int | None, str, str]] = set()
        self._next_off: frozenset[str] = frozenset()
        self.problem = ""
        self._servers: dict[str, _Server] = {}
        self._read()
        conversations.open_changed.connect(self._opened)

    # What is offered --------------------------------------------------------------------------------------------------

    def toolbox(self, conversation: Conversation | None) -> Toolbox:
        """Return the tools that a conversation may use now (None: the one that has no question yet)."""
        return Toolbox(self._hosts(), self._off() | self.off_in(conversation))

    def functions(self) -> list[dict[str, Any]]:
        """Describe the tools of the conversation on the screen for a model."""
        return self.toolbox(self._conversations.open).functions()

    def all_tools(self) -> tuple[HostShown, ...]:
        """Return the tools for chats by host, without those that are off in the settings."""
        shown = [replace(host, tools=tuple(tool for tool in host.tools if tool.on)) for host in self.hosts()]
        return tuple(host for host in shown if host.tools)

    async def settled(self) -> None:
        """Wait until servers that are starting are there, or have failed, but not for long."""
        waiting = [each.settled.wait() for each in self._servers.values() if each.stage == "starting"]
        if waiting:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.gather(*waiting), _READY_S)

    def off_in(self, conversation: Conversation | None) -> frozenset[str]:
        """Return the keys of the tools that a conversation may not use."""
        return self._next_off if conversation is None else tools_off(conversation.settings)

    def switch_in_chat(self, keys: Iterable[str], *, on: bool) -> None:
        """Enable these tools in the conversation on the screen, or disable them."""
        shown = self._conversations.open
        off = self.off_in(shown)
        off = off - frozenset(keys) if on else off | frozenset(keys)
        if shown is None:
            self._next_off = off
        else:
            self._conversations.set_settings(shown, {**shown.settings, TOOLS_OFF: sorted(off)})
        self.changed.emit()

    def _opened(self) -> None:
        shown = self._conversations.open
        if shown is not None and not len(shown) and self._next_off:
            self._conversations.set_settings(shown, {**shown.settings, TOOLS_OFF: sorted(self._next_off)})
        self._next_off = frozenset()
        self.changed.emit()

    def _hosts(self) -> list[ToolHost]:
        ready = [each for each in self._servers.values() if each.stage == "ready"]
        known = [_Known(each.host, each.offer.tools) for each in ready if each.host is not None and each.offer]
        return [builtin_host(self._builtin()), *known]

    def _builtin(self) -> BuiltinChoice:
        choice = self.choice
        folders = tuple(map(Path, choice.folders)) if "files" in choice.on else ()
        return BuiltinChoice(
            clock="clock" in choice.on,
            calculator="calculator" in choice.on,
            pages="pages" in choice.on,
            folders=folders,
            chats=self._search_chats if "chats" in choice.on else None,
        )

    def _off(self) -> frozenset[str]:
        of_servers = (f"{each.config.name}/{name}" for each in self._servers.values() for name in each.config.off)
        return self.choice.off | frozenset(of_servers)

    def _search_chats(self, words: str, most: int) -> Sequence[FoundChat]:
        """Search the kept chats but the one on the screen. On a thread of the bench."""
        shown = self._conversations.open
        with contextlib.closing(self._conversations.store.store.another()) as store:
            found = []
            for hit in store.search(words, most + 1):
                chat = None if shown is not None and hit.conversation == shown.id else store.load(hit.conversation)
                if chat is None:
                    continue
                text = chat[hit.message].text if hit.message in chat else hit.snippet  # type: ignore[index]
                at = max(text.casefold().find(words.split(maxsplit=1)[0].casefold()) - 100, 0)
                when = datetime.fromtimestamp(chat.updated, UTC).astimezone()
                found.append(FoundChat(chat.title, when, text[at : at + _PASSAGE]))
            return found[:most]

    # Calls ------------------------------------------------------------------------------------------------------------

    def run(self, planned: PlannedCall, toolbox: Toolbox) -> Job[ToolOutput]:
        """Run a call that was allowed. Raises Cancelled."""
        return self.bench.start(lambda cancel: run_call(planned, toolbox, cancel=cancel))

    def given(self, tool: Tool, conversation: Conversation | None) -> Permission | None:
        """Return the answer for a tool; None: a person is to be asked."""
        said = self.permissions.given(tool)
        if said is None and self._in_chat(tool, conversation) in self._in_chats:
            return Permission.chat
        return said

    def keep(self, tool: Tool, permission: Permission, conversation: Conversation | None) -> None:
        """Keep an answer. Raises InvalidRequest."""
        if permission is Permission.chat:
            self._in_chats.add(self._in_chat(tool, conversation))
        else:
            self.permissions.keep(tool, permission)
        self.changed.emit()

    def forget(self, key: str) -> None:
        """Ask about a tool again, whatever was answered."""
        if (tool := self._tool(key)) is not None:
            self._in_chats = {each for each in self._in_chats if each[1] != key}
            self.permissions.forget(tool)
            self.changed.emit()

    def set_permission(self, key: str, permission: Permission | None) -> None:
        """Set the permission for all later calls of a tool; None: a person is asked. Raises InvalidRequest."""
        tool = self._tool(key)
        if tool is not None and permission is not None:
            self.keep(tool, permission, None)
        else:
            self.forget(key)

    def allow_writing_always(self, key: str, *, allowed: bool) -> None:
        """Allow or forbid *always* for a tool that writes."""
        if (tool := self._tool(key)) is not None:
            self.permissions.allow_writing_always(tool, allowed=allowed)
            self.changed.emit()

    @staticmethod
    def _in_chat(tool: Tool, conversation: Conversation | None) -> tuple[int | None, str, str]:
        return None if conversation is None else conversation.id, tool.key, tool.digest

    def _tool(self, key: str) -> Tool | None:
        return next((tool for host in self._hosts() for tool in host.tools() if tool.key == key), None)

    # What is on -------------------------------------------------------------------------------------------------------

    def choose(self, choice: ToolChoice) -> None:
        self.choice = choice
        self._settings.tools = choice.to_mapping()
        self.changed.emit()

    def switch_builtin(self, name: Builtin, *, on: bool) -> None:
        self.choose(self.choice.switched(name, on=on))

    def switch_tool(self, key: str, *, on: bool) -> None:
        """Switch a single tool on or off for all chats."""
        server = self._servers.get(key.partition("/")[0])
        if server is None:
            off = self.choice.off - {key} if on else self.choice.off | {key}
            self.choose(replace(self.choice, off=off))
            return
        name = key.partition("/")[2]
        off_there = [each for each in server.config.off if each != name] + ([] if on else [name])
        server.config = replace(server.config, off=tuple(off_there))
        self._write()

    # Servers ----------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start the servers that are on."""
        for server in self._servers.values():
            if server.config.on:
                self._start(server)

    def add(self, configs: Iterable[ServerConfig]) -> tuple[str, ...]:
        """Add servers, in place of those of the same names; return their names."""
        added = []
        for config in configs:
            if (old := self._servers.get(config.name)) is not None:
                self._end(old)
            self._servers[config.name] = server = _Server(config)
            added.append(config.name)
            if config.on:
                self._start(server)
        self._write()
        return tuple(added)

    def add_text(self, text: str) -> tuple[str, ...]:
        """Add the servers of a piece of JSON, switched off; return their names. Raises InvalidRequest."""
        return self.add(replace(each, on=False) for each in servers_in(text))

    def remove(self, name: str) -> None:
        server = self._servers.pop(name, None)
        if server is not None:
            self._end(server)
            self._write()

    def switch_server(self, name: str, *, on: bool) -> None:
        """Start a server, now and whenever the program starts, or end it."""
        server = self._servers[name]
        server.config = replace(server.config, on=on)
        if on:
            self._start(server)
        else:
            self._end(server)
        self._write()

    def read_log(self, name: str, tell: Callable[[str], None]) -> None:
        """Pass on the log of a server's program, once it is read."""
        server = self._servers.get(name)
        host = None if server is None else server.host
        if host is None:
            tell("")
            return
        job = self.bench.start(lambda _cancel: host.log())
        job.result.add_done_callback(lambda done: tell("" if done.exception() else done.result()))

    def look_elsewhere(self, tell: Callable[[tuple[ServersElsewhere, ...]], None]) -> None:
        """Pass on the servers of other programs, once they are read."""
        job = self.bench.start(lambda _cancel: servers_elsewhere())
        job.result.add_done_callback(lambda done: tell(() if done.exception() else done.result()))

    def hosts(self) -> tuple[HostShown, ...]:
        """Return all tool hosts: our own first, on or off."""
        ours = tuple(self._shown(tool) for tool in builtin_host(self._builtin()).tools())
        own = HostShown("Outrider", "ready" if ours else "off", tools=ours)
        return own, *map(self._shown_server, self._servers.values())

    def close(self) -> None:
        """End all servers and all calls, for closing."""
        self.bench.close(_CLOSE_S)
        if self._children is not None:
            self._children.close()

    def _shown_server(self, server: _Server) -> HostShown:
        offer, config = server.offer, server.config
        shown = HostShown(config.name, server.stage, config.where, server.problem)
        if offer is None:
            return shown
        tools = tuple(map(self._shown, offer.tools))
        return replace(shown, tools=tools, notes=offer.notes, resources=offer.resources, prompts=offer.prompts)

    def _shown(self, tool: Tool) -> ToolShown:
        return ToolShown(
            tool.key,
            say(tool.title),
            tool.description,
            tool.key not in self._off(),
            tool.writes,
            self.permissions.given(tool),
            self.permissions.may_be_always(tool),
        )

    def _start(self, server: _Server) -> None:
        self._children = self._children or ToolServers()
        host = server.host = self._children.host(server.config)

        def offer(cancel: CancelToken) -> ServerOffer:
            found = host.offer(cancel)
            Toolbox([_Known(host, found.tools)])  # Checked here, many large tools keep the window waiting no more.
            return found

        server.stage, server.problem, server.offer = "starting", "", None
        server.settled.clear()
        job = server.job = self.bench.start(offer)
        job.result.add_done_callback(lambda done: self._started(server, job, done))
        self.changed.emit()

    def _started(self, server: _Server, job: Job[ServerOffer], done: asyncio.Future[ServerOffer]) -> None:
        error = done.exception()
        if server.job is not job:
            return
        server.job = None
        if isinstance(error, Cancelled):
            server.stage = "off"
        elif error is not None:
            server.stage, server.problem = "failed", describe(error).text
        else:
            server.stage, server.offer = "ready", done.result()
        server.settled.set()
        self.changed.emit()

    def _end(self, server: _Server) -> None:
        host, job = server.host, server.job
        server.host, server.job, server.offer, server.stage, server.problem = None, None, None, "off", ""
        server.settled.set()
        if job is not None:
            job.cancel()
        if host is not None:
            self.bench.start(lambda _cancel: host.close()).result.add_done_callback(_forget)

    def _read(self) -> None:
        if self._file is None or not self._file.exists():
            return
        try:
            self._servers = {each.name: _Server(each) for each in read_servers(self._file)}
        except EngineError as error:
            self.problem = describe(error).text

    def _write(self) -> None:
        self.problem = ""
        if self._file is not None:
            try:
                write_servers((each.config for each in self._servers.values()), self._file)
            except EngineError as error:
                self.problem = describe(error).text
        self.changed.emit()


def _forget(done: asyncio.Future[Any]) -> None:
    done.exception()
