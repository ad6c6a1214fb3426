"""Read spreadsheets (Excel, ODS): each sheet a table."""

from __future__ import annotations

import datetime as dt
from io import BytesIO

from python_calamine import CalamineWorkbook, PasswordError

from engine.documents.document import MOST_LETTERS, Document, Section, table
from engine.documents.kinds import Budget
from engine.documents.refused import NotReadable
from engine.translatable import Translatable

_MOST_ROWS = 200_000


def read(data: bytes, name: str, budget: Budget) -> Document:
    """Return the sheets of a workbook. Raises NotReadable."""
    try:
        book = CalamineWorkbook.from_filelike(BytesIO(data))
    except PasswordError:
        raise NotReadable(Translatable("it is encrypted: open it with its password and save it without one")) from None
    sections, notes, letters = [], [], 0
    for sheet_name in book.sheet_names:
        if budget.spent or letters > MOST_LETTERS:
            notes.append(Translatable("The sheets from {name} on were left out: there is too much.", name=sheet_name))
            break
        sheet = book.get_sheet_by_name(sheet_name)
        rows = _trimmed([[_said(value) for value in row] for row in sheet.to_python(nrows=_MOST_ROWS)])
        if sheet.height > _MOST_ROWS:
            notes.append(
                Translatable("Of {name} the first {count:,} rows were read.", name=sheet_name, count=_MOST_ROWS)
            )
        if text := table(rows):
            sections.append(Section(text, "sheet", sheet_name))
            letters += len(text)
    if not sections:
        raise NotReadable(Translatable("there is no text in it"))
    kind = "Excel" if not data.startswith(b"PK") or b"opendocument" not in data[:200] else "ODS"
    return Document(name, kind, tuple(sections), pages=len(book.sheet_names), notes=tuple(notes))


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date().isoformat()
    return str(value)


def _trimmed(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows without those and without columns at the edges in which nothing stands."""
    rows = [row for row in rows if any(map(str.strip, row))]
    used = [place for row in rows for place, cell in enumerate(row) if cell.strip()]
    return [row[min(used) : max(used) + 1] for row in rows] if used else []
