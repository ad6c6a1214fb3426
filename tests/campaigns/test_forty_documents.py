"""Forty documents of twelve kinds, by the libraries' own writers and by LibreOffice: their text and their cells."""

import io
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from itertools import chain
from pathlib import Path

import pytest
from odf.draw import Frame, Page, TextBox
from odf.opendocument import OpenDocumentPresentation, OpenDocumentText
from odf.style import Columns, MasterPage, PageLayout, SectionProperties, Style
from odf.table import Table, TableCell, TableRow
from odf.text import H, P, Section

from engine import Document, read_document
from helpers import written_documents as written

pytestmark = pytest.mark.soak
SHARE = 0.01
"""Of the characters that may differ."""
WIDE = (
    *written.LATIN,
    "Ο φάρος στέκεται στον βράχο από το χίλια εννιακόσια τρία",  # noqa: RUF001
    "Смотритель зажёг лампу в сумерках и свет был виден далеко",
    "灯台守は夕暮れにランプを灯した 灯塔看守人在黄昏时点亮了灯",
    "שומר המגדלור הדליק את המנורה בשעת בין ערביים",
    "أضاء حارس المنارة المصباح عند الغسق",
    "emoji 🙂 🚢 and 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 beyond the first plane",  # noqa: RUF001
)


def odp() -> bytes:
    """Write an OpenDocument presentation: the texts on one slide, the table on another."""
    made, out = OpenDocumentPresentation(), io.BytesIO()
    layout = PageLayout(name="layout")
    made.automaticstyles.addElement(layout)
    master = MasterPage(name="master", pagelayoutname=layout)
    made.masterstyles.addElement(master)
    for number in (1, 2):
        page = Page(masterpagename=master, name=f"slide {number}")
        made.presentation.addElement(page)
        frame = Frame(width="24cm", height="16cm", x="1cm", y="1cm")
        page.addElement(frame)
        if number == 1:
            box = TextBox()
            frame.addElement(box)
            for text in (written.HEADING, *written.PARAGRAPHS):
                box.addElement(P(text=text))
            continue
        table = Table(name="People")
        frame.addElement(table)
        for cells in written.ROWS:
            row = TableRow()
            table.addElement(row)
            for cell in cells:
                made_cell = TableCell()
                made_cell.addElement(P(text=cell))
                row.addElement(made_cell)
    made.save(out)
    return out.getvalue()


