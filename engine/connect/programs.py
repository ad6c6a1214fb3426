"""List the programs that can use the local server, with their detection and their settings."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.connect.settings import json_with, toml_with, write_settings, yaml_list_with, yaml_with
from engine.errors import InvalidRequest
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
            raise InvalidRequest(Translatable("{title}: nothing was written, enter it by hand.", title=self.title))
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
