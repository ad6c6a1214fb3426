"""Read OpenDocument texts and presentations."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from engine.documents.document import Document, Section, table
from engine.documents.kinds import Budget, open_zip
from engine.documents.refused import NotReadable
from engine.translatable import Translatable

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_MOST_BLANKS = 1_000


def read(data: bytes, name: str, _budget: Budget) -> Document:
    """Read a text or a presentation. Raises NotReadable."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    root = etree.fromstring(open_zip(data).read("content.xml"), parser)
    path: list[tuple[int, str]] = []
    said: list[str] = []
    sections: list[Section] = []
    slide = 0

    def end() -> None:
        if said:
            place = ("slide", str(slide)) if slide else ("", "")
            sections.append(Section("\n\n".join(said), *place, tuple(each for _, each in path)))  # type: ignore[arg-type]
            said.clear()

    for level, text in _blocks(root):
        if level:
            end()
        if level < 0:
            slide, path = slide + 1, []
            continue
        if level:
            path = [each for each in path if each[0] < level] + [(level, text)]
        said.append(text)
    end()
    if not sections:
        raise NotReadable(Translatable("there is no text in it"))
    return Document(name, "OpenDocument", tuple(sections), pages=slide)


def _blocks(root: etree._Element) -> Iterator[tuple[int, str]]:
    """Yield paragraphs (level 0), tables, headings, and the beginning of each slide (level -1)."""
    for element in root.iter(f"{_TEXT}h", f"{_TEXT}p", f"{_TABLE}table", f"{_DRAW}page"):
        within = next(element.iterancestors(f"{_TABLE}table"), None) is not None
        if element.tag == f"{_DRAW}page":
            yield -1, ""
        elif within:
            continue
        elif element.tag == f"{_TABLE}table":
            rows = [
                ["\n".join(map(_said, cell.iter(f"{_TEXT}p", f"{_TEXT}h"))) for cell in row.iter(f"{_TABLE}table-cell")]
                for row in element.iter(f"{_TABLE}table-row")
            ]
            if text := table(rows):
                yield 0, text
        elif text := _said(element).strip():
            heading = element.tag == f"{_TEXT}h"
            yield (int(element.get(f"{_TEXT}outline-level", "1")) if heading else 0), text


def _said(element: etree._Element) -> str:
    """Return the text of a paragraph with its blanks and line breaks, which are elements."""
    parts = [element.text or ""]
    for each in element.iterdescendants():
        if each.tag == f"{_TEXT}s":
            parts.append(" " * min(int(each.get(f"{_TEXT}c", "1")), _MOST_BLANKS))
        elif each.tag == f"{_TEXT}tab":
            parts.append("\t")
        elif each.tag == f"{_TEXT}line-break":
            parts.append("\n")
        elif isinstance(each.tag, str):
            parts.append(each.text or "")
        parts.append(each.tail or "")
    return "".join(parts)
