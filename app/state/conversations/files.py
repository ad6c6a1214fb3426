"""Export a conversation to a JSON file with everything in it, import it again, and write files."""

from __future__ import annotations

import base64
import io
import json
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from app.state.chat.attachments import plain_name
from app.state.chat.messages import messages_to_json
from app.state.chat.stored_documents import MOST_TOLD, StoredDocument, document_from_json, documents_to_json
from app.state.conversations.conversation import (
    ROLES,
    STATUSES,
    UNFINISHED,
    Conversation,
    ConversationSummary,
    StoredMessage,
    clean,
)
from app.state.conversations.json_stream import (
    JsonStream,
    Senseless,
    ValueTooLarge,
    large_value,
    member_value,
    read_members,
)
from app.state.conversations.openai_messages import ForeignChat, is_foreign
from app.state.conversations.values import (
    bytes_of,
    check_values,
    flag_in,
    is_id,
    maybe_text_in,
    messages_in,
    text_in,
    time_in,
    values_in,
)
from engine import Translatable
from engine.host import write_whole

FORMAT = "outrider-conversation"
VERSION = 2
_WITHOUT_PARTS = 1
"""Files of the first version hold texts alone; so do those of chats that have nothing else."""
LARGEST_FILE = 256 * 2**20
_MOST_MESSAGES = 200_000
_LONGEST_NAME = 80
_LONGEST_TEXT = 32 * 2**20
"""Characters: more than the largest question with all of its files has, and any token record."""
_LONGEST_DOCUMENTS = 2 * MOST_TOLD
"""Characters of all documents of a chat."""
_MOST_DOCUMENTS = 1_000
_OF_THIS_COMPUTER = ("folder", "files")
"""Settings of a project that are neither exported nor imported."""
_NOT_OURS = Translatable("it is not a chat exported by Outrider")

Note = Callable[[float], None]
"""Receives the progress, 0 to 1, from time to time; an error raised by it ends the work."""
_RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)$", re.IGNORECASE)


class ConversationRefused(Exception):
    """Report a file that is no readable conversation. Attributes: name (of the file), reason. Nothing was changed."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        problem = Translatable("Cannot import {name}: {reason}. Nothing was changed.", name=name, reason=reason)
        if reason.endswith("."):
            # A whole sentence, such as the engine's.
            problem = Translatable("Cannot import {name}: {reason} Nothing was changed.", name=name, reason=reason)
        super().__init__(problem)


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

    A reply that is being written is marked as interrupted. The ids in it count from 1.
    """
    # Parents have smaller ids than what is below them, and older siblings than younger ones.
    messages = sorted(conversation, key=lambda message: message.id)
    ids = {message.id: number for number, message in enumerate(messages, 1)}
    data = {
        "format": FORMAT,
        "version": VERSION if any(message.messages for message in messages) else _WITHOUT_PARTS,
        "title": conversation.title,
        "created": conversation.created,
        "updated": conversation.updated,
        "pinned": conversation.pinned,
        "chosen": ids.get(conversation.chosen) if conversation.chosen is not None else None,
        "settings": conversation.settings,
    }
    if conversation.is_project:
        # What is in a folder of this computer is another matter there.
        shared = {name: value for name, value in conversation.settings.items() if name not in _OF_THIS_COMPUTER}
        data |= {"project": True, "settings": shared}
    if conversation.documents:
        data["documents"] = documents_to_json(conversation.documents)
    # A line each: json's own layout takes ten times as long.
    head = json.dumps(data, ensure_ascii=False)[:-1]
    lines = [json.dumps(_message_json(message, ids, traces or {}), ensure_ascii=False) for message in messages]
    return clean(head + ', "messages": [\n' + ",\n".join(lines) + "\n]}\n")


