"""Export a conversation to a JSON file with everything in it, import it again, and write files."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeGuard

from app.state.conversations.conversation import ROLES, STATUSES, UNFINISHED, Conversation, StoredMessage, clean
from engine import Translatable, write_whole

FORMAT = "outrider-conversation"
VERSION = 1
LARGEST_FILE = 256 * 2**20
_MOST_MESSAGES = 200_000
_LARGEST_TRACE = 16 * 2**20
_DEEPEST = 16
_LAST_DAY = 253_402_300_799  # the end of the year 9999, in seconds since 1970
_LONGEST_NAME = 80
_RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)$", re.IGNORECASE)


class ConversationRefused(Exception):
    """Report a file that is no readable conversation. Attributes: name (of the file), reason. Nothing was changed."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(Translatable("Cannot import {name}: {reason}. Nothing was changed.", name=name, reason=reason))


class ExportFailed(Exception):
    """Report a file that could not be written. Attributes: path, reason. A file that was there before is as it was."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            Translatable(
                "Cannot write {path}: {reason}. Choose another folder, or free some space.", path=path, reason=reason
            )
        )


@dataclass(frozen=True, slots=True)
class Imported:
    """Hold an imported conversation with new ids, and the token records by the id of the reply."""

    conversation: Conversation
    traces: Mapping[int, bytes]


# JSON ---------------------------------------------------------------------------------------------------------------


def to_json(conversation: Conversation, traces: Mapping[int, bytes] | None = None) -> str:
    """Return everything as JSON: all branches with settings and statistics, and `traces` (by reply id) where given.

    A reply that is being written is told as interrupted. The ids in it count from 1.
    """
    # Parents have smaller ids than what is below them, and older siblings than younger ones.
    messages = sorted(conversation, key=lambda message: message.id)
    ids = {message.id: number for number, message in enumerate(messages, 1)}
    told = {
        "format": FORMAT,
        "version": VERSION,
        "title": conversation.title,
        "created": conversation.created,
        "updated": conversation.updated,
        "pinned": conversation.pinned,
        "chosen": ids.get(conversation.chosen) if conversation.chosen is not None else None,
        "settings": conversation.settings,
    }
    # A line each: json's own layout takes ten times as long.
    head = json.dumps(told, ensure_ascii=False)[:-1]
    lines = [json.dumps(_told(message, ids, traces or {}), ensure_ascii=False) for message in messages]
    return clean(head + ', "messages": [\n' + ",\n".join(lines) + "\n]}\n")


def _told(message: StoredMessage, ids: Mapping[int, int], traces: Mapping[int, bytes]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": ids[message.id],
        "parent": None if message.parent is None else ids[message.parent],
        "role": message.role,
        "text": message.text,
        "created": message.created,
        "status": "interrupted" if message.status in UNFINISHED else message.status,
        "target": message.target,
        "draft": message.draft,
        "settings": message.settings,
        "stats": message.stats,
        "finish_reason": message.finish_reason,
        "problem": message.problem,
        "chosen": None if message.chosen is None else ids.get(message.chosen),
    }
    if message.damaged:
        told["damaged"] = True
    if message.id in traces:
        told["trace"] = base64.b64encode(traces[message.id]).decode("ascii")
    return told


def from_json(data: bytes, new_id: Callable[[], int], name: str = "the file") -> Imported:
    """Return the conversation that `to_json` told. `new_id` gives ids, each larger than the one before.

    Raises ConversationRefused where anything in it makes no sense: then nothing of it is given.
    """
    if len(data) > LARGEST_FILE:
        raise ConversationRefused(name, Translatable("it is larger than {count} MiB", count=LARGEST_FILE // 2**20))
    try:
        told = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
        return _Reader(new_id).read(told)
    except _Senseless as error:
        raise ConversationRefused(name, error.args[0]) from error
    except UnicodeDecodeError as error:
        raise ConversationRefused(name, Translatable("it is not UTF-8 text")) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ConversationRefused(name, Translatable("it is not valid JSON")) from error


class _Senseless(ValueError):
    """Say what is invalid in a file."""


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Senseless(Translatable("an object has a duplicate key"))
    return found


def _no_constant(constant: str) -> None:
    raise _Senseless(Translatable("{constant} is not a number", constant=constant))


class _Reader:
    """Check what a file says, value by value."""

    def __init__(self, new_id: Callable[[], int]) -> None:
        self._new_id = new_id
        self._ids: dict[int, int] = {}
        self._traces: dict[int, bytes] = {}

    def read(self, told: object) -> Imported:
        if not isinstance(told, dict) or told.get("format") != FORMAT:
            raise _Senseless(Translatable("it is not a chat exported by Outrider"))
        version = told.get("version")
        if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
            raise _Senseless(Translatable("it was written by a newer version of Outrider; import it there"))
        if version != VERSION or isinstance(version, bool):
            raise _Senseless(Translatable("its format version is unknown"))
        conversation = Conversation(
            self._new_id(),
            _time(told, "created"),
            title=" ".join(_text(told, "title").split()),
            pinned=_flag(told, "pinned"),
        )
        conversation.settings = _values(told, "settings") or {}
        updated = _time(told, "updated")
        messages = told.get("messages")
        if not isinstance(messages, list):
            raise _Senseless(Translatable("it has no list of messages"))
        if len(messages) > _MOST_MESSAGES:
            raise _Senseless(Translatable("it has more than {count} messages", count=_MOST_MESSAGES))
        for place, each in enumerate(messages, 1):
            try:
                conversation.add(self._message(each))
            except _Senseless as error:
                raise _Senseless(
                    Translatable("message {place}: {reason}", place=place, reason=error.args[0])
                ) from error
            except (ValueError, KeyError) as error:
                raise _Senseless(
                    Translatable("message {place} cannot follow the message that it names as its parent", place=place)
                ) from error
        self._choose(conversation, told, messages)
        conversation.updated = updated
        return Imported(conversation, self._traces)

    def _message(self, told: object) -> StoredMessage:
        if not isinstance(told, dict):
            raise _Senseless(Translatable("it is not an object"))
        number, parent = told.get("id"), told.get("parent")
        if not _is_id(number) or number in self._ids:
            raise _Senseless(Translatable("its id is missing or not unique"))
        if parent is not None and (not _is_id(parent) or parent not in self._ids):
            raise _Senseless(Translatable("its parent does not come before it"))
        if told.get("role") not in ROLES:
            raise _Senseless(Translatable("its role is unknown"))
        status = told.get("status", "done")
        if status not in STATUSES or status in UNFINISHED:
            raise _Senseless(Translatable("its status is unknown"))
        message = StoredMessage(
            self._new_id(),
            None if parent is None else self._ids[parent],
            told["role"],
            _text(told, "text"),
            _time(told, "created"),
            status,
            _text(told, "target", ""),
            _text(told, "draft", ""),
            _values(told, "settings") or {},
            _values(told, "stats"),
            _maybe_text(told, "finish_reason"),
            _maybe_text(told, "problem"),
            damaged=_flag(told, "damaged"),
        )
        self._ids[number] = message.id
        if told.get("trace") is not None:
            if message.role != "assistant":
                raise _Senseless(Translatable("a user message cannot have a token record"))
            self._traces[message.id] = _bytes(told["trace"])
        return message

    def _choose(self, conversation: Conversation, told: Mapping[str, Any], messages: list[dict[str, Any]]) -> None:
        for place, each in enumerate([told, *messages]):
            chosen = each.get("chosen")
            parent = self._ids[each["id"]] if place else None
            if chosen is None:
                child = None
            elif _is_id(chosen) and self._ids.get(chosen) in conversation.children(parent):
                child = self._ids[chosen]
            else:
                raise _Senseless(Translatable("the selected branch does not exist"))
            conversation.point(parent, child)


def _is_id(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _time(told: Mapping[str, Any], name: str) -> float:
    value = told.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= _LAST_DAY:
        raise _Senseless(Translatable("“{name}” is not a valid time", name=name))
    return float(value)


def _flag(told: Mapping[str, Any], name: str) -> bool:
    value = told.get(name, False)
    if not isinstance(value, bool):
        raise _Senseless(Translatable("“{name}” must be true or false", name=name))
    return value


def _text(told: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = told.get(name, default)
    if not isinstance(value, str) or clean(value) != value:
        raise _Senseless(Translatable("“{name}” is not text", name=name))
    return value


def _maybe_text(told: Mapping[str, Any], name: str) -> str | None:
    return None if told.get(name) is None else _text(told, name)


def _values(told: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    value = told.get(name)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _Senseless(Translatable("“{name}” is not an object", name=name))
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inner += [*each, *each.values()]
            elif isinstance(each, list):
                inner += each
            elif isinstance(each, float) and not math.isfinite(each):
                raise _Senseless(Translatable("a number in “{name}” is too large", name=name))
            elif isinstance(each, str) and clean(each) != each:
                raise _Senseless(Translatable("a text in “{name}” contains invalid characters", name=name))
        level = inner
    if level:
        raise _Senseless(Translatable("“{name}” is nested too deeply", name=name))
    return value


def _bytes(value: object) -> bytes:
    try:
        if isinstance(value, str) and len(value) <= 2 * _LARGEST_TRACE:
            return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        pass
    raise _Senseless(Translatable("its token record is damaged"))


# Files --------------------------------------------------------------------------------------------------------------


def read_file(path: Path, new_id: Callable[[], int]) -> Imported:
    """Return the conversation in a file. Raises ConversationRefused."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ConversationRefused(path.name, error.strerror or Translatable("it cannot be read")) from error
    return from_json(data, new_id, path.name)


def write_file(path: Path, text: str) -> None:
    """Write all of it or nothing. Raises ExportFailed."""
    try:
        write_whole(path, clean(text).encode())
    except OSError as error:
        raise ExportFailed(path, error.strerror or Translatable("it cannot be written")) from error


def file_name(conversation: Conversation, suffix: str) -> str:
    """Return a name for an export that every system takes, from the title. `suffix`: with its dot."""
    name = re.sub(r"[^\w\-–— ()+,&']+", " ", conversation.title)
    name = " ".join(name.split())[:_LONGEST_NAME].strip(" -")
    if not name or _RESERVED.match(name):
        day = datetime.fromtimestamp(conversation.created, UTC).date().isoformat()
        name = f"conversation {day}"
    return name + suffix
