"""Find the MCP servers that other programs on this machine use. Their files are read, and never written."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from platformdirs import user_config_path

from engine.errors import InvalidRequest
from engine.tools.servers import ServerConfig, usable_servers


@dataclass(frozen=True, slots=True)
class ServersElsewhere:
    """Hold a program's servers: its name, the file, the servers, all of them off; and why others cannot be used."""

    program: str
    path: Path
    servers: tuple[ServerConfig, ...] = ()
    problems: tuple[str, ...] = ()


def servers_elsewhere() -> tuple[ServersElsewhere, ...]:
    """Return the servers of each program that is found and has any. Nothing is started."""
    found = [_read(program, path) for program, path in _places() if path.is_file()]
    return tuple(each for each in found if each.servers or each.problems)


def _read(program: str, path: Path) -> ServersElsewhere:
    try:
        servers, problems = usable_servers(path)
    except InvalidRequest:  # No list of servers is in it, mostly.
        return ServersElsewhere(program, path)
    return ServersElsewhere(program, path, tuple(replace(each, on=False, off=()) for each in servers), problems)


def _places() -> list[tuple[str, Path]]:
    home, settings = Path.home(), user_config_path(roaming=True)
    code = settings / "Code" / "User"
    return [
        ("Claude Desktop", settings / "Claude" / "claude_desktop_config.json"),
        ("Claude Code", home / ".claude.json"),
        ("Cursor", home / ".cursor" / "mcp.json"),
        ("VS Code", code / "mcp.json"),
        ("Cline", code / "globalStorage" / "saoudrizwan.claude-dev" / "settings" / "cline_mcp_settings.json"),
        ("LM Studio", home / ".lmstudio" / "mcp.json"),
        ("Jan", settings / "Jan" / "data" / "mcp_config.json"),
        ("Windsurf", home / ".codeium" / "windsurf" / "mcp_config.json"),
        ("Zed", (settings / "Zed" if sys.platform == "win32" else home / ".config" / "zed") / "settings.json"),
    ]
