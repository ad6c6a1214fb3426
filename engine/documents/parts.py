"""Part a document into pieces that a model can be given and can cite: a page or a piece of one each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from engine.documents.document import Document, Section

PART_LETTERS = 1_200
"""Characters of a part, about: a few paragraphs, some 300 tokens."""
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])")  # noqa: RUF001 - full-width signs end sentences


def parts_of(document: Document, letters: int = PART_LETTERS) -> list[Section]:
    """Return a document in parts of about so many characters; none stands on two pages."""
    parts: list[Section] = []
    for section in document.sections:
        for text in _pieces(section.text, letters):
            last = parts[-1] if parts else None
            if last is not None and _follows(last, section) and len(last.text) + len(text) + 2 <= letters:
                parts[-1] = replace(last, text=f"{last.text}\n\n{text}")
            else:
                parts.append(replace(section, text=text))
    return parts


def _follows(last: Section, section: Section) -> bool:
    """Return True if a section goes on with the part before it: short ones under one heading are one part."""
    same = (last.place, last.at) == (section.place, section.at)
    return same and last.headings == section.headings[: len(last.headings)]


def _pieces(text: str, letters: int) -> Iterator[str]:
    """Yield a text in pieces, cut between paragraphs, else between lines, sentences or words."""
    taken: list[str] = []
    size = 0
    for block in text.split("\n\n"):
        if not block.strip():
            continue
        for piece in _cut(block, letters) if len(block) > 1.5 * letters else [block]:
            if taken and size + len(piece) > letters:
                yield "\n\n".join(taken)
                taken, size = [], 0
            taken.append(piece)
            size += len(piece) + 2
    if taken:
        yield "\n\n".join(taken)


def _cut(block: str, letters: int) -> Iterator[str]:
    """Yield a long paragraph or table in pieces; each piece of a table has its head."""
    lines = block.split("\n")
    head: Sequence[str] = lines[:2] if len(lines) > 2 and lines[1].startswith("| --- |") else ()
    units, glue = (lines[len(head) :], "\n") if len(lines) > 3 else (_SENTENCE.split(block), " ")
    taken: list[str] = []
    size = 0
    for unit in (short for each in units for short in _short(each, letters)):
        if taken and size + len(unit) > letters:
            yield glue.join([*head, *taken])
            taken, size = [], 0
        taken.append(unit)
        size += len(unit) + 1
    if taken:
        yield glue.join([*head, *taken])


def _short(unit: str, letters: int) -> Iterator[str]:
    """Yield a unit, in pieces of words if it is far too long."""
    while len(unit) > 1.5 * letters:
        at = unit.rfind(" ", letters // 2, letters)
        at = letters if at < 0 else at
        yield unit[:at]
        unit = unit[at:].lstrip(" ")
    yield unit