def _message_json(message: StoredMessage, ids: Mapping[int, int], traces: Mapping[int, bytes]) -> dict[str, Any]:
    data: dict[str, Any] = {
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
        data["damaged"] = True
    if message.messages:
        data["messages"] = messages_to_json(message.messages)
    if message.id in traces:
        data["trace"] = base64.b64encode(traces[message.id]).decode("ascii")
    return data


def from_json(data: bytes, new_id: Callable[[], int], name: str = "the file") -> Imported:
    """Restore the conversation from `to_json`. `new_id` gives ids, each larger than the one before.

    Raises ConversationRefused where anything in it makes no sense: then nothing of it is given.
    """
    return _from_stream(io.BytesIO(data), len(data), new_id, name, note_nothing)


def note_nothing(share: float) -> None:
    """Ignore the progress."""


def _from_stream(file: BinaryIO, size: int, new_id: Callable[[], int], name: str, note: Note) -> Imported:
    def note_bytes(done: int) -> None:
        if max(done, size) > LARGEST_FILE:
            raise Senseless("it is larger than {count} MiB", count=LARGEST_FILE // 2**20)
        note(min(done / max(size, 1), 1.0))

    try:
        note_bytes(0)
        return _Reader(new_id).read(JsonStream(file, note_bytes))
    except Senseless as error:
        raise ConversationRefused(name, error.args[0]) from error
    except UnicodeDecodeError as error:
        raise ConversationRefused(name, Translatable("it is not UTF-8 text")) from error
    except (ValueError, RecursionError) as error:
        raise ConversationRefused(name, Translatable("it is not valid JSON")) from error
    except MemoryError as error:
        raise ConversationRefused(name, Translatable("there is not enough memory")) from error


class _Reader:
    """Check a file's values one by one, while they are read."""

    def __init__(self, new_id: Callable[[], int]) -> None:
        self._new_id = new_id
        self._conversation = Conversation(new_id(), 0.0)
        self._ids: dict[int, int] = {}
        self._chosen: list[tuple[int, object]] = []
        self._traces: dict[int, bytes] = {}
        self._foreign: ForeignChat | None = None

    def read(self, stream: JsonStream) -> Imported:
        data = self._head(stream)
        stream.end()
        if self._foreign is not None and "format" not in data:
            self._foreign.end()
            return Imported(self._conversation, self._traces)
        _check_format(data)
        if not isinstance(data.get("messages"), list):
            raise Senseless(Translatable("it has no list of messages"))
        conversation = self._conversation
        conversation.created = time_in(data, "created")
        conversation.title = " ".join(text_in(data, "title").split())
        conversation.pinned = flag_in(data, "pinned")
        conversation.settings = values_in(data, "settings") or {}
        conversation.documents = _documents_in(data)
        if flag_in(data, "project"):
            conversation.project = conversation.id
            for name in _OF_THIS_COMPUTER:
                conversation.settings.pop(name, None)
        updated = time_in(data, "updated")
        self._choose(None, data.get("chosen"))
        for parent, chosen in self._chosen:
            self._choose(parent, chosen)
        conversation.updated = updated
        return Imported(conversation, self._traces)

    def _head(self, stream: JsonStream) -> dict[str, Any]:
        """Read all but the messages, which are added to the conversation as they come."""
        data: dict[str, Any] = {}
        try:
            if stream.peek() == "[":
                self._read_messages(stream, may_be_ours=False)
                return data
            if stream.peek() != "{":
                stream.value()
                return data
            for name, data in read_members(stream):
                if name == "messages" and stream.peek() == "[":
                    if {"format", "version"} <= data.keys():
                        _check_format(data)
                    self._read_messages(stream, may_be_foreign="format" not in data)
                    data[name] = []
                elif name == "documents":
                    data[name] = large_value(stream, _LONGEST_DOCUMENTS)
                else:
                    data[name] = member_value(stream, name, _LONGEST_TEXT)
        except ValueTooLarge:
            if data.get("format") != FORMAT:
                raise Senseless(_NOT_OURS) from None
            raise
        return data

    def _read_messages(self, stream: JsonStream, *, may_be_ours: bool = True, may_be_foreign: bool = True) -> None:
        for place in stream.items():
            if place > _MOST_MESSAGES:
                raise Senseless("it has more than {count} messages", count=_MOST_MESSAGES)
            try:
                data = _read_message(stream)
                if place == 1 and may_be_foreign and is_foreign(data):
                    self._foreign = ForeignChat(self._conversation, self._new_id)
                if self._foreign is not None:
                    check_values(data, "message")
                    self._foreign.add(data)
                    continue
                message = self._message(data) if may_be_ours else _refuse()
            except Senseless as error:
                if error.args[0] is _NOT_OURS:
                    raise
                raise Senseless("message {place}: {reason}", place=place, reason=error.args[0]) from error
            try:
                self._conversation.add(message)
            except (ValueError, KeyError) as error:
                raise Senseless(
                    "message {place} cannot follow the message that it names as its parent", place=place
                ) from error

    def _message(self, data: object) -> StoredMessage:
        if not isinstance(data, dict):
            raise Senseless(Translatable("it is not an object"))
        number, parent = data.get("id"), data.get("parent")
        if not is_id(number) or number in self._ids:
            raise Senseless(Translatable("its id is missing or not unique"))
        if parent is not None and (not is_id(parent) or parent not in self._ids):
            raise Senseless(Translatable("its parent does not come before it"))
        if data.get("role") not in ROLES:
            raise Senseless(Translatable("its role is unknown"))
        status = data.get("status", "done")
        if status not in STATUSES or status in UNFINISHED:
            raise Senseless(Translatable("its status is unknown"))
        message = StoredMessage(
            self._new_id(),
            None if parent is None else self._ids[parent],
            data["role"],
            text_in(data, "text"),
            time_in(data, "created"),
            status,
            text_in(data, "target", ""),
            text_in(data, "draft", ""),
            values_in(data, "settings") or {},
            values_in(data, "stats"),
            maybe_text_in(data, "finish_reason"),
            maybe_text_in(data, "problem"),
            damaged=flag_in(data, "damaged"),
            messages=messages_in(data),
        )
        self._ids[number] = message.id
        self._chosen.append((message.id, data.get("chosen")))
        if data.get("trace") is not None:
            if message.role != "assistant":
                raise Senseless(Translatable("a user message cannot have a token record"))
            self._traces[message.id] = bytes_of(data["trace"])
        return message

    def _choose(self, parent: int | None, chosen: object) -> None:
        child = self._ids.get(chosen) if is_id(chosen) else None
        if chosen is not None and (child is None or self._conversation[child].parent != parent):
            raise Senseless(Translatable("the selected branch does not exist"))
        self._conversation.point(parent, child)


def _documents_in(data: Mapping[str, Any]) -> tuple[StoredDocument, ...]:
    """Return the documents that a file tells. Raises Senseless."""
    found = data.get("documents", [])
    if not isinstance(found, list) or len(found) > _MOST_DOCUMENTS:
        raise Senseless(Translatable("its documents make no sense"))
    try:
        return tuple(map(document_from_json, found))
    except ValueError:
        raise Senseless(Translatable("its documents make no sense")) from None


def _refuse() -> NoReturn:
    raise Senseless(_NOT_OURS)


def _read_message(stream: JsonStream) -> object:
    """Read the next message of a file: in one step, or member by member if it is large."""
    try:
        return stream.value()
    except ValueTooLarge:
        if stream.peek() != "{":
            raise
    data: dict[str, Any] = {}
    for name, data in read_members(stream):
        parted = name in ("messages", "content", "tool_calls")
        data[name] = large_value(stream, _LONGEST_TEXT) if parted else member_value(stream, name, _LONGEST_TEXT)
    return data


def _check_format(data: Mapping[str, Any]) -> None:
    if data.get("format") != FORMAT:
        raise Senseless(_NOT_OURS)
    version = data.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        raise Senseless(Translatable("it was written by a newer version of Outrider; import it there"))
    if version not in (VERSION, _WITHOUT_PARTS) or isinstance(version, bool):
        raise Senseless(Translatable("its format version is unknown"))


# Files --------------------------------------------------------------------------------------------------------------


def read_file(path: Path, new_id: Callable[[], int], note: Note = note_nothing) -> Imported:
    """Return the conversation in a file, read piece by piece on any thread. Raises ConversationRefused."""
    name = plain_name(path.name)
    try:
        # A pipe or a device would never end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise ConversationRefused(name, Translatable("it cannot be read"))
        with path.open("rb") as file:
            return _from_stream(file, path.stat().st_size, new_id, name, note)
    except OSError as error:
        raise ConversationRefused(name, error.strerror or Translatable("it cannot be read")) from error


def write_file(path: Path, text: str) -> None:
    """Write all of it or nothing. Raises ExportFailed."""
    write_bytes(path, clean(text).encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write all of it or nothing. Raises ExportFailed."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise ExportFailed(path, error.strerror or Translatable("it cannot be written")) from error


def file_name(conversation: Conversation | ConversationSummary, suffix: str) -> str:
    """Return a name for an export that every system takes, from the title. `suffix`: with its dot."""
    name = re.sub(r"[^\w\-–— ()+,&']+", " ", conversation.title)
    name = " ".join(name.split())[:_LONGEST_NAME].strip(" -")
    if not name or _RESERVED.match(name):
        day = datetime.fromtimestamp(conversation.created, UTC).date().isoformat()
        name = f"conversation {day}"
    return name + suffix
