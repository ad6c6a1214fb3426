"""Define the options for a conversation's tools, and open the named tools."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import InvalidRequest
from engine.tools.builtin.host import BuiltinChoice, builtin_host
from engine.tools.loop import CALL_LIMIT
from engine.tools.mcp_client import ToolServers
from engine.tools.servers import ServerConfig, read_servers
from engine.tools.tool import ToolHost
from engine.tools.toolbox import Toolbox

_FOLDER = "files:"
_SWITCHES = {"time": "clock", "calculate": "calculator", "page": "pages"}
OWN_TOOLS = (*_SWITCHES, f"{_FOLDER}FOLDER")
"""Names of the tools that come along."""


def add_tool_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument_group("tools that are run, each after a question").add_argument
    add(
        "--mcp",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help='JSON with the MCP servers to start ("mcpServers", as other programs write it); can be repeated',
    )
    add(
        "--tool",
        action="append",
        default=[],
        metavar="NAME",
        help="a server of `outrider-engine tools`, one of its tools as SERVER/TOOL, or "
        f"{', '.join(OWN_TOOLS[:-1])} or {OWN_TOOLS[-1]}; can be repeated",
    )
    add(
        "--call-limit",
        type=int,
        default=CALL_LIMIT,
        metavar="N",
        help=f"calls that may be made for one question (default: {CALL_LIMIT})",
    )


class NamedTools(NamedTuple):
    """Hold the tools named on the command line: ours, servers, and by server the tools to use (none: all of them)."""

    choice: BuiltinChoice
    servers: list[ServerConfig]
    only: dict[str, list[str]]


def named_tools(args: argparse.Namespace) -> NamedTools | None:
    """Return the named tools, None without any; starts nothing. Raises InvalidRequest for options that conflict."""
    if args.call_limit < 1:
        raise InvalidRequest("--call-limit must be 1 or more.")
    if not args.mcp and not args.tool:
        return None
    if args.tools is not None:
        raise InvalidRequest("--tools lists functions that are not run. Omit it, or --mcp and --tool.")
    choice, only = _named(args.tool)
    configs = [config for path in args.mcp for config in read_servers(path) if config.on] + _own(only)
    names = [config.name for config in configs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InvalidRequest(f"There are two tool servers {twice}. Give one of them another name.")
    return NamedTools(choice, configs, only)


@contextmanager
def opened_tools(named: NamedTools) -> Iterator[Toolbox]:
    """Open tools; starts servers, and ends them behind it. Raises InvalidRequest."""
    servers = ToolServers()
    try:
        hosts: list[ToolHost] = [builtin_host(named.choice), *map(servers.host, named.servers)]
        box = Toolbox(hosts, off=[f"{config.name}/{name}" for config in named.servers for name in config.off])
        _keep_named(box, named.only)
        yield box
    finally:
        servers.close()


def _named(names: list[str]) -> tuple[BuiltinChoice, dict[str, list[str]]]:
    """Parse the tools of ours and of servers; no tools of a server means all."""
    choice = BuiltinChoice()
    named: dict[str, list[str]] = {}
    for name in names:
        server, _, tool = name.partition("/")
        if name.startswith(_FOLDER):
            folder = Path(name.removeprefix(_FOLDER)).expanduser().absolute()
            if not folder.is_dir():
                raise InvalidRequest(f"--tool {name}: there is no folder {folder}.")
            choice = replace(choice, folders=(*choice.folders, folder))
        elif name in _SWITCHES:
            switched: Any = {_SWITCHES[name]: True}
            choice = replace(choice, **switched)
        else:
            named.setdefault(server, []).extend([tool] if tool else [])
    return choice, named


def _own(named: Iterable[str]) -> list[ServerConfig]:
    """Return the servers of our own file that are named. Naming one switches it on for this once."""
    known = {config.name: config for config in read_servers()} if named else {}
    for server in named:
        if server not in known:
            listed = ", ".join((*OWN_TOOLS, *known))
            raise InvalidRequest(f"--tool {server}: there is no such tool or server. There are: {listed}.")
    return [known[server] for server in named]


def _keep_named(box: Toolbox, named: Mapping[str, list[str]]) -> None:
    """Switch off the other tools of servers of which some are named, and on those. Raises InvalidRequest."""
    for server, names in named.items():
        there = {tool.name: tool for tool in box.tools.values() if tool.server == server}
        for name in names:
            if name not in there and server not in box.problems:
                raise InvalidRequest(f"--tool {server}/{name}: there is no such tool. There are: {', '.join(there)}.")
        for name, tool in there.items() if names else ():
            box.switch(tool.key, on=name in names)
