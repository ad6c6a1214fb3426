"""Take options from a settings file: `engine.json` in the user's configuration folder.

It is a JSON object by command, `*` for all that have the option: {"*": {"threads": 4}, "chat": {"target": "coder"}}.
What is written on the command line counts more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from engine.cli.arguments.parser import CommandParser
from engine.errors import InvalidRequest

_MOST_BYTES = 2**20


def settings_place() -> Path:
    """Return the path of the settings file. It may not exist."""
    return user_config_path("outrider", appauthor=False) / "engine.json"


def with_kept(argv: Sequence[str], parser: CommandParser) -> list[str]:
    """Return arguments with those of the settings file in front of them. Raises InvalidRequest."""
    command = argv[0] if argv else ""
    place = settings_place()
    if not command or command.startswith("-") or not place.is_file():
        return list(argv)
    found = parser.command(command)
    if found is None:
        return list(argv)
    known = found.options
    kept = _read(place)
    defaults = {name: value for name, value in kept.get("*", {}).items() if f"--{name}" in known}
    defaults |= kept.get(command, {})
    added: list[str] = []
    for name, value in defaults.items():
        if f"--{name}" not in known:
            raise InvalidRequest(f"{place}: {command} has no option --{name}.")
        added += _words(name, value, place)
    return [command, *added, *argv[1:]]


def _read(place: Path) -> dict[str, dict[str, Any]]:
    try:
        with place.open("rb") as file:
            data = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        raise InvalidRequest(f"{place} cannot be read as JSON. Mend it, or move it away.") from None
    if not isinstance(data, Mapping) or not all(isinstance(each, dict) for each in data.values()):
        raise InvalidRequest(f'{place} must be an object by command, such as {{"chat": {{"threads": 4}}}}.')
    return dict(data)


def _words(name: str, value: object, place: Path) -> list[str]:
    """Return an option's words on the command line: a flag, a value, or several."""
    if value in (None, False):
        return []
    if value is True:
        return [f"--{name}"]
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in values):
        raise InvalidRequest(f"{place}: --{name} must be a text, a number, true or false, not {value!r}.")
    return [f"--{name}={each}" for each in values]
