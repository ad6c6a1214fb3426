"""The column of entries: heights that are corrected one by one, against sums that are made anew each time."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.state.chat.column import Column, TextSize, like_entry, same_entries
from app.state.chat.transcript import Entry, Exchange, Notice, Problem

LETTERS = TextSize(700, 7.0, 18.0)
GAP = 12


def asked(number: int, reply: str = "") -> Exchange:
    exchange = Exchange(f"Question {number}", question_id=2 * number, reply_id=2 * number + 1)
    if reply:
        exchange.add(reply)
    exchange.status = "done"
    return exchange


@given(
    st.lists(st.integers(0, 3_000), min_size=1, max_size=70),
    st.lists(st.tuples(st.integers(0, 69), st.integers(0, 3_000)), max_size=30),
    st.lists(st.integers(-50, 200_000), max_size=10),
)
def test_tops_and_places_are_those_of_plain_sums(
    first: list[int], changes: list[tuple[int, int]], heights: list[int]
) -> None:
    column = Column(GAP, LETTERS)
    for number in range(len(first)):
        column.append(asked(number))
    model = [column.height(place) for place in range(len(first))]
    for place, height in (*enumerate(first), *changes):
        if place < len(model):
            assert column.correct(place, height) == height - model[place]
            model[place] = height
    tops = [0, *accumulate(height + GAP for height in model)]
    assert [column.top(place) for place in range(len(model) + 1)] == tops
    assert column.total == tops[-1] - GAP
    for y in (*heights, *tops):
        expected = max((place for place in range(len(model)) if tops[place] <= y), default=0)
        assert column.at(y) == expected


def test_an_empty_column() -> None:
    column = Column(GAP, LETTERS)
    assert (len(column), column.total, column.top(0), column.at(100)) == (0, 0, 0, 0)


def test_measured_heights_hold_for_their_width() -> None:
    column = Column(GAP, LETTERS)
    column.fill([asked(number, "word " * 200) for number in range(3)])
    guess = column.height(1)
    column.correct(1, 77)
    column.correct(2, 55, measured=False)
    column.set_text_size(TextSize(350, 7.0, 18.0))
    assert column.height(1) > guess, "half as wide: guessed anew, and taller"
    column.set_text_size(LETTERS)
    assert (column.height(1), column.height(2)) == (77, guess)


def test_longer_texts_are_guessed_taller() -> None:
    texts = ["", "A line.", "word " * 100, "word " * 1_000, "word " * 1_000 + "\n\n" * 50]
    guesses = [LETTERS.height_of(asked(1, text)) for text in texts]
    assert guesses == sorted(guesses)
    assert len(set(guesses)) == len(guesses)
    failed = asked(1, "word")
    failed.fail(Problem("No."))
    assert LETTERS.height_of(failed) > LETTERS.height_of(asked(1, "word"))
    assert LETTERS.height_of(Notice(Problem("No."))) > 0


def test_the_same_messages_are_found_again() -> None:
    old: list[Entry] = [asked(1), asked(2), asked(3), Notice(Problem("No."))]
    assert same_entries(old, [old[0], asked(3), old[3]]) == {0: 0, 2: 1, 3: 2}
    other_reply = asked(2)
    other_reply.reply_id = 99
    assert same_entries(old, [old[0], other_reply]) == {0: 0}
    assert like_entry(old[1], [old[0], other_reply]) == 1
    assert like_entry(old[2], [old[0], other_reply]) is None
    assert same_entries([Exchange("Never kept")], [Exchange("Never kept")]) == {}


def test_measures_pass_on_to_the_same_messages() -> None:
    column = Column(GAP, LETTERS)
    old = [asked(1), asked(2)]
    column.fill(old)
    column.correct(1, 321)
    new = [asked(2), asked(4)]
    column.fill(new, same_entries(old, new))
    assert column.height(0) == 321
    assert column.place_of(new[1]) == 1
    assert column.place_of(old[0]) is None


@pytest.mark.parametrize(
    ("status", "finish", "expected"),
    [
        ("done", "stop", False),
        ("done", "length", True),
        ("cancelled", "cancelled", True),
        ("interrupted", None, True),
        ("failed", None, False),
        ("writing", None, False),
    ],
)
def test_what_can_be_continued(status: str, finish: str | None, expected: bool) -> None:
    exchange = asked(1, "Half a")
    exchange.status, exchange.finish_reason = status, finish  # type: ignore[assignment]
    assert exchange.unfinished is expected
