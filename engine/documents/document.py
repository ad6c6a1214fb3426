"""Hold a document's text in sections, each with its place in the document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.translatable import Translatable, packed, unpacked

Place = Literal["page", "slide", "sheet", "chapter", "message", "file", ""]
"""The kinds of a document's sections; "": the document has no such places."""

LARGEST_DOCUMENT = 64 * 2**20
"""Bytes of a file."""
MOST_LETTERS = 8_000_000
"""Characters of a document's text: of a longer one the beginning is read."""
_LONGEST_NAME = 300
"""Characters of a title, a heading, the name of a place."""


@dataclass(frozen=True, slots=True)
class Section:
    """Hold a piece of a document: its text as paragraphs with a blank line between them, tables as Markdown.

    `at`: the number of its page or slide, or the name of its sheet, chapter or file; `headings`: those above it, the
    outermost first.
    """

    text: str
    place: Place = ""
    at: str = ""
    headings: tuple[str, ...] = ()

    def to_list(self) -> list[object]:
        """Return the section as JSON says it."""
        return [self.text, self.place, self.at, list(self.headings)]

    @property
    def where(self) -> str:
        """Return in English where it stands: "page 3 · Introduction"."""
        place = f"{self.place} {self.at}".strip()
        return " · ".join(filter(None, (place, " > ".join(self.headings))))


@dataclass(frozen=True, slots=True)
class Document:
    """Hold the text of a document. `kind`: "PDF", "Word" …; `pages`: their number, 0 for none.

    `notes`: sentences on what could not be read; `scanned`: pages that are pictures without text.
    """

    name: str
    kind: str
    sections: tuple[Section, ...]
    pages: int = 0
    title: str = ""
    notes: tuple[str, ...] = ()
    scanned: tuple[int, ...] = ()

    @property
    def letters(self) -> int:
        """Return the number of characters of all sections."""
        return sum(len(each.text) for each in self.sections)

    def bounded(self) -> Document:
        """Return its beginning, with a note, where it is too long."""
        sections, left = list[Section](), MOST_LETTERS
        for each in self.sections:
            headings = tuple(heading[:_LONGEST_NAME] for heading in each.headings)
            sections.append(replace(each, text=each.text[:left], at=each.at[:_LONGEST_NAME], headings=headings))
            left -= len(each.text)
            if left < 0:
                break
        note = Translatable("Only its first {count:,} characters were read.", count=MOST_LETTERS)
        notes = (*self.notes, note) if left < 0 else self.notes
        return replace(self, sections=tuple(sections), title=self.title[:_LONGEST_NAME], notes=notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the document as JSON says it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "pages": self.pages,
            "title": self.title,
            "notes": [packed(each) for each in self.notes],
            "scanned": list(self.scanned),
            "sections": [each.to_list() for each in self.sections],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Document:
        """Restore a document from `to_dict`. Raises ValueError if it makes no sense."""
        try:
            sections = tuple(_section(*each) for each in data["sections"])
            return cls(
                _text(data["name"]),
                _text(data["kind"]),
                sections,
                int(data["pages"]),
                _text(data.get("title", "")),
                tuple(map(unpacked, data.get("notes", ()))),
                tuple(map(int, data.get("scanned", ()))),
            )
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError("not a document") from error


def _section(text: object, place: object, at: object, headings: list[object]) -> Section:
    known: Place = place if place in ("page", "slide", "sheet", "chapter", "message", "file") else ""
    return Section(_text(text), known, _text(at), tuple(map(_text, headings)))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def sections_between(blocks: Iterable[tuple[int, str]]) -> Iterator[Section]:
    """Yield the pieces between headings. `blocks`: the level of a heading, or 0 for a paragraph, each with its text."""
    path: list[tuple[int, str]] = []
    said: list[str] = []
    for level, text in blocks:
        if not level:
            said.append(text)
            continue
        if said:
            yield Section("\n\n".join(said), headings=tuple(each for _, each in path))
        path = [each for each in path if each[0] < level] + [(level, text)]
        said = [text]
    if said:
        yield Section("\n\n".join(said), headings=tuple(each for _, each in path))


def table(rows: list[list[str]]) -> str:
    """Return rows of cells as a Markdown table, the first row as its head; nothing for none."""
    width = max(map(len, rows), default=0)
    if not width:
        return ""
    lines = ["| " + " | ".join(map(_cell, [*row, *[""] * (width - len(row))])) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Return a cell in one line. A line break in it becomes a blank: never nothing, which would join two words."""
    return " ".join(text.replace("|", "\\|").split())
