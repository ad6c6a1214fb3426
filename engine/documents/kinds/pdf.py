"""Read PDF files with pdfium: the text of each page in paragraphs and tables, and pages as pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from statistics import median
from typing import Any, NamedTuple

import pypdfium2
from PIL import Image
from pypdfium2 import raw

from engine.documents.document import MOST_LETTERS, Document, Section, table
from engine.documents.kinds import Budget
from engine.documents.kinds.ruled import Grid, grids
from engine.documents.refused import NotReadable
from engine.translatable import Translatable

_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "\u017ft", 0xFB06: "st"}
_TIDY = _LIGATURES | {0xA0: " ", 0xFFFE: "\x02", 0xAD: "\x02", 0x0D: None, 0x00: None}
_SCANNED = 8
"""Letters of a page with a picture below which the page counts as scanned."""
_MOST_RUNS = 4_000
_MOST_PIXELS = 16_000_000
_MOST_OUTLINE = 5_000
_NAMED_PAGES = 12
_INDENT, _FULL = 24.0, 0.8
"""Points that a line of the same column is indented at most; the part of its width that a full line takes at least."""

# Pillow imports what it saves with when it saves for the first time: by then files are closed to the child.
Image.new("RGB", (1, 1)).save(BytesIO(), "PNG")


class _Run(NamedTuple):
    """Hold text in one line of one font: its edges in points, y growing upwards."""

    left: float
    bottom: float
    right: float
    top: float
    text: str

    @property
    def height(self) -> float:
        return self.top - self.bottom


def read(data: bytes, name: str, budget: Budget) -> Document:
    """Read a PDF file. Pages that are damaged are left out and named. Raises NotReadable."""
    with closing(_open(data)) as pdf:
        return _read(pdf, name, budget)


def _read(pdf: Any, name: str, budget: Budget) -> Document:
    pages = len(pdf)
    sections: list[Section] = []
    scanned: list[int] = []
    damaged: list[int] = []
    notes: list[Translatable] = []
    headings = _outline(pdf)
    letters = 0
    for number in range(1, pages + 1):
        if budget.spent or letters > MOST_LETTERS:
            notes.append(
                Translatable("Only the first {count:,} of {pages:,} pages were read.", count=number - 1, pages=pages)
            )
            break
        try:
            with closing(pdf[number - 1]) as page:
                text = _page_text(page)
                if len(text) < _SCANNED and _has_picture(page):
                    scanned.append(number)
        except (pypdfium2.PdfiumError, ValueError):
            damaged.append(number)
            continue
        letters += len(text)
        if text:
            sections.append(Section(text, "page", str(number), headings.get(number, ())))
    if damaged:
        notes.append(Translatable("These pages are damaged and were left out: {pages}.", pages=_named(damaged)))
    if not sections:
        raise NotReadable(_no_text(scanned=bool(scanned)), scanned)
    if scanned:
        notes.append(
            Translatable("These pages are pictures without text, which were not read: {pages}.", pages=_named(scanned))
        )
    title = pdf.get_metadata_value("Title")
    return Document(name, "PDF", tuple(sections), pages, title, tuple(notes), tuple(scanned))


def picture(data: bytes, number: int, width: int) -> bytes:
    """Return a page as a PNG picture. Raises NotReadable."""
    out = BytesIO()
    with closing(_open(data)) as pdf:
        if not 1 <= number <= len(pdf):
            raise NotReadable(Translatable("it has no page {page}", page=number))
        with closing(pdf[number - 1]) as page:
            size = page.get_size()
            scale = min(width / max(size[0], 1.0), (_MOST_PIXELS / max(size[0] * size[1], 1.0)) ** 0.5)
            with closing(page.render(scale=scale)) as bitmap:
                shown: Image.Image = bitmap.to_pil()
                shown.convert("RGB").save(out, "PNG", compress_level=1)
    return out.getvalue()


def _open(data: bytes) -> Any:
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD or "assword" in str(error):
            raise NotReadable(
                Translatable("it is encrypted: open it with its password and save it without one")
            ) from None
        raise NotReadable(Translatable("it is damaged")) from None


def _no_text(*, scanned: bool) -> Translatable:
    if scanned:
        return Translatable("its pages are pictures without text: a model that sees could read them as pictures")
    return Translatable("there is no text in it")


def _named(pages: list[int]) -> str:
    return ", ".join(map(str, pages[:_NAMED_PAGES])) + (" …" if len(pages) > _NAMED_PAGES else "")


def _outline(pdf: Any) -> dict[int, tuple[str, ...]]:
    """Return for each page the titles of the outline that it stands under."""
    starts: dict[int, tuple[str, ...]] = {}
    path: list[str] = []
    try:
        for number, entry in enumerate(pdf.get_toc(max_depth=6)):
            dest = entry.get_dest()
            index = None if dest is None else dest.get_index()
            if number >= _MOST_OUTLINE or index is None:
                continue
            path = [*path[: entry.level], " ".join(entry.get_title().split())]
            # A page that several titles begin on stands under the first.
            starts.setdefault(index + 1, tuple(filter(None, path)))
    except (pypdfium2.PdfiumError, ValueError):
        return {}
    found: dict[int, tuple[str, ...]] = {}
    now: tuple[str, ...] = ()
    for page in range(1, len(pdf) + 1) if starts else ():
        now = starts.get(page, now)
        found[page] = now
    return found


def _has_picture(page: Any) -> bool:
    return any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))


# Layout ---------------------------------------------------------------------------------------------------------------


def _page_text(page: Any) -> str:
    """Return the text of a page: paragraphs joined from their lines, tables as Markdown."""
    with closing(page.get_textpage()) as text:
        return _text_of(text, grids(page))


def _text_of(text: Any, tables: list[Grid]) -> str:
    whole = text.get_text_range().translate(_TIDY).strip()
    count = text.count_rects()
    if not whole or count > _MOST_RUNS:
        return str(whole)
    runs = []
    for index in range(count):
        edges = text.get_rect(index)
        said = text.get_text_bounded(*edges).translate(_TIDY).replace("\n", " ")
        if said.strip():
            runs.append(_Run(edges[0], edges[1], edges[2], edges[3], said))
    made = "\n\n".join(_with_tables(runs, tables))
    # Overlapping runs would be repeated or lost: then the plain text is better.
    return made if _same_letters(made, whole) else str(whole)


def _with_tables(runs: list[_Run], tables: list[Grid]) -> Iterator[str]:
    """Yield paragraphs and tables; a ruled table stands where its first text does."""
    said: list[_Run] = []
    cells: dict[Grid, dict[tuple[int, int], list[_Run]]] = {}
    order: list[list[_Run] | Grid] = []
    for run in runs:
        x, y = (run.left + min(run.right, run.left + run.height)) / 2, (run.bottom + run.top) / 2
        grid, place = next(((each, at) for each in tables if (at := each.cell(x, y)) is not None), (None, None))
        if grid is None or place is None:
            said.append(run)
            continue
        if grid not in cells:
            cells[grid] = {}
            order += [said, grid]
            said = []
        cells[grid].setdefault(place, []).append(run)
    for each in [*order, said]:
        if isinstance(each, Grid):
            yield _ruled_table(each, cells[each])
        else:
            yield from _blocks(_lines(each))


def _ruled_table(grid: Grid, cells: dict[tuple[int, int], list[_Run]]) -> str:
    rows = [["" for _ in grid.columns[1:]] for _ in grid.rows[1:]]
    for (row, column), runs in cells.items():
        rows[row][column] = " ".join(_paragraphs([_one(line) for line in _lines(runs)]))
    return table([row for row in rows if any(row)])


def _same_letters(made: str, whole: str) -> bool:
    had, has = (len(re.sub(r"[\s|\\\x02-]+", "", text)) for text in (whole, made))
    return abs(had - has) <= max(2, had // 200)


def _lines(runs: list[_Run]) -> list[list[_Run]]:
    """Return the runs by line, each line split at gaps into the cells of a table."""
    lines: list[list[_Run]] = []
    for run in runs:
        last = lines[-1][-1] if lines else None
        if last is not None and _continues_line(last, run):
            if run.left - last.right > 0.8 * max(last.height, run.height, 7.0):
                lines[-1].append(run)
            else:
                lines[-1][-1] = _joined(last, run)
        else:
            lines.append([run])
    return lines


def _continues_line(last: _Run, run: _Run) -> bool:
    shared = min(last.top, run.top) - max(last.bottom, run.bottom)
    return shared > 0.4 * min(last.height, run.height) and run.left > last.left - 1.0


def _joined(last: _Run, run: _Run) -> _Run:
    apart = run.left - last.right > 0.25 * max(last.height, run.height)
    glue = " " if apart and not last.text.endswith(" ") and not run.text.startswith(" ") else ""
    return _Run(last.left, min(last.bottom, run.bottom), run.right, max(last.top, run.top), last.text + glue + run.text)


def _blocks(lines: list[list[_Run]]) -> Iterator[str]:
    """Yield paragraphs and tables."""
    place = 0
    said: list[_Run] = []
    while place < len(lines):
        end = place
        while end < len(lines) and len(lines[end]) > 1:
            end += 1
        if end - place >= 2 and (made := _table(lines[place:end])):
            yield from _paragraphs(said)
            said = []
            yield made
            place = end
            continue
        line = lines[place]
        said.append(line[0] if len(line) == 1 else _one(line))
        place += 1
    yield from _paragraphs(said)


def _one(line: list[_Run]) -> _Run:
    return _Run(
        line[0].left,
        min(run.bottom for run in line),
        line[-1].right,
        max(run.top for run in line),
        " ".join(run.text.strip() for run in line),
    )


def _table(lines: list[list[_Run]]) -> str:
    """Return lines of cells as a table; "" where the cells do not stand below each other."""
    columns: list[list[float]] = []
    for cell in sorted((cell for line in lines for cell in line), key=lambda cell: cell.left):
        if columns and cell.left < columns[-1][1]:
            columns[-1][1] = max(columns[-1][1], cell.right)
        else:
            columns.append([cell.left, cell.right])
    if len(columns) < 2 or len(columns) < max(map(len, lines)):
        return ""
    rows = []
    for line in lines:
        row = [""] * len(columns)
        for cell in line:
            column = next(place for place, (left, right) in enumerate(columns) if left <= cell.left <= right)
            row[column] = f"{row[column]} {cell.text}".strip()
        rows.append(row)
    return table(rows)


def _paragraphs(lines: list[_Run]) -> Iterator[str]:
    """Yield paragraphs, joined from lines that run to the edge of their column and stand close together."""
    if not lines:
        return
    size = median(line.height for line in lines)
    edges: dict[int, float] = {}
    for line in lines:
        edges[_column(line)] = max(edges.get(_column(line), 0.0), line.right)
    text, last = "", None
    for line in lines:
        words = " ".join(line.text.split(" ")).strip()
        if last is None:
            text = words
        elif not _goes_on(last, line, size):
            yield text.replace("\x02", "-") if text.endswith("\x02") else text.replace("\x02", "")
            text = words
        elif text.endswith("\x02"):
            text = _without_break(text[:-1], words)
        else:
            edge = max(edges.get(_column(last) + step, 0.0) for step in (-1, 0, 1))
            full = last.right > last.left + _FULL * (edge - last.left)
            text += (" " if full else "\n") + words
        last = line
    yield text.replace("\x02", "-") if text.endswith("\x02") else text.replace("\x02", "")


def _without_break(text: str, words: str) -> str:
    """Join a text that ends in a hyphen with the next line: without it, but where the word has one of its own."""
    before, after = text.rsplit(" ", 1)[-1], words.split(" ", 1)[0]
    own = "-" in before + after or len(before) < 2 or not after[:1].islower()
    return f"{text}{'-' if own else ''}{words}"


def _column(line: _Run) -> int:
    return round(line.left / _INDENT)


def _goes_on(last: _Run, line: _Run, size: float) -> bool:
    """Return True if a line belongs to the paragraph of the one above: of its size, and not far below."""
    gap = last.bottom - line.top
    alike = abs(last.height - line.height) <= 0.35 * size + 1.0
    return alike and abs(last.left - line.left) < 2 * _INDENT and -size < gap <= 0.9 * max(size, 6.0)
