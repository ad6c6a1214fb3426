"""Read text files that go with a question, quote them in it, and find them in it again.

A question with files is one text: first each file, named and fenced, then the typed text. The model reads this text,
and it is stored, exported and sent again; for the screen it is split here, and rejoined unchanged.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from app.state.chat.stored_documents import ChatDocument
from engine.host import TextRefused, decode_text

LARGEST = 2**20
"""Bytes of a file."""
MOST = 16
"""Files that go with one question."""
_LONGEST_NAME = 120
_LEAST_FENCE = 3
_HEAD = "File: "
_GAP = "\n\n"
_HEAD_LINES = re.compile(r"File: ([^\n]{1,200})\n(`{3,})[a-z0-9+#-]{0,12}\n")
_TICKS = re.compile(r"`{3,}")
_UNNAMEABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069`]")
_DOCUMENTS = ((b"%PDF-", "PDF"), (b"%!PS", "PostScript"), (b"{\\rtf", "RTF"))
"""Beginnings of documents' source: it may be text, but is never meant as such."""
Trouble = Literal[
    "missing", "folder", "special", "unreadable", "empty", "large", "binary", "encoding", "document", "refused", "many",
    "scanned",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attachment:
    """Hold a file that goes with a question. `text` ends with no line break; `tokens`: None until they are counted.

    `held`: the document that it is, of which the question gives what fits; None for a text, which is given as it is.
    """

    name: str
    text: str
    tokens: int | None = None
    held: ChatDocument | None = field(default=None, compare=False, repr=False)

    def counted(self, tokens: int | None) -> Attachment:
        """Return the same with its tokens, or without."""
        return replace(self, tokens=tokens)

    @property
    def block(self) -> str:
        """Return the quoted file: named, between fences that are longer than any in it."""
        return _block(self.name, self.text)


@lru_cache(maxsize=MOST)
def _block(name: str, text: str) -> str:
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence = "`" * max(_LEAST_FENCE, longest + 1)
    return f"{_HEAD}{name}\n{fence}{_language(name)}\n{text}\n{fence}"


class NotAttached(Exception):
    """Report a file that cannot go with a question.

    Attributes: name, trouble, detail (of the system, or a number), instead (what can go in its place).
    """

    def __init__(self, name: str, trouble: Trouble, detail: str = "", instead: tuple[Attachment, ...] = ()) -> None:
        self.instead = instead
        self.name = name
        self.trouble = trouble
        self.detail = detail
        super().__init__(f"{name}: {trouble} {detail}".rstrip())


def read_attachment(path: Path) -> Attachment:
    """Return the text of a file. Raises NotAttached. May take as long as the file's disk or network does."""
    name = plain_name(path.name)
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            raise NotAttached(name, "folder")
        if not stat.S_ISREG(kind):
            # A pipe or a device would be waited for without end.
            raise NotAttached(name, "special")
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError as error:
        raise NotAttached(name, "missing") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise NotAttached(name, "unreadable", reason or "") from error
    for mark, kind_of_document in _DOCUMENTS:
        if data.startswith(mark):
            raise NotAttached(name, "document", kind_of_document)
    if len(data) > LARGEST:
        raise NotAttached(name, "large", str(LARGEST // 2**20))
    return Attachment(name, decode(data, name))


def decode(data: bytes, name: str) -> str:
    """Return the text of a file's bytes, in the encoding that it names or seems to have. Raises NotAttached."""
    try:
        return decode_text(data)
    except TextRefused as error:
        raise NotAttached(name, error.trouble, error.detail) from error


def plain_name(name: str) -> str:
    """Return a file's name in one line, without misleading characters."""
    shown = os.fsencode(name).decode("utf-8", "replace")
    plain = " ".join(_UNNAMEABLE.sub("\N{REPLACEMENT CHARACTER}", shown).split()) or "file"
    if len(plain) <= _LONGEST_NAME:
        return plain
    half = _LONGEST_NAME // 2
    return f"{plain[:half]}…{plain[-half + 1 :]}"


def join_question(typed: str, attachments: Sequence[Attachment]) -> str:
    """Return the question as the model reads it: the files, then the typed text."""
    parts = [attachment.block for attachment in attachments]
    return _GAP.join([*parts, typed] if typed.strip() or not parts else parts)


@lru_cache(maxsize=16)
def split_question(question: str) -> tuple[str, tuple[Attachment, ...]]:
    """Split a message into the typed text and the files quoted before it. Without files it is all text."""
    found: list[Attachment] = []
    at = 0
    while (head := _HEAD_LINES.match(question, at)) is not None:
        end = _find_end(question, head.end(), "\n" + head[2])
        attachment = None if end is None else Attachment(head[1], question[head.end() : end])
        if attachment is None or end is None or attachment.block != question[at : end + 1 + len(head[2])]:
            break  # typed by hand in another way: it stays as it is
        found.append(attachment)
        at = end + 1 + len(head[2]) + len(_GAP)
    typed = question[at:]
    # Only blanks behind the files: nobody put it together so.
    whole = bool(typed.strip()) or at == len(question) + len(_GAP)
    return (typed, tuple(found)) if found and whole else (question, ())


def _find_end(question: str, start: int, fence: str) -> int | None:
    """Find the end of a quoted file: before a line that is the fence, followed by a blank line or nothing."""
    # The text may be empty: its end is then the line break before it.
    end = question.find(fence, max(start - 1, 0))
    while end >= 0:
        behind = end + len(fence)
        if behind == len(question) or question.startswith(_GAP, behind):
            return max(end, start)
        end = question.find(fence, end + 1)
    return None


LANGUAGES = {
    "py": "python", "js": "javascript", "ts": "typescript", "rs": "rust", "rb": "ruby", "sh": "bash", "md": "markdown",
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "cs": "csharp", "go": "go", "java": "java",
    "kt": "kotlin", "swift": "swift", "php": "php", "sql": "sql", "html": "html", "css": "css", "xml": "xml",
    "json": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml", "ini": "ini", "csv": "csv", "tex": "latex",
}  # fmt: skip
"""The language after the fence of a file, by the ending of its name."""


def _language(name: str) -> str:
    return LANGUAGES.get(name.rpartition(".")[2].lower() if "." in name else "", "")
