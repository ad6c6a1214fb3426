"""Read chats of other programs in a child process with limits of memory and time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.state.chat.attachments import plain_name
from app.state.conversations.files import ConversationRefused, Note
from engine import CancelToken, ChatTemplateFailed, Translatable
from engine.host import READING_CHATS, OutOfTime, ask_child, unpacked

_SECONDS = 30.0
"""Processor time of the child, from one thing that it tells to the next."""
_MEMORY_BYTES = 1_000 * 2**20
"""All of the child, where it cannot limit itself."""


@dataclass(frozen=True, slots=True)
class ReadChat:
    """Hold a chat as an export of Outrider, or the reason why it cannot be read (`reason`).

    `name`: its title or its place, for a person; `source`: which chat of which program it is, and in which state.
    """

    name: str
    source: str = ""
    data: bytes = b""
    reason: str = ""


class NotOfOthers(Exception):
    """Report a file that is no chat of another program."""


def chats_apart(path: Path, note: Note, cancel: CancelToken | None = None) -> Iterator[ReadChat]:
    """Yield the chats in a file, an archive or a folder, as they are read.

    Raises NotOfOthers, ConversationRefused (it cannot be read, or not to its end), Cancelled.
    """
    name, title, source, parts = plain_name(path.name), "", "", list[str]()
    request = {"path": str(path.absolute()), "seconds": _SECONDS}
    try:
        with contextlib.closing(ask_child(READING_CHATS, request, b"", _MEMORY_BYTES, cancel)) as answers:
            for said in answers:
                title, source = said.get("chat", title), said.get("source", source)
                if "share" in said:
                    note(said["share"])
                elif "refused" in said:
                    yield ReadChat(title, reason=unpacked(said["refused"]))
                elif "text" in said:
                    parts.append(said["text"])
                    if not said["more"]:
                        data, parts = "".join(parts).encode("utf-8", "replace"), []
                        yield ReadChat(title, source, data)
                elif "other" in said:
                    raise NotOfOthers
                elif "reason" in said:
                    raise ConversationRefused(name, unpacked(said["reason"]))
                else:
                    return
    except OutOfTime:
        raise ConversationRefused(name, Translatable("reading it takes too long")) from None
    except ChatTemplateFailed:
        raise ConversationRefused(name, Translatable("the program that reads it crashed")) from None
