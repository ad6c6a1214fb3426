"""Read and write which MCP servers there are, in the `mcpServers` JSON that all programs use."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from engine.errors import InvalidRequest
from engine.system.files import private_folder, write_whole
from engine.tools.tool import one_line
from engine.translatable import Translatable

_MOST_BYTES = 16 * 2**20
_MOST_SERVERS = 200
_LONGEST_NAME = 64
_OURS = "outrider"
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}")
_INPUT = re.compile(r"\$\{input:[^}]*\}")
_LISTS = ("mcpServers", "servers", "context_servers")
"""The programs' names for their lists of servers; the first that exists counts."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Describe the connection to a server: a program that is started, or an address.

    `on`: whether it may be started at all; `off`: the names of its tools that are switched off. `environment` and
    `headers` may hold secrets.
    """

    name: str
    command: str = ""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    folder: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    on: bool = True
    off: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.name.casefold() == _OURS:
            raise InvalidRequest("No tool server can have our own name, {name}.", name=self.name)
        if not self.name or "/" in self.name or one_line(self.name, _LONGEST_NAME) != self.name:
            raise InvalidRequest(
                "{name!r} cannot be the name of a tool server: up to 64 characters, no / in them.",
                name=one_line(self.name, 64),
            )
        if re.sub(r"\W|_", "", self.name).casefold() == "outrider":
            raise InvalidRequest("A tool server cannot be called {name}, as our own tools are.", name=self.name)
        if bool(self.command) == bool(self.url):
            raise InvalidRequest("The tool server {name} needs either a command or an address.", name=self.name)
        if self.url and not re.match(r"https?://[^\s/]", self.url):
            raise InvalidRequest("The address of the tool server {name} must begin with https://.", name=self.name)

    @property
    def where(self) -> str:
        """Return the address, or the command line, as one line for a person. Secrets in variables are not in it."""
        return one_line(self.url or " ".join([self.command, *self.arguments]))

    def to_dict(self) -> dict[str, Any]:
        """Return the server as `mcpServers` says it."""
        said: dict[str, Any] = {"command": self.command, "args": list(self.arguments)} if self.command else {}
        said |= {"env": dict(self.environment)} if self.environment else {}
        said |= {"cwd": self.folder} if self.folder else {}
        said |= {"type": "http", "url": self.url} if self.url else {}
        said |= {"headers": dict(self.headers)} if self.headers else {}
        said |= {} if self.on else {"disabled": True}
        return said | ({"disabledTools": list(self.off)} if self.off else {})

    def expanded(self) -> ServerConfig:
        """Return the server with the variables of the environment that it names. Raises InvalidRequest."""

        def fill(text: str) -> str:
            if _INPUT.search(text):
                said = Translatable(
                    "The tool server {name} wants an input that another program asks for: write it into {file}.",
                    name=self.name,
                    file=servers_file(),
                )
                raise InvalidRequest(said)
            return _VARIABLE.sub(lambda found: os.environ.get(found[1], ""), text)

        return replace(
            self,
            command=os.path.expanduser(fill(self.command)),  # noqa: PTH111 - a name alone stays one
            arguments=tuple(map(fill, self.arguments)),
            environment={name: fill(value) for name, value in self.environment.items()},
            folder=os.path.expanduser(fill(self.folder)),  # noqa: PTH111 - as above
            url=fill(self.url),
            headers={name: fill(value) for name, value in self.headers.items()},
        )


def servers_file() -> Path:
    """Return our own file of servers. It may not exist."""
    return user_config_path("outrider", appauthor=False) / "mcp.json"


def permissions_file() -> Path:
    """Return the file of permissions. It may not exist."""
    return user_config_path("outrider", appauthor=False) / "tool-permissions.json"


# Reading --------------------------------------------------------------------------------------------------------------


def read_servers(path: Path | None = None) -> tuple[ServerConfig, ...]:
    """Return the servers that a file lists, our own one without `path`. Raises InvalidRequest for a bad one."""
    path = servers_file() if path is None else path
    if path == servers_file() and not path.exists():
        return ()
    found, problems = usable_servers(path)
    if problems:
        raise InvalidRequest("{path}: {problem}", path=path, problem=problems[0])
    return found


def usable_servers(path: Path) -> tuple[tuple[ServerConfig, ...], tuple[str, ...]]:
    """Return the servers that a file lists, and the reasons why others in it cannot be used. Raises InvalidRequest."""
    return _usable(_read_json(path), path)


def servers_in(text: str) -> tuple[ServerConfig, ...]:
    """Return the servers that a text lists, as people pass them on: the braces of the whole may be missing.

    Raises InvalidRequest for a bad one, and where there is none.
    """
    said = text.strip()
    if len(said) > _MOST_BYTES:
        raise InvalidRequest(Translatable("That is too much text for a list of servers."))
    data = _json(said if said.startswith("{") else f"{{{said}}}", Translatable("The text"))
    named = isinstance(data, Mapping) and bool(data) and all(_says_where(value) for value in data.values())
    found, problems = _usable({_LISTS[0]: data} if named else data, Translatable("The text"))
    if problems or not found:
        raise InvalidRequest(problems[0] if problems else Translatable("The text lists no servers."))
    return found


def _says_where(value: object) -> bool:
    return isinstance(value, Mapping) and ("command" in value or "url" in value)


def _usable(data: object, path: object) -> tuple[tuple[ServerConfig, ...], tuple[str, ...]]:
    listed = data if isinstance(data, Mapping) else {}
    within = next((listed[name] for name in _LISTS if name in listed), None)
    if within is None and isinstance(listed.get("mcp"), Mapping):  # VS Code's settings.json.
        within = listed["mcp"].get("servers")
    if not isinstance(within, Mapping):
        raise InvalidRequest('{path} lists no servers under "mcpServers".', path=path)
    if len(within) > _MOST_SERVERS:
        raise InvalidRequest("{path} lists too many servers.", path=path)
    found, problems = [], []
    for name, value in within.items():
        try:
            found.append(_server(str(name), value))
        except InvalidRequest as error:
            problems.append(str(error))
    return tuple(found), tuple(problems)


def _read_json(path: Path) -> object:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InvalidRequest("{path} is too large for a list of servers.", path=path)
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidRequest("{path} is not UTF-8 text.", path=path) from None
    except OSError as error:
        raise InvalidRequest("Cannot read {path}: {reason}.", path=path, reason=error.strerror or str(error)) from None
    return _json(text, path)


def _json(text: str, path: object) -> object:
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    try:
        return json.loads(_without_comments(text))
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("{path} is not JSON: {error}.", path=path, error=error) from None


_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')


def _without_comments(text: str) -> str:
    """Return JSON without the comments and last commas that editors let people write."""
    for superfluous in (_COMMENT, _TRAILING):
        text = superfluous.sub(lambda found: found[1] or "", text)
    return text


def _server(name: str, data: object) -> ServerConfig:
    if not isinstance(data, Mapping):
        raise InvalidRequest("The tool server {name} must be an object.", name=one_line(name, 64))
    kind, command = data.get("type") or data.get("transport") or "", data.get("command") or ""
    if isinstance(command, Mapping):  # Zed's way: the command with its arguments.
        data, command = {**data, **command}, command.get("path") or command.get("command") or ""
    url = "" if command else data.get("url") or data.get("serverUrl") or data.get("httpUrl") or ""
    if kind == "sse":
        raise InvalidRequest(
            "The tool server {name} has the old SSE transport, which is not spoken here. Use its address for "
            "streamable HTTP.",
            name=one_line(name, 64),
        )
    return ServerConfig(
        name,
        _text(name, "command", command),
        tuple(_text(name, "args", each) for each in _list(name, "args", data.get("args"))),
        _texts(name, "env", data.get("env")),
        _text(name, "cwd", data.get("cwd") or ""),
        _text(name, "url", url),
        _texts(name, "headers", data.get("headers")),
        on=data.get("disabled") is not True and data.get("active") is not False and data.get("enabled") is not False,
        off=tuple(
            _text(name, "disabledTools", each) for each in _list(name, "disabledTools", data.get("disabledTools"))
        ),
    )


def _wrong(server: str, member: str) -> InvalidRequest:
    return InvalidRequest(
        '"{member}" of the tool server {name} is not what it must be.', member=member, name=one_line(server)
    )


def _text(server: str, member: str, value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise _wrong(server, member)
    return value


def _list(server: str, member: str, value: object) -> list[object]:
    if value is not None and not isinstance(value, list):
        raise _wrong(server, member)
    return value or []


def _texts(server: str, member: str, data: object) -> dict[str, str]:
    if data is not None and not isinstance(data, Mapping):
        raise _wrong(server, member)
    values = {} if data is None else data
    return {
        _text(server, member, name): str(value) if isinstance(value, int | float) else _text(server, member, value)
        for name, value in values.items()
    }


# Writing --------------------------------------------------------------------------------------------------------------


def write_servers(servers: Iterable[ServerConfig], path: Path | None = None) -> None:
    """Write our own file of servers, for its owner alone: it may hold secrets. Raises InvalidRequest."""
    path = servers_file() if path is None else path
    data = {"mcpServers": {server.name: server.to_dict() for server in servers}}
    try:
        private_folder(path.parent)
        write_whole(path, (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode(), private=True)
    except OSError as error:
        raise InvalidRequest("Cannot write {path}: {reason}.", path=path, reason=error.strerror or str(error)) from None
