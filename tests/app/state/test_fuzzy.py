"""Finding a line by some of its letters."""

import pytest

from app.state.commands.fuzzy import match


def best(query: str, *lines: str) -> str | None:
    """The line that fits best."""
    found = [(hit.score, line) for line in lines if (hit := match(query, line)) is not None]
    return max(found)[1] if found else None


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("comp", "Compare plain and speculative decoding…"),
        ("cps", "Compare plain and speculative decoding…"),
        ("THEME DARK", "Theme: dark"),
        ("dark th", "Theme: dark"),
        ("chat", "New chat"),
        ("nc", "New chat"),
        ("xport j", "Export as JSON…"),
        ("zzz", None),
        ("dark zzz", None),
    ],
)
def test_the_line_that_is_meant(query: str, wanted: str | None) -> None:
    lines = ("Show the chat list", "Compare plain and speculative decoding…", "Theme: dark", "Theme: light", "New chat")
    assert best(query, *lines, "Export as JSON…", "Search chats") == wanted


def test_the_places_that_were_typed() -> None:
    hit = match("dk", "Theme: dark")
    assert hit is not None
    assert hit.places == (7, 10)
    hit = match("dark", "A Theme: DARK")
    assert hit is not None
    assert hit.places == (9, 10, 11, 12)


def test_letters_that_grow_keep_their_places() -> None:
    hit = match("x", "İİx")
    assert hit is not None
    assert hit.places == (2,)


def test_a_very_long_line_is_no_work() -> None:
    assert match("ab" * 50, "a" * 1_000_000) is None
