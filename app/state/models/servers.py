"""Hold the servers that can be chosen as the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

_MARK = "server:"
ADD_SERVER = "add-server"
"""The line of the target picker that asks for a server."""
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Server:
    """Hold a server as a target: its address, the model there, and what it is called here."""

    address: str
    model: str
    name: str

    @property
    def key(self) -> Path:
        """Return what stands for it where the paths of models stand. No file has this name."""
        return Path(_MARK + quote(self.address, safe="") + "," + quote(self.model, safe=""))

    def to_mapping(self) -> dict[str, str]:
        """Return it as the settings keep it."""
        return {"address": self.address, "model": self.model, "name": self.name}

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Server | None:
        """Return what was kept; None where it makes no sense."""
        values = [data.get(name) for name in ("address", "model", "name")]
        if not all(isinstance(value, str) and 0 < len(value) <= _LONGEST and value.isprintable() for value in values):
            return None
        return cls(*map(str, values))


def is_server(path: Path | None) -> bool:
    """Return whether what is chosen is a server, not a file."""
    return path is not None and str(path).startswith(_MARK)


def server_of(servers: Sequence[Server], path: Path | None) -> Server | None:
    """Return the server that a key stands for, if it is one of these."""
    return next((each for each in servers if each.key == path), None)


def read_servers(kept: Sequence[Mapping[str, Any]]) -> tuple[Server, ...]:
    """Return the servers that the settings keep, each once."""
    found = [server for each in kept if (server := Server.from_mapping(each)) is not None]
    return tuple({server.key: server for server in found}.values())


def short_model(model: str) -> str:
    """Return the name of a server's model as it is shown: llama.cpp's are paths of files."""
    name = model.replace("\\", "/").rstrip("/").rpartition("/")[2] or model
    return name.removesuffix(".gguf")
