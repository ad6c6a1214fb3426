"""Mark pictures in questions: a file in the question stands for one, with the number of the stored picture."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence

from app.state.chat.attachments import join_question, split_question
from app.state.chat.stored_documents import ChatDocument, StoredDocument
from engine import Document, FilePart, ImagePart, Message, Part, Section, read_picture

KIND = "Picture"
_MARK = re.compile(r"\[picture ([0-9a-f]{64})\]")

Find = Callable[[str], ImagePart | None]
"""Returns a picture by its number; None if it is deleted."""


def number_of(data: bytes) -> str:
    """Return the number of a picture: the same for the same file."""
    return hashlib.sha256(data).hexdigest()


def picture_in(text: str) -> str | None:
    """Return the number of the picture that a file in a question stands for; None: it is a text."""
    found = _MARK.fullmatch(text)
    return None if found is None else found[1]


def held_picture(data: bytes, name: str) -> ChatDocument:
    """Return a picture as a document of a chat, once it was read in the limited child. Raises DocumentRefused."""
    read_picture(data, name)
    document = Document(name, KIND, (Section(f"[picture {number_of(data)}]"),), 0)
    return ChatDocument.of(document, StoredDocument.of(document, data))


def told_pictures(question: str, tell: Callable[[str, str], str] = lambda _name, _number: "") -> str:
    """Return a question to be read, with what `tell` makes of the names and numbers of its pictures in their place."""
    typed, files = split_question(question)
    pictures = [(each.name, number) for each in files if (number := picture_in(each.text)) is not None]
    if not pictures:
        return question
    texts = [each for each in files if picture_in(each.text) is None]
    return "\n\n".join(filter(None, [*(tell(*each) for each in pictures), join_question(typed, texts)]))


def with_pictures(messages: Sequence[Message], find: Find) -> list[Message]:
    """Return messages in which the pictures themselves stand in place of the files that stand for them."""

    def seen(part: Part) -> Part:
        number = picture_in(part.text) if isinstance(part, FilePart) else None
        picture = None if number is None else find(number)
        return part if picture is None else picture

    def changed(message: Message) -> Message:
        parts = [seen(part) for part in message.parts]
        return message if parts == list(message.parts) else Message(message.role, parts)

    return [changed(message) for message in messages]
