"""Define targets: a model's file, or a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

_SCHEME = "server"
ADD_SERVER = "add-server"
"""The line of the target picker that asks for a server."""
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Server:
    """Hold a server as a target: its address, the model there, and its display name."""

    address: str
    model: str
    name: str = field(compare=False)

    def to_mapping(self) -> dict[str, str]:
        return {"address": self.address, "model": self.model, "name": self.name}

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Server | None:
        """Read a kept server; None if it makes no sense."""
        values = [data.get(name) for name in ("address", "model", "name")]
        if not all(isinstance(value, str) and 0 < len(value) <= _LONGEST and value.isprintable() for value in values):
            return None
        return cls(*map(str, values))


Target = Path | Server


def write_target(target: Target) -> str:
    if isinstance(target, Path):
        return str(target)
    return f"{_SCHEME}:{quote(target.address, safe='')},{quote(target.model, safe='')}"


def read_target(text: str, servers: Sequence[Server]) -> Target:
    """Return the target in the settings: the server, if it is one of these, under its name."""
    scheme, _, rest = text.partition(":")
    address, parted, model = rest.partition(",")
    if scheme != _SCHEME or not parted:
        return Path(text)
    server = Server(unquote(address), unquote(model), short_model(unquote(model)))
    return next((each for each in servers if each == server), server)


def read_servers(kept: Sequence[Mapping[str, Any]]) -> tuple[Server, ...]:
    """Return the servers that the settings keep, each once."""
    found = [server for each in kept if (server := Server.from_mapping(each)) is not None]
    return tuple({server: server for server in found}.values())


def short_model(model: str) -> str:
    """Return the display name of a server's model: llama.cpp's are paths of files."""
    name = model.replace("\\", "/").rstrip("/").rpartition("/")[2] or model
    return name.removesuffix(".gguf")
