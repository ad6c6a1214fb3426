"""Load the prompts of `bench`: the sets that come with the program, or a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from engine.errors import InvalidRequest
from engine.messages.message import Message

ALL = "all"
"""The category of prompts that have none."""
_FORMS = (
    "It must be a JSON list of prompts (texts, or lists of messages), an object with such a list for each category, "
    "or plain text with one prompt per line"
)
_SET = "bench_prompts.json"


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    """Hold one prompt. `number` counts those of its category from 0; `max_tokens` None: as many as are asked for."""

    category: str
    number: int
    prompt: str | tuple[Message, ...]
    max_tokens: int | None = None


def bundled_prompts(per_category: int | None = None) -> tuple[BenchPrompt, ...]:
    """Return the sets that come with the program, the first `per_category` of each (None: all).

    Categories: chat, code, rewriting (the reply repeats much of the prompt), prose, hostile (mixed words in scripts
    and languages that a small draft hardly ever foresees). Each fits a context of 512 tokens with its reply.
    """
    text = files("resources").joinpath(_SET).read_text("utf-8")
    return _first(_from_json(json.loads(text), _SET), per_category)


def read_prompts(path: Path, per_category: int | None = None) -> tuple[BenchPrompt, ...]:
    """Return the prompts of a file, the first `per_category` of each category (None: all).

    A JSON list of prompts, an object {"category": [prompt…]}, or plain text with one prompt per line. A prompt in JSON
    is a text, a list of {"role", "content"}, or an object with "prompt" or "messages" and perhaps "max_tokens".
    Raises InvalidRequest.
    """
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise InvalidRequest(f"Cannot read {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InvalidRequest(f"Cannot read {path}: it is not text in UTF-8.") from None
    if text.lstrip()[:1] in ("[", "{") or path.suffix.lower() == ".json":
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidRequest(f"{path} is not JSON: {error}. {_FORMS}.") from None
        return _first(_from_json(data, path.name), per_category)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _first(_from_json(lines, path.name), per_category)


def _first(prompts: tuple[BenchPrompt, ...], per_category: int | None) -> tuple[BenchPrompt, ...]:
    return tuple(prompt for prompt in prompts if per_category is None or prompt.number < per_category)


def _from_json(data: Any, name: str) -> tuple[BenchPrompt, ...]:
    sets = data if isinstance(data, Mapping) else {ALL: data}
    prompts = []
    for category, entries in sets.items():
        if not isinstance(entries, list):
            raise InvalidRequest(f"{name} does not contain prompts. {_FORMS}.")
        prompts += [_one(entry, category, number, name) for number, entry in enumerate(entries)]
    if not prompts:
        raise InvalidRequest(f"{name} has no prompts. {_FORMS}.")
    return tuple(prompts)


def _one(entry: Any, category: str, number: int, name: str) -> BenchPrompt:
    where = f"prompt {number + 1}" + ("" if category == ALL else f" of {category}") + f" in {name}"
    most: Any = None
    if isinstance(entry, Mapping):
        most = entry.get("max_tokens")
        entry = entry.get("prompt", entry.get("messages"))
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        raise InvalidRequest(f"The max_tokens of {where} must be a whole number above 0, not {most!r}.")
    if not isinstance(entry, str | list) or not entry:
        raise InvalidRequest(f"The {where} is neither a text nor a list of messages.")
    try:
        prompt: Any = entry if isinstance(entry, str) else tuple(Message.from_mapping(item) for item in entry)
    except InvalidRequest as error:
        raise InvalidRequest(f"The {where} cannot be used: {error}") from None
    return BenchPrompt(category, number, prompt, most)
