"""List the programs that can use the local server, with their detection and their settings."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from engine.errors import InvalidRequest
from engine.system.files import write_whole
from engine.translatable import Translatable

Interface = Literal["chat", "responses", "messages"]
NO_KEY = "none"
"""The key for servers without one: most programs insist on one."""


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """Hold the server's address without /v1, its model's name, and the key ('' none)."""

    root: str
    model: str
    key: str = ""

    @property
    def base(self) -> str:
        """Return the address of OpenAI's interface."""
        return f"{self.root}/v1"

    @property
    def any_key(self) -> str:
        """Return the key, or the stand-in for none."""
        return self.key or NO_KEY


@dataclass(frozen=True, slots=True)
class OtherProgram:
    """Describe a program. `name`: on the command line; `title`: its own; `interface`: which one it asks.

    `commands`: by which it is found; `file`: its settings, None if they are in no file that others may write;
    `text`: what to set, to be copied; `written`: the text of that file with it. `note`: what else is to be done.
    """

    name: str
    title: str
    interface: Interface
    commands: tuple[str, ...]
    text: Callable[[ServerPlace], str]
    file: Callable[[], Path] | None = None
    written: Callable[[Path, ServerPlace], str] | None = None
    note: str = ""

    @property
    def found(self) -> bool:
        """Return True if the program seems to be on this computer."""
        if any(shutil.which(command) for command in self.commands):
            return True
        return self.file is not None and self.file().parent.is_dir() and self.file().parent != Path.home()

    def write(self, place: ServerPlace) -> tuple[Path, Path | None]:
        """Write it into the program's settings; return their file, and the copy of the old one, if that changed.

        Raises InvalidRequest, also where they are in no file that others may write.
        """
        if self.file is None or self.written is None:
            raise InvalidRequest("{title}: nothing was written, enter it by hand.", title=self.title)
        path = self.file()
        return path, write_settings(path, self.written(path, place))


def _home(variable: str, *usual: str) -> Path:
    """Return the folder that a variable of the environment names, or the usual one."""
    return Path(os.environ[variable]).expanduser() if os.environ.get(variable) else Path.home().joinpath(*usual)


def _config_home() -> Path:
    return _home("XDG_CONFIG_HOME", ".config")


def _zed() -> Path:
    return (_home("APPDATA", "AppData", "Roaming") / "Zed" if sys.platform == "win32" else _config_home() / "zed") / (
        "settings.json"
    )


def _llm() -> Path:
    folders = {"darwin": ("Library", "Application Support"), "win32": ("AppData", "Roaming")}
    usual = Path.home().joinpath(*folders[sys.platform]) if sys.platform in folders else _config_home()
    return _home("LLM_USER_PATH", str(usual / "io.datasette.llm")) / "extra-openai-models.yaml"


def _codex_parts(place: ServerPlace) -> tuple[dict[str, str], dict[str, str]]:
    top = {"model": place.model, "model_provider": "outrider"}
    table = {"name": "Outrider", "base_url": place.base, "wire_api": "responses"}
    return top, table | ({"experimental_bearer_token": place.key} if place.key else {})


def _codex_text(place: ServerPlace) -> str:
    top, table = _codex_parts(place)
    lines = [f'{name} = "{value}"' for name, value in top.items()]
    inner = [f'{name} = "{value}"' for name, value in table.items()]
    return "\n".join([*lines, "", "[model_providers.outrider]", *inner])


def _codex_written(path: Path, place: ServerPlace) -> str:
    top, table = _codex_parts(place)
    return toml_with(path, top, "model_providers.outrider", table)


