"""Read plain text and source code in any encoding."""

from __future__ import annotations

import re

import charset_normalizer  # noqa: F401 - `decode_text` needs it when files are closed already

from engine.documents.decoded import TextRefused, decode_text
from engine.documents.document import MOST_LETTERS, Document, Section
from engine.documents.kinds import Budget
from engine.documents.refused import NotReadable
from engine.translatable import Translatable

_HEADING = re.compile(r"^(#{1,6})\s+(\S.{0,150})$", re.MULTILINE)
_MARKDOWN = (".md", ".markdown", ".rst", ".txt", "")
_REASONS = {
    "empty": Translatable("there is no text in it"),
    "binary": Translatable("it is neither text nor a kind of document that can be read"),
    "encoding": Translatable("its text is in no known encoding"),
}


def read(data: bytes, name: str, _budget: Budget) -> Document:
    """Return a text, split at its Markdown headings. Raises NotReadable."""
    try:
        text = decode_text(data)
    except TextRefused as error:
        raise NotReadable(_REASONS[error.trouble]) from None
    text = text[: MOST_LETTERS + 1]  # The rest would only be split and left out.
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    sections = _sections(text) if suffix in _MARKDOWN else [Section(text)]
    return Document(name, "Text", tuple(sections))


def _sections(text: str) -> list[Section]:
    path: list[tuple[int, str]] = []
    found, start = [], 0
    for heading in [*_HEADING.finditer(text), None]:
        end = len(text) if heading is None else heading.start()
        if text[start:end].strip():
            found.append(Section(text[start:end].strip("\n"), headings=tuple(each for _, each in path)))
        if heading is not None:
            level, start = len(heading[1]), heading.start()
            path = [each for each in path if each[0] < level] + [(level, heading[2].strip(" #"))]
    return found
