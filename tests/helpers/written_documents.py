"""Write documents of every kind with the libraries' own writers; each says the same facts, and one has a table."""

import base64
import io
import random
import zipfile
from collections.abc import Callable
from email.message import EmailMessage

import docx
import openpyxl
import pptx
from odf.opendocument import OpenDocumentSpreadsheet, OpenDocumentText
from odf.table import Table, TableCell, TableColumn, TableRow
from odf.text import H, P
from PIL import Image
from pptx.util import Inches
from reportlab.lib import colors
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Frame, FrameBreak, PageBreak, PageTemplate, Paragraph, SimpleDocTemplate
from reportlab.platypus import Table as PdfTable

HEADING = "The lighthouse"
PARAGRAPHS = (
    "The keeper of the lighthouse lit the lamp at dusk. Its light was seen for nineteen miles, in fog for two.",
    "In the winter of 1903 the supply boat did not come for six weeks, and the keeper ate nothing but rice.",
)
ROWS = (("Name", "Years", "Town"), ("Ann Lee", "12", "Ulm"), ("Bob | Ray", "7", "Bad Tölz"))
CELLS = tuple(cell for row in ROWS for cell in row)
LATIN = (
    "office affluent flow fjord sniffing efficient offline waffle first final ffi",
    "Straße Größe Übermut naïve café façade Señor Ærø Ångström œuvre coöperate",
    "1,234.56 99 % 7 × 8 = 56 §12 (a) [b] {c} “quoted” ‘single’ — dash – range …",  # noqa: RUF001
    "state-of-the-art e-mail user@example.org a/b c\\d x_y *star* #hash ~tilde",
    "The keeper lit the lamp at dusk and its light was seen for nineteen miles",
)
"""Words that Western encodings have, with ligatures, accents and signs."""