def _claude(place: ServerPlace) -> dict[str, str]:
    kinds = ("MODEL", "DEFAULT_OPUS_MODEL", "DEFAULT_SONNET_MODEL", "DEFAULT_HAIKU_MODEL")
    variables = {"ANTHROPIC_BASE_URL": place.root, "ANTHROPIC_AUTH_TOKEN": place.any_key}
    variables |= {f"ANTHROPIC_{kind}": place.model for kind in kinds}
    return variables | {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


def _continue(place: ServerPlace) -> dict[str, str]:
    return {
        "name": "Outrider",
        "provider": "openai",
        "model": place.model,
        "apiBase": place.base,
        "apiKey": place.any_key,
    }


def _aider(place: ServerPlace) -> dict[str, str]:
    return {"model": f"openai/{place.model}", "openai-api-base": place.base, "openai-api-key": place.any_key}


def _zed_settings(place: ServerPlace) -> dict[str, object]:
    model = {"name": place.model, "display_name": f"{place.model} (Outrider)", "max_tokens": 32768}
    provider = {"api_url": place.base, "available_models": [model]}
    chosen = {"default_model": {"provider": "Outrider", "model": place.model}}
    return {"language_models": {"openai_compatible": {"Outrider": provider}}, "agent": chosen}


def _llm_item(place: ServerPlace) -> dict[str, str]:
    return {"model_id": "outrider", "model_name": place.model, "api_base": place.base}


def _shell(variables: Mapping[str, str]) -> str:
    return "\n".join(f"export {name}={value!r}" for name, value in variables.items())


def _yaml(members: Mapping[str, str], *, item: bool = False) -> str:
    begins = ["- " if item and number == 0 else "  " if item else "" for number in range(len(members))]
    return "\n".join(f'{begin}{name}: "{value}"' for begin, (name, value) in zip(begins, members.items(), strict=True))


PROGRAMS: tuple[OtherProgram, ...] = (
    OtherProgram(
        "codex",
        "Codex",
        "responses",
        ("codex",),
        _codex_text,
        lambda: _home("CODEX_HOME", ".codex") / "config.toml",
        _codex_written,
    ),
    OtherProgram(
        "claude-code",
        "Claude Code",
        "messages",
        ("claude",),
        lambda place: _shell(_claude(place)),
        lambda: _home("CLAUDE_CONFIG_DIR", ".claude") / "settings.json",
        lambda path, place: json_with(path, {"env": _claude(place)}),
    ),
    OtherProgram(
        "continue",
        "Continue",
        "chat",
        ("cn",),
        lambda place: "models:\n" + _yaml(_continue(place), item=True),
        lambda: Path.home() / ".continue" / "config.yaml",
        lambda path, place: yaml_list_with(
            path, "models", _continue(place), {"name": "Local", "version": "1.0.0", "schema": "v1"}
        ),
    ),
    OtherProgram(
        "cline",
        "Cline",
        "chat",
        ("cline",),
        lambda place: "\n".join(
            [
                "API Provider: OpenAI Compatible",
                f"Base URL: {place.base}",
                f"OpenAI Compatible API Key: {place.any_key}",
                f"Model ID: {place.model}",
            ]
        ),
        note=Translatable(
            "Cline keeps its settings where no other program can write them: enter this on its settings page."
        ),
    ),
    OtherProgram(
        "zed",
        "Zed",
        "chat",
        ("zed", "zeditor"),
        lambda place: json.dumps(_zed_settings(place), indent=2),
        _zed,
        lambda path, place: json_with(path, _zed_settings(place)),
        note=Translatable(
            "Zed keeps no key there: start it with OUTRIDER_API_KEY set to it, or to any text where there is none."
        ),
    ),
    OtherProgram(
        "aider",
        "Aider",
        "chat",
        ("aider",),
        lambda place: _yaml(_aider(place)),
        lambda: Path.home() / ".aider.conf.yml",
        lambda path, place: yaml_with(path, _aider(place)),
    ),
    OtherProgram(
        "open-webui",
        "Open WebUI",
        "chat",
        ("open-webui",),
        lambda place: _shell({"OPENAI_API_BASE_URL": place.base, "OPENAI_API_KEY": place.any_key}),
        note=Translatable(
            "Set this before Open WebUI starts, or add a connection in its admin settings. In a container the address "
            "of this computer is http://host.docker.internal with the server's port."
        ),
    ),
    OtherProgram(
        "llm",
        "llm",
        "chat",
        ("llm",),
        lambda place: _yaml(_llm_item(place), item=True),
        _llm,
        lambda path, place: yaml_list_with(path, "", _llm_item(place), {}),
        note=Translatable("Then: llm -m outrider 'Hello'. Where the server wants a key: llm keys set openai"),
    ),
)


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
        raise InvalidRequest("Cannot write {path}: {reason}.", path=path, reason=error.strerror or str(error)) from None
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
                "{path} is too large for settings. Look at it, and copy what to set by hand.", path=path
            )
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidRequest("{path} is no text. Look at it, and copy what to set by hand.", path=path) from None
    except OSError as error:
        raise InvalidRequest("Cannot read {path}: {reason}.", path=path, reason=error.strerror or str(error)) from None


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
