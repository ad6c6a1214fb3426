"""Read PowerPoint: each slide with its title, texts, tables and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

import pptx

from engine.documents.document import Document, Section, table
from engine.documents.kinds import Budget
from engine.documents.refused import NotReadable
from engine.translatable import Translatable

_DEEPEST = 20


def read(data: bytes, name: str, budget: Budget) -> Document:
    """Read slides. Raises NotReadable."""
    shown = pptx.Presentation(BytesIO(data))
    sections, pages = [], 0
    for pages, slide in enumerate(shown.slides, 1):
        if budget.spent:
            break
        title = slide.shapes.title
        heading = " ".join(title.text_frame.text.split()) if title is not None else ""
        texts = [heading, *_texts([each for each in slide.shapes if title is None or each.shape_id != title.shape_id])]
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            texts.append(slide.notes_slide.notes_text_frame.text.strip())
        if text := "\n\n".join(filter(None, texts)):
            sections.append(Section(text, "slide", str(pages), (heading,) if heading else ()))
    if not sections:
        raise NotReadable(Translatable("there is no text in it"))
    return Document(name, "PowerPoint", tuple(sections), pages, title=shown.core_properties.title or "")


def _texts(shapes: Iterable[Any], depth: int = 0) -> Iterator[str]:
    """Yield the texts of shapes as they are read, from the top down."""
    for shape in sorted(shapes, key=lambda each: (each.top or 0, each.left or 0)):
        if getattr(shape, "shapes", None) is not None and depth < _DEEPEST:
            yield from _texts(shape.shapes, depth + 1)
        elif getattr(shape, "has_table", False):
            yield table([[cell.text for cell in row.cells] for row in shape.table.rows])
        elif getattr(shape, "has_text_frame", False):
            yield "\n".join(
                filter(None, (each.text.replace("\v", "\n").strip() for each in shape.text_frame.paragraphs))
            )
