"""Documents, many and hostile: read to the letter or refused in a sentence; the right part of a book is found."""

import io
import random
import sys
import zipfile
from collections.abc import Callable, Iterator

import pytest

from engine import Document, DocumentRefused, read_document
from engine.host import ReadyDocument
from helpers import written_documents as written

if sys.platform != "win32":
    import resource

pytestmark = pytest.mark.soak
SECONDS, BYTES = 6.0, 900 * 2**20
"""What a document may take: by processor time of the child, so that a busy machine changes nothing."""


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return out.getvalue()


def laughs() -> bytes:
    head = b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "lollollollol">'
    entities = b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(10))
    document = (
        head + entities + b'%s]><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    )
    return (document % b"") + b"<w:body><w:p><w:r><w:t>&k;</w:t></w:r></w:p></w:body></w:document>"


def in_word(document: bytes) -> bytes:
    """Put this into the place of a Word document's text."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(written.word())) as had, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name in had.namelist():
            made.writestr(name, document if name == "word/document.xml" else had.read(name))
    return out.getvalue()


def truncated() -> bytes:
    data = written.pdf(pages=20)
    return data[: len(data) // 3]


HOSTILE: dict[str, Callable[[], bytes]] = {
    "bomb.docx": lambda: in_word(b" " * (299 * 2**20)),
    "secret.pdf": written.encrypted_pdf,
    "truncated.pdf": truncated,
    "long.pdf": lambda: written.pdf(pages=1_000),
    "deep.docx": lambda: in_word(b"<a>" * 200_000 + b"</a>" * 200_000),
    "deep.html": lambda: b"<div>" * 300_000 + b"x",
    "bomb.zip": lambda: zipped(**{f"{n}.txt": bytes(60 * 2**20) for n in range(6)}),
    "out.zip": lambda: zipped(**{"../../../etc/passwd": b"root:x", "/etc/shadow": b"x"}),
    "laughs.docx": lambda: in_word(laughs()),
    "line.txt": lambda: b"a" * (60 * 2**20),
    "random.bin": lambda: random.Random(1).randbytes(2**20),
    "comments.txt": lambda: b"<!---->" * 400 + b"x",
    "heading.html": lambda: b"<h1>" + b"a" * 6_000_000 + b"</h1>" + b"<h2>b</h2>c" * 40,
    "random.pdf": lambda: b"%PDF-1.7\n" + random.Random(2).randbytes(2**20),
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not sum up what children took")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_end_soon_in_a_sentence(name: str) -> None:
    data = HOSTILE[name]()
    before = used()[0]
    said = []
    try:
        document = read_document(data, name)
        said = [*map(str, document.notes)]
        assert document.letters
    except DocumentRefused as error:
        said = [str(error)]
    seconds, most = used()[0] - before, used()[1]
    print(f"{name}: {said} {seconds:.1f} s, {most / 2**20:.0f} MiB")
    assert all(each.endswith(".") and "\n" not in each for each in said)
    assert seconds <= SECONDS
    assert most <= BYTES


def used() -> tuple[float, int]:
    """Return the processor time of the children that ended so far, and the most memory that one of them took."""
    all_of_them = resource.getrusage(resource.RUSAGE_CHILDREN)
    return all_of_them.ru_utime + all_of_them.ru_stime, 1024 * all_of_them.ru_maxrss


TRADES = ["cooper", "glazier", "ferryman", "midwife", "surveyor", "bell founder", "archivist", "lamplighter", "tanner"]
PLACES = [
    "Arnfeld",
    "Brockhaven",
    "Castlerigg",
    "Dunmoor",
    "Eastwick",
    "Farrowdale",
    "Gillstead",
    "Harrowby",
    "Inkwell",
]
NAMES = [
    "Agnes",
    "Bertram",
    "Cecily",
    "Dorian",
    "Edith",
    "Fergus",
    "Greta",
    "Hamish",
    "Ida",
    "Jasper",
    "Keziah",
    "Linus",
]
SURNAMES = ["Ashdown", "Birkett", "Crane", "Dunlop", "Everard", "Fenwick", "Garside", "Holt", "Ibbotson", "Jessop"]
KINDS = [
    ("{who}, the {trade} of {place}, earned {n} shillings in the year of the flood.",
     "How many shillings did {who} of {place} make when the flood came?"),
    ("A letter by {who} mentions {n} sheep that were lost on the road to {place}.",
     "What number of sheep were lost going to {place}, as {who} wrote?"),
    ("The chapel in {place} was rebuilt by {who} with {n} oak beams from the northern woods.",
     "Who rebuilt the chapel of {place} with oaken beams, {who} or another, and how many beams?"),
    ("When {who} left {place} for good, the {trade}'s workshop was sold for {n} crowns.",
     "For what price was the workshop sold after {who} had gone away from {place}?"),
    ("{who} kept {n} beehives behind the mill at {place} and sold the honey at the autumn fair.",
     "How many hives with bees were there behind the {place} mill in the days of {who}?"),
]  # fmt: skip
TALK = (
    "The winter went by slowly, and the roads between the villages were hard to pass.",
    "Nobody remembers who first drew the map, but its errors were copied for a century.",
    "In those years a cooper, a glazier or a tanner could live well from his trade.",
    "The mill, the chapel and the workshop stood where they had always stood.",
    "Letters took a week, and the answer, if there was one, took another.",
    "Sheep, honey and oak were what the valley sold, and what it was known for.",
)


def book(seed: int, pages: int = 300) -> tuple[Document, list[tuple[str, str]]]:
    """Return a book of so many pages through a PDF file's worth of text, and questions with what answers them."""
    draw = random.Random(seed)
    people = [f"{name} {surname}" for name in NAMES for surname in SURNAMES]
    from engine import Section  # noqa: PLC0415 - here alone

    sections, facts = [], []
    for page in range(1, pages + 1):
        said = []
        for _ in range(6):
            fact, question = draw.choice(KINDS)
            told = {"who": draw.choice(people), "trade": draw.choice(TRADES), "place": draw.choice(PLACES)}
            text = fact.format(n=draw.randrange(100, 9_999), **told)
            facts.append((question.format(**told), text))
            said.append(" ".join([*draw.sample(TALK, 2), text, draw.choice(TALK)]))
        sections.append(Section("\n\n".join(said), "page", str(page)))
    return Document("book.pdf", "PDF", tuple(sections), pages), draw.sample(facts, 50)


def ranks(seed: int) -> Iterator[int | None]:
    """Yield at which place, from 0, the part with the answer is found; None: not among the first five."""
    document, questions = book(seed)
    ready = ReadyDocument(document)
    for question, answer in questions:
        found = ready._index.find(question, 5)
        yield next((rank for rank, each in enumerate(found) if answer in ready.parts[each.number].text), None)


@pytest.mark.parametrize("seed", range(3))
def test_the_right_part_of_a_book_is_among_the_first_five(seed: int) -> None:
    placed = list(ranks(seed))
    print(f"first {placed.count(0)}, in five {sum(rank is not None for rank in placed)} of {len(placed)}")
    assert sum(rank is not None for rank in placed) >= 0.9 * len(placed)
