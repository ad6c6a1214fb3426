"""Run `tools`: list the tool servers and their tools, add and switch them, and show the permissions."""

from __future__ import annotations

import argparse
import json
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from engine.cancel import CancelToken
from engine.cli.cancellable import EXIT_DONE, run_cancellable
from engine.errors import InvalidRequest
from engine.tools.elsewhere import servers_elsewhere
from engine.tools.mcp_client import ServerOffer, ToolServers
from engine.tools.permissions import Permission, Permissions
from engine.tools.servers import ServerConfig, permissions_file, read_servers, servers_file, write_servers
from engine.tools.tool import Tool

_EXAMPLES = """\
A new server is off: `on` lets it start. Nothing is started but by `show` and `allow`, and by a chat that names it.

examples:
  outrider-engine tools add files --start "npx -y @modelcontextprotocol/server-filesystem /home/me/notes"
  outrider-engine tools add wiki --url https://example.org/mcp --header "Authorization=Bearer ${WIKI_TOKEN}"
  outrider-engine tools show files
  outrider-engine tools off files/write_file
  outrider-engine tools allow files/read_file
  outrider-engine tools import
"""
_ACTIONS = {
    "list": "list the servers",
    "show": "start a server, and list its tools, resources and prompts",
    "on": "switch a server, or SERVER/TOOL, on",
    "off": "switch it off",
    "add": "add a server by its name, with --start or --url",
    "remove": "forget a server",
    "import": "list the servers of other programs; with a program's name take them over, switched off",
    "allow": "never ask about SERVER/TOOL again, also where it writes",
    "ask": "ask about SERVER/TOOL again",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.epilog = "\n".join(["actions:", *(f"  {name:<7} {said}" for name, said in _ACTIONS.items()), "", _EXAMPLES])
    parser.add_argument("action", metavar="ACTION", nargs="?", default="list", choices=list(_ACTIONS), help="see below")
    parser.add_argument("name", metavar="NAME", nargs="?", help="a server, SERVER/TOOL, or a program")
    parser.add_argument("--start", default="", metavar="COMMAND", help="with add: the command that starts the server")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable of that command")
    parser.add_argument("--url", default="", metavar="URL", help="with add: the address of the server")
    parser.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="what is sent to it")
    parser.add_argument("--json", action="store_true", help="with list and show: print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the named action. Raises EngineError."""
    if args.action not in ("list", "import") and args.name is None:
        raise InvalidRequest(f"Name what to {args.action}.")
    actions: dict[str, Callable[[argparse.Namespace], None]] = {
        "list": _list,
        "show": _show,
        "on": lambda given: _switch(given.name, on=True),
        "off": lambda given: _switch(given.name, on=False),
        "add": _add,
        "remove": _remove,
        "import": _import,
        "allow": _allow,
        "ask": _ask_again,
    }
    actions[args.action](args)
    return EXIT_DONE


# Servers --------------------------------------------------------------------------------------------------------------


def _list(args: argparse.Namespace) -> None:
    servers = read_servers()
    if args.json:
        print(json.dumps({"servers": [{"name": each.name, "on": each.on, "where": each.where} for each in servers]}))
        return
    for server in servers:
        off = f" (off: {', '.join(server.off)})" if server.off else ""
        print(f"{'on ' if server.on else 'off'}  {server.name}: {server.where}{off}")
    if not servers:
        print(f"There are no tool servers. They are kept in {servers_file()}.")


def _add(args: argparse.Namespace) -> None:
    servers = read_servers()
    if any(server.name == args.name for server in servers):
        raise InvalidRequest(f"There is a tool server {args.name} already. Remove it first.")
    try:
        command, *arguments = shlex.split(args.start, posix=os.name == "posix") or [""]
    except ValueError as error:
        raise InvalidRequest(f"--start {args.start!r} cannot be read as a command: {error}.") from None
    new = ServerConfig(
        args.name,
        command,
        tuple(arguments),
        environment=_pairs(args.env),
        url=args.url,
        headers=_pairs(args.header),
        on=False,
    )
    write_servers([*servers, new])
    print(f"To let it start: outrider-engine tools on {args.name!r}")


def _pairs(given: list[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    if wrong := next((each for each, (_, sign, _) in zip(given, pairs, strict=True) if not sign), None):
        raise InvalidRequest(f"{wrong!r} must be a name, = and a value.")
    return {name: value for name, _, value in pairs}


def _remove(args: argparse.Namespace) -> None:
    _server(args.name)
    write_servers([server for server in read_servers() if server.name != args.name])


def _import(args: argparse.Namespace) -> None:
    found = servers_elsewhere()
    if args.name is None:
        for each in found:
            print(f"{each.program} ({each.path}):")
            for said in (*(f"{server.name}: {server.where}" for server in each.servers), *each.problems):
                print(f"  {said}")
        if not found:
            print("No other program with tool servers was found.")
        return
    wanted = next((each for each in found if each.program.casefold() == args.name.casefold()), None)
    if wanted is None:
        there = ", ".join(each.program for each in found) or "none"
        raise InvalidRequest(f"There are no tool servers of {args.name}. There are of: {there}.")
    kept = read_servers()
    new = [server for server in wanted.servers if server.name not in {each.name for each in kept}]
    write_servers([*kept, *new])
    print(f"Added, switched off: {', '.join(server.name for server in new) or 'none that is new'}.")


def _switch(name: str, *, on: bool) -> None:
    server, _, tool = name.partition("/")
    found = _server(server)
    if tool:
        others = tuple(each for each in found.off if each != tool)
        changed = replace(found, off=others if on else (*others, tool))
    else:
        changed = replace(found, on=on)
    write_servers([changed if each.name == server else each for each in read_servers()])


def _server(name: str) -> ServerConfig:
    found = next((server for server in read_servers() if server.name == name), None)
    if found is None:
        raise InvalidRequest(f"There is no tool server {name!r}. See: outrider-engine tools")
    return found


# Tools ----------------------------------------------------------------------------------------------------------------


@contextmanager
def _offered(config: ServerConfig) -> Iterator[ServerOffer]:
    """Start a server, and end it behind it."""
    servers, cancel, found = ToolServers(), CancelToken(), list[ServerOffer]()

    def work() -> int:
        found.append(servers.host(config).offer(cancel))
        return EXIT_DONE

    try:
        run_cancellable(work, cancel)
        yield found[0]
    finally:
        servers.close()


def _show(args: argparse.Namespace) -> None:
    config, kept = _server(args.name), Permissions(permissions_file())
    with _offered(config) as offer:
        if args.json:
            print(
                json.dumps(
                    {"tools": [_described(tool, config, kept) for tool in offer.tools], **_further_offers(offer)}
                )
            )
            return
        for tool in offer.tools:
            described = _described(tool, config, kept)
            marks = (
                ["off"] * (not described["on"]) + ["writes"] * tool.writes + [described["permission"] or "asks first"]
            )
            print(f"{tool.name} ({', '.join(marks)})")
            if said := " ".join(tool.description.split()):
                print(f"    {said if len(said) < 200 else said[:200] + '…'}")
        for kind, names in _further_offers(offer).items():
            if names:
                print(f"{kind}: {', '.join(names)}")


def _further_offers(offer: ServerOffer) -> dict[str, list[str]]:
    return {"resources": list(offer.resources), "prompts": list(offer.prompts), "notes": list(offer.notes)}


def _described(tool: Tool, config: ServerConfig, kept: Permissions) -> dict[str, Any]:
    given = kept.given(tool)
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "parameters": dict(tool.schema),
        "writes": tool.writes,
        "on": tool.name not in config.off,
        "permission": None if given is None else given.value,
    }


def _allow(args: argparse.Namespace) -> None:
    kept = Permissions(permissions_file())
    tool = _tool(args.name)
    if tool.writes:
        kept.allow_writing_always(tool, allowed=True)
    kept.keep(tool, Permission.always)
    print(f"{tool.title} of {tool.server} is run without a question from now on, as long as it stays as it is.")


def _ask_again(args: argparse.Namespace) -> None:
    Permissions(permissions_file()).forget(args.name)


def _tool(key: str) -> Tool:
    server, _, name = key.partition("/")
    with _offered(_server(server)) as offer:
        found = next((tool for tool in offer.tools if tool.name == name), None)
        if found is None:
            raise InvalidRequest(f"{server} has no tool {name!r}: {', '.join(tool.name for tool in offer.tools)}.")
        return found