def picture(width: int = 64, height: int = 48) -> bytes:
    """Return a picture in PNG, half of it clear."""
    made, out = Image.new("RGBA", (width, height), (200, 30, 30, 255)), io.BytesIO()
    made.paste((0, 0, 0, 0), (0, 0, width // 2, height))
    made.save(out, "PNG")
    return out.getvalue()


def picture_address(data: bytes) -> str:
    """Return the address that holds a picture."""
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def damaged_pictures() -> list[bytes]:
    """Return ten files that look like pictures, or are called so, and cannot be read; the last two do not even look."""
    noise = Image.frombytes("RGB", (120, 80), random.Random(5).randbytes(3 * 120 * 80))
    png, jpeg = io.BytesIO(), io.BytesIO()
    noise.save(png, "PNG")
    noise.save(jpeg, "JPEG")
    whole = png.getvalue()
    bomb = bytearray(whole)
    bomb[16:24] = (60_000).to_bytes(4, "big") * 2
    return [
        whole[:40],
        whole[: len(whole) // 2],
        whole[:100] + bytes(200) + whole[300:],
        bytes(bomb),
        jpeg.getvalue()[:200],
        b"GIF89a" + bytes(20),
        b"RIFF\x10\0\0\0WEBPVP8 " + bytes(8),
        b"BM" + bytes(60),
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    ]


def scan(pages: int = 1) -> bytes:
    """Write a PDF file whose pages are pictures."""
    made, out = Image.new("RGB", (400, 560), "white"), io.BytesIO()
    made.paste((30, 30, 30), (60, 60, 340, 70))
    made.save(out, "PDF", save_all=True, append_images=[made] * (pages - 1))
    return out.getvalue()


def pdf(*, pages: int = 1, grid: bool = True) -> bytes:
    """Write a PDF file: a heading, the paragraphs and a table on each page."""
    styles, out, story = getSampleStyleSheet(), io.BytesIO(), []
    for number in range(1, pages + 1):
        story += [Paragraph(HEADING if pages == 1 else f"{HEADING} {number}", styles["Heading1"])]
        story += [Paragraph(text, styles["Normal"]) for text in PARAGRAPHS]
        story += [PdfTable(ROWS, style=[("GRID", (0, 0), (-1, -1), 1, colors.black)] if grid else []), PageBreak()]
    SimpleDocTemplate(out).build(story)
    return out.getvalue()


def laid_out_pdf() -> bytes:
    """Write a PDF file of two columns; the second has a table with cells of several lines."""
    normal, out = getSampleStyleSheet()["Normal"], io.BytesIO()
    made = BaseDocTemplate(out)
    made.addPageTemplates([PageTemplate(frames=[Frame(50, 50, 240, 700), Frame(310, 50, 240, 700)])])
    rows = [["What", "Why", "Price"]]
    rows += [[name, Paragraph(PARAGRAPHS[0], normal), price] for name, price in (("Lamp", "12.50"), ("Rope", "7.00"))]
    grid = PdfTable(rows, colWidths=[50, 110, 50], style=[("GRID", (0, 0), (-1, -1), 1, colors.black)])
    left = [Paragraph(text, normal) for text in ("left", f"{PARAGRAPHS[1]} {PARAGRAPHS[1]}")]
    made.build([*left, FrameBreak(), Paragraph("right", normal), grid])
    return out.getvalue()


def encrypted_pdf() -> bytes:
    """Write a PDF file that opens with a password only."""
    out = io.BytesIO()
    canvas = Canvas(out, encrypt="secret")
    canvas.drawString(100, 700, "hidden")
    canvas.save()
    return out.getvalue()


def word() -> bytes:
    """Write a Word document."""
    made, out = docx.Document(), io.BytesIO()
    made.add_heading(HEADING, 1)
    for text in PARAGRAPHS:
        made.add_paragraph(text)
    table = made.add_table(len(ROWS), 3)
    for place, cell in enumerate(CELLS):
        table.cell(place // 3, place % 3).text = cell
    made.save(out)
    return out.getvalue()


def slides() -> bytes:
    """Write slides: the title and texts on the first, the table on the second."""
    made, out = pptx.Presentation(), io.BytesIO()
    first = made.slides.add_slide(made.slide_layouts[1])
    first.shapes.title.text = HEADING
    first.placeholders[1].text = "\n".join(PARAGRAPHS)
    second = made.slides.add_slide(made.slide_layouts[6])
    table = second.shapes.add_table(len(ROWS), 3, Inches(1), Inches(1), Inches(6), Inches(2)).table
    for place, cell in enumerate(CELLS):
        table.cell(place // 3, place % 3).text = cell
    made.save(out)
    return out.getvalue()


def excel() -> bytes:
    """Write a workbook with the table on one sheet and the texts on another."""
    made, out = openpyxl.Workbook(), io.BytesIO()
    made.active.title = "People"
    for row in ROWS:
        made.active.append([int(cell) if cell.isdigit() else cell for cell in row])
    texts = made.create_sheet("Texts")
    for text in (HEADING, *PARAGRAPHS):
        texts.append([text])
    made.save(out)
    return out.getvalue()


def ods() -> bytes:
    """Write an OpenDocument spreadsheet."""
    made, out = OpenDocumentSpreadsheet(), io.BytesIO()
    table = Table(name="People")
    for cells in (*ROWS, (HEADING,), *((text,) for text in PARAGRAPHS)):
        row = TableRow()
        for cell in cells:
            made_cell = TableCell(valuetype="string")
            made_cell.addElement(P(text=cell))
            row.addElement(made_cell)
        table.addElement(row)
    made.spreadsheet.addElement(table)
    made.save(out)
    return out.getvalue()


def odt() -> bytes:
    """Write an OpenDocument text."""
    made, out = OpenDocumentText(), io.BytesIO()
    made.text.addElement(H(outlinelevel=1, text=HEADING))
    for text in PARAGRAPHS:
        made.text.addElement(P(text=text))
    table = Table(name="People")
    table.addElement(TableColumn(numbercolumnsrepeated=len(ROWS[0])))
    for cells in ROWS:
        row = TableRow()
        for cell in cells:
            made_cell = TableCell()
            made_cell.addElement(P(text=cell))
            row.addElement(made_cell)
        table.addElement(row)
    made.text.addElement(table)
    made.save(out)
    return out.getvalue()


def page() -> bytes:
    """Write a web page."""
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in ROWS)
    texts = "".join(f"<p>{text}</p>" for text in PARAGRAPHS)
    said = f"<!DOCTYPE html><title>Page</title><script>bad()</script><h1>{HEADING}</h1>{texts}<table>{rows}</table>"
    return said.encode()


def epub() -> bytes:
    """Write a book of one chapter."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", '<container><rootfile full-path="in/book.opf"/></container>')
        package = (
            "<package><metadata><dc:title>A book</dc:title></metadata><manifest>"
            '<item id="one" href="one.xhtml"/></manifest><spine><itemref idref="one"/></spine></package>'
        )
        archive.writestr("in/book.opf", package)
        archive.writestr("in/one.xhtml", page().replace(b"<title>Page</title>", b""))
    return out.getvalue()


def mail() -> bytes:
    """Write a mail with the page and the text as attachments."""
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "ann@example.org", "bob@example.org", HEADING
    made.set_content("\n\n".join(PARAGRAPHS))
    made.add_attachment(page(), maintype="text", subtype="html", filename="people.html")
    return bytes(made)


def plain() -> bytes:
    """Write a text in an encoding that it does not name."""
    table = "\n".join("\t".join(row) for row in ROWS)
    return "\n\n".join([f"# {HEADING}", *PARAGRAPHS, table]).encode("cp1252")


def archive() -> bytes:
    """Write a ZIP archive of a page and a PDF file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("in/people.html", page())
        made.writestr("people.pdf", pdf())
    return out.getvalue()


KINDS: dict[str, Callable[[], bytes]] = {
    "a.pdf": pdf,
    "a.docx": word,
    "a.pptx": slides,
    "a.xlsx": excel,
    "a.ods": ods,
    "a.odt": odt,
    "a.html": page,
    "a.epub": epub,
    "a.eml": mail,
    "a.txt": plain,
    "a.zip": archive,
}
"""What writes a document of each kind, by a name of it."""