def markdown() -> bytes:
    """Write a text with a table in Markdown."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in written.ROWS]
    table = "\n".join([lines[0], "| --- | --- | --- |", *lines[1:]])
    return "\n\n".join([f"# {written.HEADING}", *written.PARAGRAPHS, table]).encode("utf-16")


KINDS: dict[str, Callable[[], bytes]] = {**written.KINDS, "a.odp": odp, "a.md": markdown}


def fill(monkeypatch: pytest.MonkeyPatch, seed: int, words: tuple[str, ...]) -> None:
    """Have the writers write this: paragraphs and a table of chance."""
    draw = random.Random(seed)
    bag = " ".join(words).split()

    def some(least: int, most: int) -> str:
        return " ".join(draw.choices(bag, k=draw.randint(least, most)))

    paragraphs = tuple(f"So {some(20, 90)}." for _ in range(40))  # What begins with = is a formula in a sheet.
    rows = [(f"Row {n}", str(draw.randrange(10**6)), f"is {some(1, 2)}".replace("|", "/")) for n in range(6)]
    monkeypatch.setattr(written, "HEADING", f"Heading {seed} of this")
    monkeypatch.setattr(written, "PARAGRAPHS", paragraphs)
    monkeypatch.setattr(written, "ROWS", (("Name", "Number", "Words"), *rows))
    monkeypatch.setattr(written, "CELLS", tuple(chain.from_iterable(written.ROWS)))


def plain(lines: Iterable[str]) -> list[str]:
    """The words of a text, without the signs of Markdown tables."""
    kept = (line for line in "\n".join(lines).replace("\\|", "/").splitlines() if not re.fullmatch(r"[|\s-]+", line))
    return [word.lstrip("#") for line in kept for word in line.replace("|", " ").split() if word.strip("#")]


def letters(words: Iterable[str]) -> int:
    return sum(map(len, words))


def differing(wanted: list[str], read: list[str], *, ordered: bool = True) -> float:
    """The share of characters that are missing or too many."""
    if ordered:
        same = SequenceMatcher(None, wanted, read, autojunk=False).get_matching_blocks()
        kept = sum(letters(wanted[each.a : each.a + each.size]) for each in same)
    else:
        kept = letters((Counter(wanted) & Counter(read)).elements())
    return max(letters(wanted) - kept, letters(read) - kept) / letters(wanted)


def check(document: Document, name: str, *, ordered: bool = True) -> None:
    """Compare the document with the written one: the words in their order, and each row of the table."""
    texts = [each.text for each in document.sections]
    body = [written.HEADING, *written.PARAGRAPHS, *(" ".join(row) for row in written.ROWS)]
    table_first = name.endswith((".xlsx", ".ods", ".xls"))
    wanted = [*body[len(written.PARAGRAPHS) + 1 :], *body[: len(written.PARAGRAPHS) + 1]] if table_first else body
    if name == "a.eml":
        wanted = [*written.PARAGRAPHS, *wanted]
    elif name == "a.zip":
        wanted = [*wanted, *wanted]
    share = differing(plain(wanted), plain(texts), ordered=ordered)
    print(f"{name}: {share:.4f} of {letters(plain(wanted))} characters differ")
    assert share <= SHARE
    if name == "a.txt":
        return
    lines = {" ".join(line.split()) for text in texts for line in text.splitlines() if line.startswith("|")}
    for row in written.ROWS:
        assert "| " + " | ".join(" ".join(cell.split()) for cell in row) + " |" in lines


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", KINDS)
def test_a_document_is_read_to_the_letter(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(monkeypatch, seed, written.LATIN if name in ("a.pdf", "a.txt", "a.zip") else WIDE)
    check(read_document(KINDS[name](), name), name)


OFFICE = shutil.which("soffice") or shutil.which("libreoffice")
CONVERSIONS = (
    *((("a.odt", written.odt), ending) for ending in ("pdf", "docx", "html", "epub", "odt")),
    *((("a.ods", written.ods), ending) for ending in ("xlsx", "ods", "xls")),
    *((("a.odp", odp), ending) for ending in ("pptx", "odp")),
)


def convert(folder: Path, name: str, data: bytes, ending: str) -> bytes:
    """Have LibreOffice read a document and write it in another format."""
    assert OFFICE is not None
    (folder / name).write_bytes(data)
    out = folder / "out"
    command = [OFFICE, f"-env:UserInstallation={(folder / 'profile').as_uri()}", "--headless", "--convert-to", ending]
    subprocess.run([*command, "--outdir", str(out), str(folder / name)], check=True, timeout=180, capture_output=True)
    return (out / f"{name.rpartition('.')[0]}.{ending}").read_bytes()


@pytest.mark.skipif(OFFICE is None, reason="LibreOffice is not installed")
@pytest.mark.parametrize(("source", "ending"), CONVERSIONS, ids=lambda each: each if isinstance(each, str) else each[0])
def test_what_libreoffice_wrote_is_read_to_the_letter(
    source: tuple[str, Callable[[], bytes]], ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(monkeypatch, 9, written.LATIN if ending == "pdf" else WIDE)
    name = f"a.{ending}"
    check(read_document(convert(tmp_path, source[0], source[1](), ending), name), name)


def in_columns(paragraphs: Iterable[str]) -> bytes:
    """Write an OpenDocument text whose paragraphs stand in two columns."""
    made, out = OpenDocumentText(), io.BytesIO()
    style, properties = Style(name="columns", family="section"), SectionProperties()
    properties.addElement(Columns(columncount=2, columngap="0.6cm"))
    style.addElement(properties)
    made.automaticstyles.addElement(style)
    made.text.addElement(H(outlinelevel=1, text=written.HEADING))
    section = Section(name="columns", stylename=style)
    made.text.addElement(section)
    for text in paragraphs:
        section.addElement(P(text=text))
    made.save(out)
    return out.getvalue()


@pytest.mark.skipif(OFFICE is None, reason="LibreOffice is not installed")
@pytest.mark.parametrize("kind", ["columns", "right to left"])
def test_a_pdf_of_libreoffice_keeps_columns_ligatures_and_directions(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(monkeypatch, 11, written.LATIN if kind == "columns" else WIDE[8:10])
    paragraphs = written.PARAGRAPHS[:12]
    document = read_document(convert(tmp_path, "a.odt", in_columns(paragraphs), "pdf"), "a.pdf")
    wanted, read = plain([written.HEADING, *paragraphs]), plain(each.text for each in document.sections)
    if kind != "columns":  # In a paragraph of both directions a full stop has more than one place.
        wanted, read = ([word.strip(".") for word in words if word.strip(".")] for words in (wanted, read))
    share = differing(wanted, read, ordered=kind == "columns")
    print(f"{kind}: {share:.4f} of the characters differ")
    assert share <= SHARE
