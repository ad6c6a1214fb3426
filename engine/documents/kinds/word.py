"""Read Word documents: headings, paragraphs, lists, tables and notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from docx2python import docx2python

from engine.documents.document import Document, Section, sections_between, table
from engine.documents.kinds import Budget
from engine.documents.refused import NotReadable
from engine.translatable import Translatable

_HEADING = re.compile(r"(?:heading|berschrift|titre|titolo|t[ií]tulo|kop|rubrik|otsikko)\s*(\d)$", re.IGNORECASE)
_PICTURE = re.compile(r"----(?:media/)?[^\n-][^\n]*?----")
_LINK = re.compile(r'<a href="[^"<>]*">(.*?)</a>', re.DOTALL)
_ITEM = re.compile(r"^\t*--\t")


def read(data: bytes, name: str, _budget: Budget) -> Document:
    """Read a document. Raises NotReadable."""
    found = docx2python(BytesIO(data))
    title = str(found.core_properties.get("title") or "")
    sections = list(sections_between(_blocks(found.body_pars)))
    if notes := "\n\n".join(filter(None, _paragraphs([*found.footnotes_pars, *found.endnotes_pars]))):
        sections.append(Section(notes, headings=("Notes",)))
    if not sections:
        raise NotReadable(Translatable("there is no text in it"))
    return Document(name, "Word", tuple(sections), title=title)


def _blocks(tables: Any) -> Iterator[tuple[int, str]]:
    """Yield paragraphs (level 0), tables and headings: other text comes as a table of one cell."""
    for each in tables:
        real = any(par.lineage[1] == "tbl" for row in each for cell in row for par in cell)
        if real:
            rows = [["\n".join(filter(None, map(_text, cell))) for cell in row] for row in each]
            if text := table([row for row in rows if any(row)]):
                yield 0, text
            continue
        for row in each:
            for cell in row:
                for par in cell:
                    if text := _text(par):
                        yield _level(par.style), text


def _paragraphs(tables: Any) -> Iterator[str]:
    for each in tables:
        for row in each:
            for cell in row:
                yield from map(_text, cell)


def _level(style: str) -> int:
    if style.lower() == "title":
        return 1
    found = _HEADING.search(style)
    return int(found[1]) or 1 if found else 0


def _text(par: Any) -> str:
    text = "".join(run.text for run in par.runs)
    text = _LINK.sub(r"\1", _PICTURE.sub("", text))
    text = _ITEM.sub("- ", text)
    return "\n".join(line.rstrip() for line in text.split("\n")).strip()
