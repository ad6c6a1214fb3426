"""Documents of every kind are read: their words, their tables, their places; what cannot be read is one sentence."""

import io
import random
import re
import zipfile

import pytest

from engine import Document, DocumentRefused, Section, read_document
from engine.documents import kinds
from engine.documents.decoded import decode_text
from engine.documents.document import table
from engine.documents.kinds.pdf import _without_break
from engine.documents.refused import NotReadable
from engine.host import page_picture
from helpers import written_documents as written


def read(data: bytes, name: str) -> Document:
    """Read as the child does, here: it is the same code."""
    return kinds.reader_of(data, name)(data, name, kinds.Budget(60))


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", written.KINDS)
def test_every_kind_says_its_paragraphs_and_keeps_its_cells(name: str) -> None:
    document = read(written.KINDS[name](), name)
    text = words("\n".join(each.text for each in document.sections))
    for paragraph in (written.HEADING, *written.PARAGRAPHS):
        assert paragraph in text
    for cell in written.CELLS:
        assert cell in text.replace("\\|", "|")
    if name != "a.txt":
        assert re.search(r"\| Ann Lee \| 12 \| Ulm \|", text)
    assert "bad()" not in text
    assert Document.from_dict(document.to_dict()) == document


def test_places_and_headings_are_kept() -> None:
    where = {name: read(written.KINDS[name](), name).sections[0].where for name in written.KINDS}
    assert where["a.pdf"] == "page 1"
    assert where["a.docx"] == where["a.odt"] == where["a.html"] == where["a.txt"] == "The lighthouse"
    assert where["a.pptx"] == "slide 1 · The lighthouse"
    assert where["a.xlsx"] == where["a.ods"] == "sheet People"
    assert where["a.epub"] == "chapter The lighthouse"
    assert where["a.eml"] == "message"
    assert where["a.zip"] == "file in/people.html · The lighthouse"


def test_a_pdf_says_each_page_and_tables_without_lines() -> None:
    document = read(written.pdf(pages=3, grid=False), "a.pdf")
    assert [each.at for each in document.sections] == ["1", "2", "3"]
    assert document.pages == 3
    assert all("| Ann Lee | 12 | Ulm |" in each.text for each in document.sections)


def test_cells_of_several_lines_and_columns_stay_whole() -> None:
    text = read(written.laid_out_pdf(), "a.pdf").sections[0].text
    long = written.PARAGRAPHS[0]
    assert f"| Lamp | {long} | 12.50 |\n| Rope | {long} | 7.00 |" in text
    assert f"{written.PARAGRAPHS[1]} {written.PARAGRAPHS[1]}" in text
    assert text.index("left") < text.index(written.PARAGRAPHS[1]) < text.index("right")


def test_a_western_text_is_not_taken_for_another_with_the_same_letters() -> None:
    text = " ".join(random.Random(0).choices(" ".join(written.LATIN).split(), k=1_200))
    assert decode_text(text.encode("cp1252")) == text


def test_a_word_keeps_a_hyphen_of_its_own_at_the_end_of_a_line() -> None:
    joined = (("a state-of", "the-art lamp"), ("an e", "mail"), ("in West", "Berlin"), ("the light", "house"))
    said = [_without_break(text, words) for text, words in joined]
    assert said == ["a state-of-the-art lamp", "an e-mail", "in West-Berlin", "the lighthouse"]


def test_a_line_break_in_a_cell_joins_no_words() -> None:
    assert table([["a\nb", "c|d"], ["e"]]) == "| a b | c\\|d |\n| --- | --- |\n| e |  |"


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return out.getvalue()


BILLION = b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "lol">' + b"".join(
    b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(10)
)


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.pdf", b"%PDF-1.7\ntruncated", "it is damaged"),
        ("a.pdf", written.encrypted_pdf, "it is encrypted"),
        ("a.zip", zipped(**{"../../up.txt": b"text"}), "nothing in it that can be read"),
        ("a.zip", written.archive()[:900], "it is damaged"),
        ("a.bin", bytes(range(256)) * 40, "neither text nor"),
        ("a.txt", b"", "there is no text in it"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "an old format of Office"),
        ("a.rtf", b"{\\rtf1 x}", "an RTF file"),
    ],
    ids=["truncated", "encrypted", "out", "cut", "random", "empty", "old", "rtf"],
)
def test_what_cannot_be_read_is_said(name: str, data: object, why: str) -> None:
    made = data() if callable(data) else data
    assert isinstance(made, bytes)
    with pytest.raises(NotReadable, match=why):
        read(made, name)


def test_many_comments_before_a_text_do_not_take_for_ever() -> None:
    comments = b"<!-- one -->\n" * 100
    assert kinds.kind_of(comments + b"<root/>", "a.xml") == "plain"
    assert kinds.kind_of(comments + b"<HTML lang='en'>", "a") == "web"


@pytest.mark.parametrize("name", ["a.html", "a.eml", "a.txt"])
def test_of_a_long_text_the_beginning_is_kept(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(written.KINDS[name](), name)
    monkeypatch.setattr("engine.documents.document.MOST_LETTERS", 150)
    cut = whole.bounded()
    assert cut.letters == 150
    assert "".join(each.text for each in whole.sections).startswith("".join(each.text for each in cut.sections))
    assert cut.notes == (*whole.notes, "Only its first 150 characters were read.")


def test_names_of_places_are_bounded() -> None:
    named = Document("a", "EPUB", (Section("text", "chapter", "a" * 9_999, ("b" * 9_999,)),), title="c" * 9_999)
    assert len(str(named.bounded().to_dict())) < 2_000


def test_bombs_are_refused_before_they_are_unpacked() -> None:
    bomb = zipped(**{"word/document.xml": b"0" * 10, "a": bytes(301 * 2**20)})
    with pytest.raises(NotReadable, match="larger than 300 MiB"):
        kinds.kind_of(bomb, "a.docx")


def test_the_child_reads_shows_pages_and_refuses_in_a_sentence() -> None:
    data = written.pdf()
    document = read_document(data, "people.pdf")
    assert (document.name, document.kind, document.pages) == ("people.pdf", "PDF", 1)
    assert page_picture(data, 1, 300).startswith(b"\x89PNG")
    with pytest.raises(DocumentRefused, match=r"^Cannot read a b: it is damaged\.$"):
        read_document(b"%PDF-1.7", "a\nb")
    laughs = zipped(**{"word/document.xml": BILLION + b"]><l>&k;</l>", "[Content_Types].xml": b"<x/>"})
    with pytest.raises(DocumentRefused, match=r"^Cannot read laughs.docx: there is no text in it\.$"):
        read_document(laughs, "laughs.docx")
