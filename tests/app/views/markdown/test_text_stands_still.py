"""A reply that grows: no two lines overlap, complete lines stay where they are, and the end is what a restart shows."""

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import inf

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.state.markdown.blocks import PARAGRAPH_MOST
from app.views.markdown.code_writer import GAP
from app.views.markdown.reply import ReplyView
from helpers.window.reply_view import Reply

Line = tuple[str, float, float]
"""Its text, its top and its bottom (pixels)."""
WORDS = [
    "a",
    "the",
    "model",
    "writes",
    "über",
    "2.",
    "3)",
    "-",
    "#",
    ">",
    "long",
    "漢字",
    "**bold**",
    "`code`",
    "(x)",
    "1",
]


@pytest.fixture
def make_view(qapp: QApplication, qtbot: QtBot) -> Callable[[], ReplyView]:
    """Make replies that live as long as the test."""
    made: list[Reply] = []

    def make() -> ReplyView:
        made.append(Reply(qapp, qtbot))
        return made[-1].view

    return make


def lines(view: ReplyView) -> list[Line]:
    """All lines of a reply, from its top on."""
    return [line for body in view.bodies for line in _lines_of(body)]


def _lines_of(body: object) -> Iterator[Line]:
    page = body.page  # type: ignore[attr-defined]
    layout = page.document().documentLayout()
    block = page.document().begin()
    while block.isValid():
        top, text = layout.blockBoundingRect(block).top(), block.text()
        for number in range(block.layout().lineCount()):
            line = block.layout().lineAt(number)
            shown = text[line.textStart() : line.textStart() + line.textLength()]
            if shown:
                yield shown, top + line.y(), top + line.y() + line.height()
        block = block.next()


def draw(view: ReplyView, text: str = "") -> None:
    """Let a reply grow, and draw all that came at once."""
    if text:
        view.grow(text)
        view._clock.stop()
    assert view._work(inf)
    view.fit()


def paragraphs(chance: random.Random, size: int) -> str:
    """Paragraphs of sentences, some of them long; none of the words begins anything in the middle of one."""
    found, length = [], 0
    while length < size:
        words = chance.choices(WORDS, k=chance.choice([4, 60, 900, 4_000]))
        for at in range(7, len(words), chance.choice([9, 23, 5_000])):
            words[at] += chance.choice([".", "!", "?", "。", ".\n"])
        found.append("So " + " ".join(words).replace("\n ", "\nand "))
        length += len(found[-1])
    return "\n\n".join(found)[:size]


@pytest.mark.parametrize("size", [300, 2_100, 6_000, 20_000])
def test_paragraphs_that_are_written(make_view: Callable[[], ReplyView], size: int) -> None:
    chance = random.Random(size)
    text = paragraphs(chance, size)
    view = make_view()
    at, before = 0, list[Line]()
    while at < size:
        after = min(at + chance.choice([1, 3, 40, max(40, size // 12)]), size)
        draw(view, text[at:after])
        now = lines(view)
        for (_, _, bottom), (shown, top, _) in pairwise(now):
            assert top >= bottom - 0.01, shown
        moved = [(was, line) for was, line in zip(before[:-1], now, strict=False) if was != line]
        # Of what is bold or code the end must come before it is seen as such.
        assert all("**" in was[0] or "`" in was[0] or was[0] in line[0] for was, line in moved), moved[:2]
        assert all(was[1] == line[1] for was, line in moved), moved[:2]
        assert view.height() - now[-1][2] < GAP - 1, "no gap below before something follows"
        at, before = after, now
    view.finish(text)
    draw(view)
    again = make_view()
    again.finish(text)
    draw(again)
    assert lines(view) == lines(again)
    assert len({top for _, top, _ in lines(again)}) == len(lines(again))


def test_a_paragraph_is_one_however_long(make_view: Callable[[], ReplyView]) -> None:
    text = "The same sentence comes once more, and again. " * 400
    view = make_view()
    draw(view, text)
    view.finish(text)
    draw(view)
    (page,) = (body.page for body in view.bodies)
    assert page.document().blockCount() == 1
    assert page.toPlainText() == text.strip()
    assert len(text) < PARAGRAPH_MOST
    items = "\n".join(f"{number}. {'An item of many words goes on and on. ' * 60}" for number in (1, 2, 3))
    view = make_view()
    view.finish(items)
    draw(view)
    (page,) = (body.page for body in view.bodies)
    assert page.document().blockCount() == 3
    blocks = [page.document().findBlockByNumber(number) for number in range(3)]
    assert all(block.textList() is not None for block in blocks)


def test_what_is_not_bold_yet_or_code_goes_over_no_cut(make_view: Callable[[], ReplyView]) -> None:
    words = "Some words without an end " * 36
    text = f"{words} **bold words that go on over the place where it is cut. And on** {words} {words}"
    view = make_view()
    view.finish(text)
    draw(view)
    assert "*" not in view.toPlainText()


MIXED = """Some words.

## A heading

- one
- two
  - three

> quoted
> words

```python
x = 1
```

| a | b |
|---|---|
| 1 | 2 |

1. first
2. second

---

The end.
"""


def test_what_is_finished_stays_while_the_rest_is_open(make_view: Callable[[], ReplyView]) -> None:
    """Whatever comes after what, also where Qt would collapse the room between them."""
    view = make_view()
    finished: list[Line] = []
    for place, sign in enumerate(MIXED):
        draw(view, sign)
        if MIXED[: place + 1].endswith("\n\n"):
            now = lines(view)
            assert now[: len(finished)] == finished
            finished = now
    view.finish(MIXED)
    draw(view)
    again = make_view()
    again.finish(MIXED)
    draw(again)
    assert lines(view) == lines(again)
    assert view.height() == again.height()
