"""Load package data of the window: starter prompts, style sheet, icon."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

from engine import Translatable

_MOST = 10


class ResourceDamaged(Exception):
    """Report that a file that came with the program is missing or damaged. Attribute: name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            Translatable("{name} is part of Outrider, but it is missing or damaged. Reinstall Outrider.", name=name)
        )


@dataclass(frozen=True, slots=True)
class StarterPrompt:
    """Hold a prompt that the empty chat offers."""

    title: str
    prompt: str


def read_bytes(*path: str) -> bytes:
    """Return a resource's contents. Raises ResourceDamaged."""
    try:
        return files("resources").joinpath(*path).read_bytes()
    except (OSError, ModuleNotFoundError):
        raise ResourceDamaged("/".join(path)) from None


def read_text(*path: str) -> str:
    """Return a resource's text. Raises ResourceDamaged."""
    try:
        return read_bytes(*path).decode("utf-8")
    except UnicodeDecodeError:
        raise ResourceDamaged("/".join(path)) from None


def starter_prompts(name: str = "starter_prompts.json") -> tuple[StarterPrompt, ...]:
    """Return the prompts for the empty chat, ten at most. Raises ResourceDamaged.

    Those of `starter_prompts.json` are what the bundled target was trained for, in English, those of
    `general_prompts.json` are for any other one, in the language of the window.
    """
    try:
        data = json.loads(read_text(name))
        prompts = tuple(StarterPrompt(str(item["title"]), str(item["prompt"])) for item in data)
    except (ValueError, TypeError, KeyError):
        raise ResourceDamaged(name) from None
    return prompts[:_MOST]
