"""Define the parts of a message: frozen, and each with the JSON that says it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from engine.errors import InvalidRequest
from engine.translatable import Translatable

_TICKS = re.compile(r"`{3,}")
_LEAST_FENCE = 3


@dataclass(frozen=True, slots=True)
class TextPart:
    """Hold text that was typed or written."""

    text: str

    def __post_init__(self) -> None:
        _check_texts(self, "text")

    def to_dict(self) -> dict[str, Any]:
        """Return the part as JSON says it."""
        return {"type": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """Hold a model's thought before its answer, without the markers around it."""

    text: str

    def __post_init__(self) -> None:
        _check_texts(self, "text")

    def to_dict(self) -> dict[str, Any]:
        """Return the part as JSON says it."""
        return {"type": "reasoning", "text": self.text}


@dataclass(frozen=True, slots=True)
class ImagePart:
    """Hold an image: `url` is its address, mostly one that holds the image itself (data:image/png;base64,…).

    Models that see read it. Nothing is ever fetched from an address.
    """

    url: str
    detail: str = ""

    def __post_init__(self) -> None:
        _check_texts(self, "url", "detail")

    @property
    def mark(self) -> str:
        """Return the mark of this image in a text, different from that of any other image."""
        return f"[picture {hashlib.sha256(self.url.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}]"

    def to_dict(self) -> dict[str, Any]:
        """Return the part as JSON says it."""
        detail = {"detail": self.detail} if self.detail else {}
        return {"type": "image_url", "image_url": {"url": self.url, **detail}}


@dataclass(frozen=True, slots=True)
class FilePart:
    """Hold a text file that goes with a message. `text` ends with no line break."""

    name: str
    text: str

    def __post_init__(self) -> None:
        _check_texts(self, "name", "text")

    @property
    def quoted(self) -> str:
        """Return the file as the model reads it: named, between fences that are longer than any in it."""
        return _quoted(self.name, self.text)

    def to_dict(self) -> dict[str, Any]:
        """Return the part as JSON says it."""
        return {"type": "file", "file": {"filename": self.name, "text": self.text}}


@dataclass(frozen=True, slots=True, init=False)
class ToolCall:
    """Hold a model's wish to call a tool. Nothing is ever called.

    `id` connects it with its result, "" where the family has none. `arguments_json`: the arguments as JSON text.
    """

    id: str
    name: str
    arguments_json: str

    def __init__(self, id: str, name: str, arguments: Mapping[str, Any] | str) -> None:  # noqa: A002
        """Make a call; `arguments`: an object, or the JSON text of one. Raises InvalidRequest."""
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "name", name)
        _check_texts(self, "id", "name")
        wrong = Translatable("The arguments of the tool call {name!r} must be a JSON object.", name=name)
        object.__setattr__(self, "arguments_json", _json_text(_json_object(arguments, wrong), wrong))

    @property
    def arguments(self) -> dict[str, Any]:
        """Return a copy of the arguments, by name."""
        return _read(self.arguments_json)

    def __repr__(self) -> str:
        return f"ToolCall(id={self.id!r}, name={self.name!r}, arguments={self.arguments!r})"

    def to_dict(self, *, as_text: bool = False) -> dict[str, Any]:
        """Return the call as JSON says it; `as_text`: its arguments as a text, as OpenAI's interface gives them."""
        arguments: Any = self.arguments_json if as_text else self.arguments
        named = {"id": self.id} if self.id else {}
        return {**named, "type": "function", "function": {"name": self.name, "arguments": arguments}}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Hold a tool's result. `call_id`: the id of the call, "" where it had none; `name`: of the tool, or ""."""

    call_id: str
    name: str
    text: str

    def __post_init__(self) -> None:
        _check_texts(self, "call_id", "name", "text")

    def to_dict(self) -> dict[str, Any]:
        """Return the part as JSON says it."""
        return {"type": "tool_result", "tool_call_id": self.call_id, "name": self.name, "text": self.text}


@dataclass(frozen=True, slots=True, init=False)
class OtherPart:
    """Hold a part of an unknown kind, as it came: it is kept, and read by nobody."""

    json: str

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Keep `data`, an object with a "type". Raises InvalidRequest."""
        object.__setattr__(self, "json", _json_text(data, _cannot_keep(data.get("type"))))

    def to_dict(self) -> dict[str, Any]:
        """Return the part as it came."""
        return _read(self.json)


@dataclass(frozen=True, slots=True, init=False)
class OtherField:
    """Hold an unknown member of a message: it is kept, and chat templates see it."""

    name: str
    json: str

    def __init__(self, name: str, value: object) -> None:
        """Keep `value` under its name. Raises InvalidRequest."""
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "json", _json_text({"value": value}, _cannot_keep(name)))

    @property
    def value(self) -> Any:
        """Return a copy of its content."""
        return _read(self.json)["value"]

    def to_dict(self) -> dict[str, Any]:
        """Return the field as JSON says it in a list of parts."""
        return {"type": "field", "name": self.name, "value": self.value}


Part = TextPart | ReasoningPart | ImagePart | FilePart | ToolCall | ToolResult | OtherPart | OtherField


def hidden_letters(part: Part) -> int:
    """Return the length of a part's further contents for a chat template, beside its text."""
    match part:
        case ReasoningPart():
            return len(part.text)
        case ToolCall():
            return len(part.id) + len(part.name) + len(part.arguments_json)
        case OtherField():
            return len(part.json)
        case _:
            return 0


# Checking -------------------------------------------------------------------------------------------------------------


def _check_texts(part: object, *names: str) -> None:
    for name in names:
        value = getattr(part, name)
        if not isinstance(value, str):
            raise InvalidRequest("A part's {field} must be text, not {name}.", field=name, name=type(value).__name__)


def _cannot_keep(name: object) -> Translatable:
    return Translatable("{name!r} in a message holds what JSON cannot say.", name=name)


def _json_object(value: Mapping[str, Any] | str, wrong: Translatable) -> Mapping[str, Any]:
    found: object = value
    if isinstance(value, str):
        try:
            found = json.loads(value or "{}")
        except (ValueError, RecursionError):
            found = None
    if not isinstance(found, Mapping):
        raise InvalidRequest(wrong)
    return found


def _json_text(value: Mapping[str, Any], wrong: Translatable) -> str:
    try:
        return json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InvalidRequest(wrong) from None


def _read(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


# Quoting --------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _quoted(name: str, text: str) -> str:
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence = "`" * max(_LEAST_FENCE, longest + 1)
    return f"File: {name}\n{fence}{_language(name)}\n{text}\n{fence}"


_LANGUAGES = {
    "py": "python", "js": "javascript", "ts": "typescript", "rs": "rust", "rb": "ruby", "sh": "bash", "md": "markdown",
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "cs": "csharp", "go": "go", "java": "java",
    "kt": "kotlin", "swift": "swift", "php": "php", "sql": "sql", "html": "html", "css": "css", "xml": "xml",
    "json": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml", "ini": "ini", "csv": "csv", "tex": "latex",
}  # fmt: skip


def _language(name: str) -> str:
    return _LANGUAGES.get(name.rpartition(".")[2].lower() if "." in name else "", "")
