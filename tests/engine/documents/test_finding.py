"""Parts of a document: cut at their places, found by a question, told to a model and read back, and recognised."""

import random
from contextlib import closing
from pathlib import Path

import pytest

from engine import Document, GivenDocuments, Section
from engine.config import LoadConfig
from engine.documents.find import FoundPart
from engine.documents.vectors import vectors_of
from engine.host import PartIndex, QuotedPart, find_repeated, parts_of, quote_document, read_quoted, with_neighbours
from engine.loading.open import open_embedder
from helpers.models.random_bert import write_random_bert


def document(*texts: str) -> Document:
    sections = tuple(Section(text, "page", str(number)) for number, text in enumerate(texts, 1))
    return Document("a.pdf", "PDF", sections, len(texts))


def test_parts_have_their_page_and_their_size() -> None:
    made = document("short", "\n\n".join(f"Paragraph {n} is here. " * 9 for n in range(20)))
    parts = parts_of(made, 600)
    assert parts[0] == Section("short", "page", "1")
    assert {each.at for each in parts[1:]} == {"2"}
    assert all(len(each.text) <= 900 for each in parts)
    assert "".join("".join(each.text for each in parts).split()) == "".join(
        "".join(each.text for each in made.sections).split()
    )


def test_pieces_of_a_table_have_its_head_each() -> None:
    rows = "\n".join(f"| {n} | x{n} |" for n in range(100))
    parts = parts_of(document(f"| a | b |\n| --- | --- |\n{rows}"), 300)
    assert len(parts) > 3
    assert all(each.text.startswith("| a | b |\n| --- | --- |\n| ") for each in parts)


def test_a_question_finds_its_part_by_other_forms_and_by_headings() -> None:
    parts = [
        Section("The lamp was lit at dusk."),
        Section("Rice was all there was.", headings=("Winter",)),
        Section("灯台の番人は夕方にランプを点けた。"),
    ]
    index = PartIndex(parts)
    assert index.find("When were the lamps lit?")[0].number == 0
    assert index.find("What about the winters?")[0].number == 1
    assert index.find('"; DROP TABLE parts; -- AND NEAR(') == []
    assert index.find("the of") == []
    assert PartIndex(parts[2:]).find("番人は何を")[0].number == 0
    # Vectors and words are fused: what both find comes first.
    assert index.find("lamp", vectors=lambda _question: [0.1, 0.9, 0.0])[0].number == 0
    index.close()


def test_neighbours_come_along_while_there_is_room() -> None:
    parts = [Section("x" * 100) for _ in range(9)]
    assert with_neighbours([FoundPart(4, 1.0)], parts, 300) == [3, 4, 5]
    assert with_neighbours([FoundPart(4, 1.0), FoundPart(0, 0.5)], parts, 200) == [4, 5]
    assert with_neighbours([FoundPart(8, 1.0)], parts, 1_000) == [7, 8]


def test_what_a_model_is_told_is_read_back_whatever_stands_in_it() -> None:
    choose = random.Random(1).choice
    for _ in range(300):
        texts = ["".join(choose(["[1] page 2\n", "[7]", "\n\n", "a b", "\n", "[2] "]) for _ in range(8)).strip() or "x"]
        made = document(*texts, "last")
        parts = parts_of(made)
        told = quote_document(made, parts, range(len(parts)), 5)
        back = read_quoted(told)
        assert [each.number for each in back] == list(range(5, 5 + len(parts)))
        assert (back[-1].text, back[-1].where) == ("last", "page 2")
    assert read_quoted("some file\n\n[1] page 1\nx") == ()


def test_the_prompt_has_the_text_as_a_reply_would_copy_it() -> None:
    text = "The keeper lit the lamp. It was seen for nineteen miles."
    made = document(text)
    assert text in quote_document(made, parts_of(made), [0])


PARTS = (
    QuotedPart(
        1, "page 1", "The keeper of the lighthouse lit the lamp at dusk. It is 3.5 metres high.\n\nHe ate rice."
    ),
    QuotedPart(2, "page 2", "In the winter of 1903 the supply boat did not come for six weeks."),
)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (
            "The keeper of the lighthouse lit the lamp at dusk [1].",
            ["The keeper of the lighthouse lit the lamp at dusk"],
        ),
        (
            "He says: “the supply boat did not come\nfor six weeks”, no more.",
            ["the supply boat did not come\nfor six weeks"],
        ),
        ("He ate rice.", ["He ate rice"]),
        ("He ate bread.", []),
        ("It is 35 metres high.", []),
        ("It is 3.5 metres high.", ["It is 3.5 metres high"]),
        ("", []),
    ],
)
def test_what_is_repeated_word_for_word_is_found_by_comparing(reply: str, found: list[str]) -> None:
    assert [reply[each.start : each.end] for each in find_repeated(reply, PARTS)] == found


def test_what_stands_in_thousands_of_places_is_compared_once() -> None:
    """Small models repeat themselves, and tables have zeros: every sentence here stands at each of 30,000 places."""
    reply = "0 0 0. " * 300 + "0 " * 90 + "1"
    zeros = QuotedPart(1, "sheet A", "| 0 | 0 |\n" * 15_000)
    assert [reply[each.start : each.end] for each in find_repeated(reply, [zeros])] == ["0 0 0"] * 300 + [
        "0 " * 89 + "0"
    ]


def test_each_question_gets_what_fits_and_nothing_twice() -> None:
    filler = "Nothing of interest happened on this day, and nobody wrote anything down. " * 12
    book = document(*(f"{filler}\n\nThe harbour of town {n} was built in {1700 + n}." for n in range(120)))
    given = GivenDocuments([book, document("A short one.")])
    first = given.files("When was the harbour of town 77 built?", 4_096)
    assert "town 77 was built in 1777" in first[0].text
    assert "A short one." in first[1].text
    second = given.files("And that of town 99?", 4_096)
    assert "town 99 was built" in second[0].text
    numbers = [part.number for file in (*first, *second) for part in read_quoted(file.text)]
    assert numbers == list(range(1, len(numbers) + 1))
    texts = [part.text for file in (*first, *second) for part in read_quoted(file.text)]
    assert len(texts) == len(set(texts))
    assert given.files("Thanks!", 4_096) == []


def test_parts_are_found_by_what_they_mean_too(tmp_path: Path) -> None:
    """A question whose words say nothing finds its part by its vector; without vectors it finds none."""
    pages = [f"{'time fox once ' * 40} {n}" for n in range(30)]
    pages[20] = "a " * 100
    with closing(open_embedder(LoadConfig(write_random_bert(tmp_path / "bert.gguf"), trusted=True))) as embedder:
        assert vectors_of([Section(pages[20] * 9)], embedder).dtype == "float16", "longer than the model reads"
        for given, found in (
            (GivenDocuments([document(*pages)]), False),
            (GivenDocuments([document(*pages)], embedder), True),
        ):
            given.files("fox", 800)  # From here on nothing is given for want of anything better.
            assert any(pages[20].strip() in file.text for file in given.files("a " * 60, 800)) == found
