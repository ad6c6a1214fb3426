"""Hold the load options of a model, as chosen and remembered for its path."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import engine
from engine import CacheType, InvalidRequest, LoadConfig

if TYPE_CHECKING:
    from engine import MemoryNeeds, ModelFile

Field = Literal["gpu_layers", "threads", "context", "cache_type", "rpc", "template"]
_TEXTS = ("cache_type", "rpc", "template")


@dataclass(frozen=True, slots=True)
class LoadChoice:
    """Hold load options. None: the engine chooses.

    `context`: tokens; `gpu_layers` -1: all; `rpc`: addresses of machines, with commas; `template`: how chats are
    written; others as in LoadConfig.
    """

    gpu_layers: int | None = None
    threads: int | None = None
    context: int | None = None
    cache_type: CacheType | None = None
    rpc: str | None = None
    template: str | None = None

    @classmethod
    def from_mapping(cls, data: object) -> LoadChoice:
        """Return options from the content of a file; every value that makes no sense is left out."""
        options = cls()
        if not isinstance(data, Mapping):
            return options
        for field in fields(cls):
            changed = _changed(options, field.name, data.get(field.name))
            if changed is not None:
                options = changed
        return options

    def to_mapping(self) -> dict[str, Any]:
        """Return the mapping that is stored in a file: only the chosen options."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def config(self, path: Path, *, trusted: bool = False, despite_memory: bool = False) -> LoadConfig:
        """Return these options for the engine. Raises InvalidRequest."""
        return LoadConfig(
            path,
            context_length=self.context,
            threads=self.threads,
            gpu_layers=self.gpu_layers,
            trusted=trusted,
            cache_type=self.cache_type,
            despite_memory=despite_memory,
            in_memory=True,
            rpc=self.rpc or (),
            chat_template=self.template,
        )


AS_THE_ENGINE_DOES = LoadChoice()
FIELDS: tuple[Field, ...] = get_args(Field)


def check(field: Field, text: str) -> str | None:
    """Check a typed option; the engine's complaint, or None. Empty is allowed."""
    try:
        read(field, text)
    except InvalidRequest as error:
        return error.message
    return None


def read(field: Field, text: str) -> Any:
    """Return the value of an option that was typed or picked; None for an empty text. Raises InvalidRequest."""
    text = text.strip()
    if not text:
        return None
    value: object = text
    if field not in _TEXTS:
        try:
            value = int(text.replace(",", "").replace("\u202f", "").replace("\u00a0", ""))
        except ValueError:
            value = text
    replace(LoadChoice(), **{field: value}).config(Path())  # type: ignore[arg-type]
    return value


def read_value(text: str) -> Any:
    """Return the value of a template's variable that was typed: as JSON says it, or else the text itself."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text


def show_value(value: object) -> str:
    """Return a value in the form for typing."""
    plain = isinstance(value, str) and read_value(value) == value
    return str(value) if plain else json.dumps(value, ensure_ascii=False)


def needs_with(model: ModelFile, options: LoadChoice) -> MemoryNeeds:
    """Return the memory that a model needs with these options."""
    return engine.memory_needs(
        model, context_length=options.context, cache_type=options.cache_type, gpu_layers=options.gpu_layers
    )


def _changed(options: LoadChoice, name: str, value: object) -> LoadChoice | None:
    wrong = isinstance(value, bool) or not isinstance(value, int | str | None)
    if wrong or (isinstance(value, str) != (name in _TEXTS) and value is not None):
        return None
    changed = replace(options, **{name: value})  # type: ignore[arg-type]
    try:
        changed.config(Path())
    except InvalidRequest:
        return None
    return changed
