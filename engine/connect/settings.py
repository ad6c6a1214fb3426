"""Change the settings of other programs: other entries stay, and a copy of the old file is kept."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from engine.errors import InvalidRequest
from engine.system.files import write_whole
from engine.translatable import Translatable

_MOST_BYTES = 4 * 2**20
_COPY = ".before-outrider"


def write_settings(path: Path, text: str) -> Path | None:
    """Write a settings file, and return the copy of the old one; None if there was none, or nothing to change.

    Raises InvalidRequest.
    """
    try:
        old = path.read_bytes() if path.exists() else None
        if old == text.encode():
            return None
        copy = None if old is None else _free(path)
        if copy is not None and old is not None:
            write_whole(copy, old)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())
    except OSError as error:
        raise InvalidRequest(
            Translatable("Cannot write {path}: {reason}.", path=path, reason=error.strerror or str(error))
        ) from None
    return copy


def _free(path: Path) -> Path:
    names = (f"{path.name}{_COPY}{number or ''}" for number in range(10_000))
    return next(copy for name in names if not (copy := path.with_name(name)).exists())


def read_settings(path: Path) -> str:
    """Return the text of a settings file, '' if there is none. Raises InvalidRequest."""
    try:
        if not path.exists():
            return ""
        if path.stat().st_size > _MOST_BYTES:
            raise InvalidRequest(
                Translatable("{path} is too large for settings. Look at it, and copy what to set by hand.", path=path)
            )
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidRequest(
            Translatable("{path} is no text. Look at it, and copy what to set by hand.", path=path)
        ) from None
    except OSError as error:
        raise InvalidRequest(
            Translatable("Cannot read {path}: {reason}.", path=path, reason=error.strerror or str(error))
        ) from None


def _not_readable(path: Path, kind: str) -> InvalidRequest:
    problem = Translatable(
        "{path} is no plain {kind}, or has it in a form of its own. Copy what to set by hand.", path=path, kind=kind
    )
    return InvalidRequest(problem)


# JSON -----------------------------------------------------------------------------------------------------------------


def json_with(path: Path, wanted: Mapping[str, Any]) -> str:
    """Return the text of a JSON file with these members, those within objects beside the others there.

    Raises InvalidRequest, also where the file has comments, which would be lost.
    """
    text = read_settings(path)
    try:
        there = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        raise _not_readable(path, "JSON") from None
    if not isinstance(there, dict):
        raise _not_readable(path, "JSON")
    return json.dumps(_merged(there, wanted), indent=2, ensure_ascii=False) + "\n"


def _merged(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(there)
    for name, value in wanted.items():
        inner = made.get(name)
        made[name] = _merged(inner, value) if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return made


# TOML -----------------------------------------------------------------------------------------------------------------


def toml_with(path: Path, top: Mapping[str, str], table: str, members: Mapping[str, str]) -> str:
    """Return the text of a TOML file with these texts at its top, and with this table. Raises InvalidRequest."""
    text = read_settings(path)
    try:
        there = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        raise _not_readable(path, "TOML") from None
    lines = text.splitlines()
    first = next((place for place, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    before, behind = _without_table(lines[:first], None), _without_table(lines[first:], table)
    before, behind = _stripped(before), _stripped(behind)
    for name, value in top.items():
        before = [line for line in before if not re.match(rf"\s*{re.escape(name)}\s*=", line)]
        before.append(f"{name} = {json.dumps(value)}")
    body = [f"{name} = {json.dumps(value)}" for name, value in members.items()]
    made = "\n".join([*before, "", *behind, *([""] if behind else []), f"[{table}]", *body, ""])
    expected: Any = _merged(there, top)
    inner = expected
    for part in table.split(".")[:-1]:
        inner = inner.setdefault(part, {})
    inner[table.rpartition(".")[2]] = dict(members)
    try:
        same = tomllib.loads(made) == expected
    except tomllib.TOMLDecodeError:
        same = False
    if not same:  # It is written in a way that lines do not show.
        raise _not_readable(path, "TOML")
    return made


def _stripped(lines: list[str]) -> list[str]:
    """Return lines without empty ones at the end."""
    last = max((place for place, line in enumerate(lines) if line.strip()), default=-1)
    return lines[: last + 1]


def _without_table(lines: list[str], table: str | None) -> list[str]:
    kept, within = [], False
    for line in lines:
        if line.lstrip().startswith("["):
            within = line.strip() == f"[{table}]"
        if not within:
            kept.append(line)
    return kept


# YAML, as far as these programs' files go ---------------------------------------------------------------------------


def yaml_with(path: Path, top: Mapping[str, str]) -> str:
    """Return the text of a YAML file with these texts at its top. Raises InvalidRequest if it is no mapping."""
    lines = _yaml_lines(path)
    if any(line[:1] in "-[{" for line in lines if line.strip()):
        raise _not_readable(path, "YAML")
    for name, value in top.items():
        said = f"{name}: {json.dumps(value)}"
        places = [place for place, line in enumerate(lines) if re.match(rf"{re.escape(name)}\s*:", line)]
        if places and any(line[:1] in " \t" for line in lines[places[0] + 1 : places[0] + 2]):
            raise _not_readable(path, "YAML")
        lines = [line for place, line in enumerate(lines) if place not in places[1:]]
        if places:
            lines[places[0]] = said
        else:
            lines.append(said)
    return "\n".join([*lines, ""])


def yaml_list_with(path: Path, key: str, item: Mapping[str, Any], head: Mapping[str, str]) -> str:
    """Return the text of a YAML file with an item in the list `key`; '' for a file that is a list itself.

    An item whose first member is the same is replaced. `head`: what a new file begins with. Raises InvalidRequest.
    """
    lines = _yaml_lines(path)
    if not any(line.strip() for line in lines):
        lines = [*(f"{name}: {json.dumps(value)}" for name, value in head.items()), *([f"{key}:"] if key else [])]
    place = 0
    if key:
        empty = re.compile(rf"{re.escape(key)}\s*:\s*(\[\s*\]\s*)?(#.*)?")
        found = [number for number, line in enumerate(lines) if empty.fullmatch(line)]
        if len(found) != 1:
            raise _not_readable(path, "YAML")
        lines[found[0]], place = f"{key}:", found[0] + 1
    end = place
    while end < len(lines) and (not lines[end].strip() or lines[end][0] in " -#"):
        end += 1
    begins = [number for number in range(place, end) if lines[number].lstrip().startswith("- ")]
    indent = re.sub(r"-.*", "", lines[begins[0]]) if begins else "  " if key else ""
    begins = [number for number in begins if lines[number].startswith(f"{indent}- ")]
    items = [lines[begin:stop] for begin, stop in pairwise([*begins, end])] if begins else []
    first = next(iter(item))
    own = re.compile(rf"\s*-\s*{re.escape(first)}\s*:\s*[\"']?{re.escape(str(item[first]))}[\"']?\s*")
    kept = [line for lines_of in items if not own.fullmatch(lines_of[0]) for line in lines_of if line.strip()]
    entries = [f"{name}: {json.dumps(value)}" for name, value in item.items()]
    made = [f"{indent}{'- ' if number == 0 else '  '}{line}" for number, line in enumerate(entries)]
    before = lines[: begins[0]] if begins else lines[:place]
    return "\n".join([*before, *kept, *made, *lines[end:], ""])


def _yaml_lines(path: Path) -> list[str]:
    text = read_settings(path)
    if "\t" in text or re.search(r"^(---|%|\.\.\.)", text.partition("\n")[2], re.MULTILINE):
        raise _not_readable(path, "YAML")
    return text.splitlines()
