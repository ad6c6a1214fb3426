"""Read pip's package indexes: from the same files and variables, in the same order.

Source: pip's documentation, "Configuration". Of all options only those are read that say where an index is and how it
is reached.
"""

from __future__ import annotations

import configparser
import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.system.files import expanded

_SECTIONS = ("global", "download", "install")
_MOST_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class PipSettings:
    """Hold the addresses of indexes in the order in which they are asked; a file of certificates; a proxy."""

    indexes: tuple[str, ...]
    bundle: str | None = None
    proxy: str | None = None


def pip_settings() -> PipSettings:
    """Return the settings that pip would use; without an index if pip is configured to use none."""
    options: dict[str, str] = {}
    for path in _files():
        options |= _read(path)
    for name, value in os.environ.items():
        if name.startswith("PIP_") and value:
            options[_key(name[4:])] = value
    if options.get("no-index", "").strip().casefold() in ("1", "true", "yes", "on", "y", "t"):
        return PipSettings(())
    indexes = [options.get("index-url", "").strip() or _default(), *options.get("extra-index-url", "").split()]
    asked = dict.fromkeys(index.rstrip("/") for index in indexes if index.startswith(("http://", "https://")))
    bundle = expanded(options["cert"]) if options.get("cert") else None
    return PipSettings(tuple(asked), None if bundle is None else str(bundle), options.get("proxy") or None)


def _default() -> str:
    """Return the index that pip asks where nothing is set, as pip itself says; empty without pip."""
    try:
        found = importlib.import_module("pip._internal.models.index")
    except ImportError:
        return ""
    return str(found.PyPI.simple_url)


def _files() -> Iterator[Path]:
    """Return the configuration files, those that count more later."""
    named = os.environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return
    home, name = Path.home(), "pip.ini" if sys.platform == "win32" else "pip.conf"
    if sys.platform == "win32":
        yield Path(os.environ.get("PROGRAMDATA", "C:\\ProgramData"), "pip", name)
    elif sys.platform == "darwin":
        yield Path("/Library/Application Support/pip", name)
    else:
        for folder in reversed((os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")):
            yield Path(folder, "pip", name)
        yield Path("/etc", name)
    if named is None or not expanded(named).exists():
        yield home / ("pip" if sys.platform == "win32" else ".pip") / name
        yield _user_folder(home) / name
    yield Path(sys.prefix, name)
    if named:
        yield expanded(named)


def _user_folder(home: Path) -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", home), "pip")
    own = home / "Library" / "Application Support" / "pip"
    if sys.platform == "darwin" and own.is_dir():
        return own
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config", "pip")


def _read(path: Path) -> Mapping[str, str]:
    """Return the options of a file; none if it cannot be read, which is pip's business to say."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return {}
        parser.read_string(path.read_text("utf-8"))
    except (OSError, ValueError, configparser.Error):
        return {}
    sections = [section for section in _SECTIONS if parser.has_section(section)]
    return {_key(name): value for section in sections for name, value in parser.items(section) if value}


def _key(name: str) -> str:
    return name.casefold().replace("_", "-").removeprefix("--")
