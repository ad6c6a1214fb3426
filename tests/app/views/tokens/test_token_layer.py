"""Tokens in a rendered reply: what stands where, what is painted, what the card tells."""

from collections.abc import Callable
from math import log

import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.settings.settings import Settings
from app.state.chat.rounds import Guess
from app.state.chat.trace import ORIGINS, TokenTrace
from app.views.markdown.reply import ReplyView
from app.views.markdown.text import MarkdownPage
from app.views.tokens.card import TokenCard, describe_token, probability_words, token_words, wanted_words
from app.views.tokens.layer import TokenLayer, TokenOffsets
from app.views.tokens.reply import TokenLegend, TokenReply
from app.views.widgets.paint_budget import PaintBudget
from app.views.widgets.theme import Theme
from engine import Origin, RoundEvent, TokenEvent


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    return Theme(qapp, "", settings=Settings(theme="light"))


def record(*texts: str, origins: tuple[Origin, ...] = ORIGINS) -> TokenTrace:
    trace = TokenTrace()
    for index, text in enumerate(texts):
        origin = origins[index % len(origins)]
        drafted = -0.2 if origin == "accepted" else None
        top = ((index, -0.1), (900, -2.5))
        trace.add(TokenEvent(index, text, origin, index + 1, index, -0.1, drafted, top), {index: text, 900: "\n"})
    return trace


class Shown:
    """A reply with its tokens coloured, on the screen."""

    def __init__(self, qtbot: QtBot, theme: Theme, width: int) -> None:
        self.page = QWidget()
        self.page.setObjectName("page")
        self.page.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        qtbot.addWidget(self.page)
        self.view = ReplyView(theme, PaintBudget(), self.page)
        self.tokens = TokenReply(self.view, theme, self.page)
        layout = QVBoxLayout(self.page)
        layout.addWidget(self.view)
        layout.addWidget(self.tokens)
        layout.addStretch(1)
        self.page.resize(width, 500)
        with qtbot.waitExposed(self.page):
            self.page.show()

    @property
    def layer(self) -> TokenLayer:
        return self.tokens.layer

    @property
    def text(self) -> MarkdownPage:
        """The page that has the end of the reply."""
        return self.view.texts[-1].page

    def letters(self, index: int) -> str:
        """What stands at the places of a token."""
        found = ""
        for page in self.layer._shown_pages():
            start, end = self.layer._places(page).span(index)
            found += "".join(page.document().characterAt(place) for place in range(start, end))
        return found.replace("\u2029", "\n").replace("\u2028", "\n")


@pytest.fixture
def show(qtbot: QtBot, theme: Theme) -> Callable[..., Shown]:
    """A reply on the screen, all of it drawn."""

    def show_one(trace: TokenTrace, text: str | None = None, width: int = 400, shown: str | None = None) -> Shown:
        made = Shown(qtbot, theme, width)
        reply = trace.text if text is None else text
        made.view.finish(reply if shown is None else shown)
        qtbot.waitUntil(lambda: made.view.is_settled)
        made.tokens.follow(trace, reply, reply if shown is None else shown)
        made.tokens.finish()
        made.page.repaint()
        return made

    return show_one


Show = Callable[..., Shown]

RICH = """# A **title**

Some *words* and `code`, a [link](https://example.org/a) &amp; \\*stars\\*.

- one
  - two **bold** 😀 three
1. *first*

| a | b |
|---|--:|
| 1 | **22** |

```python
def f():
    return 1
```

> quoted $x^2$

The end."""


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def test_every_character_of_rendered_markdown_has_its_token(show: Show) -> None:
    """With one token a character: each character that is shown belongs to the one that wrote it."""
    shown = show(record(*RICH))
    page = shown.text
    places = shown.layer._places(page)
    found = 0
    for position in range(page.document().characterCount() - 1):
        index = places.at(position)
        letter = page.document().characterAt(position)
        if index is not None:
            found += 1
            assert (
                letter in (RICH[index], "\ufffc", "\u2029", "\u2028") or not letter.isascii() or RICH[index] in "&\\\\"
            ), position
    visible = sum(not letter.isspace() for letter in page.toPlainText())
    assert found >= visible


def test_late_tokens_cost_no_more_to_paint_than_early_ones(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked up to paint a screenful does not grow with what stands above it, nor with the reply."""
    asked: list[int] = []
    look_up, span = TokenOffsets.token_at, TokenOffsets.span

    def token_at(offsets: TokenOffsets, shown: int) -> int | None:
        asked.append(shown)
        return look_up(offsets, shown)

    def span_of(offsets: TokenOffsets, index: int) -> tuple[int, int]:
        asked.append(index)
        return span(offsets, index)

    monkeypatch.setattr(TokenOffsets, "token_at", token_at)
    monkeypatch.setattr(TokenOffsets, "span", span_of)

    def work(words: int, share: float) -> int:
        made = show(record(*[f"word{number % 90} " for number in range(words)]))
        page = made.text
        top = round(share * (page.height() - 200))
        paper = QImage(page.size(), QImage.Format.Format_ARGB32)
        painter = QPainter(paper)
        asked.clear()
        made.layer.painter_of(page).paint(painter, QRectF(0, top, page.width(), 200), None)
        painter.end()
        return len(asked)

    early, late = work(2_000, 0.0), work(2_000, 1.0)
    assert 0 < late <= 1.5 * early + 20
    assert work(8_000, 1.0) <= 1.5 * early + 20


@pytest.mark.parametrize("size", [1, 3, 7, 23])
def test_tokens_of_any_size_are_in_order_and_cover_the_text(show: Show, size: int) -> None:
    """What a person reads is what the tokens cover, without gaps that anybody would see."""
    pieces = _pieces(RICH, size)
    shown = show(record(*pieces))
    places = shown.layer._places(shown.text)
    spans = [places.span(index) for index in range(len(pieces))]
    assert spans == sorted(spans)
    covered = "".join(shown.letters(index) for index in range(len(pieces)))
    for word in ("title", "words", "code", "link", "stars", "three", "first", "22", "return", "quoted", "end."):
        assert word in covered
    for marks in ("**", "```", "|--", "](", "> "):
        assert marks not in covered


def test_the_rendered_text_stays(show: Show) -> None:
    """Colours change nothing: code keeps its bar, tables and lists are what they are."""
    shown = show(record(*_pieces(RICH, 4)))
    assert len(shown.view.code_bars) == 1
    assert "**" not in shown.view.toPlainText()
    before = shown.view.height()
    shown.tokens.end()
    assert shown.view.height() == before


def test_the_token_under_the_mouse(show: Show) -> None:
    texts = ("Hello", " world", " and", "\n\n", "שלום", " עולם", "\n\n", "last", " line", "")
    shown = show(record(*texts))
    for index, text in enumerate(texts):
        if text.strip():
            assert shown.layer.token_at(shown.layer.place_of(index).center()) == index
    below = shown.layer.place_of(8)
    assert shown.layer.token_at(QPoint(shown.view.width() - 2, below.center().y())) is None, "none beside the line"


def test_a_token_on_two_lines(show: Show) -> None:
    shown = show(record("short ", "word" * 40, " end"), width=200)
    pieces = shown.layer.painter_of(shown.text).pieces_of(1)
    assert len(pieces) > 1
    assert len({piece.rect.top() for piece in pieces}) == len(pieces)


@pytest.mark.parametrize(
    "words", [("mmmmm", "nnnnn", "ooooo", "ppppp"), ("```\nmmmmm", "nnnnn", "ooooo", "ppppp\n```")]
)
def test_each_origin_has_its_colour(show: Show, theme: Theme, words: tuple[str, ...]) -> None:
    """In text and, over its ground, in code."""
    shown = show(record(*words))
    for name in ("light", "dark"):
        theme.set_mode(name)
        QTest.qWait(100)
        image = shown.page.grab().toImage()
        for index, origin in enumerate(ORIGINS[:3]):
            place = shown.layer.place_of(index).translated(shown.view.pos())
            # At the right edge, between the letters and the end, high up: no letter is there.
            color = image.pixelColor(place.center().x(), place.top() + 1)
            wanted = theme.color(origin)
            away = max(abs(color.red() - wanted.red()), abs(color.green() - wanted.green()))
            assert away <= (10 if words[0].startswith("`") else 0), (name, origin, color.name(), wanted.name())
    theme.set_mode("light")


def test_keys_go_from_token_to_token_and_the_card_tells(show: Show) -> None:
    shown = show(record("one", " two", "\n", "three", ""))
    layer, text = shown.layer, shown.text
    text.setFocus()
    for key, expected in (
        (Qt.Key.Key_Right, 0),
        (Qt.Key.Key_Right, 1),
        (Qt.Key.Key_Down, 3),
        (Qt.Key.Key_Up, 0),
        (Qt.Key.Key_End, 4),
        (Qt.Key.Key_Right, 4),
        (Qt.Key.Key_Left, 3),
        (Qt.Key.Key_Home, 0),
    ):
        QTest.keyClick(text, key)
        assert layer.current == expected, key
    card = layer.card
    assert card.isVisible()
    assert (card.name.text(), card.whence.text()) == ("one", "accepted from the draft · round 1")
    assert (card.target.text(), card.draft.text()) == ("90.5 %", "81.9 %")
    assert [name.text() for name, _, _ in card.rows if name.isVisible()] == ["one", "↵"]
    assert text.accessibleDescription() == "one, accepted from the draft · round 1, target 90.5 %, draft 81.9 %"
    QTest.keyClick(text, Qt.Key.Key_Right)
    assert (card.name.text(), card.draft.text()) == ("␣two", "–")
    assert card.whence.text() == "correction by the target · round 2"
    QTest.keyClick(text, Qt.Key.Key_Escape)
    assert not card.isVisible()


def test_a_card_is_made_when_it_is_asked_for(show: Show) -> None:
    shown = show(record("one", " two"))
    assert not shown.page.findChildren(TokenCard), "a reply that is scrolled past needs none"
    shown.layer.point_at(1)
    assert [card.name.text() for card in shown.page.findChildren(TokenCard)] == ["␣two"]


def test_the_card_stays_in_the_window(show: Show) -> None:
    shown = show(record(*(f"word{number} " for number in range(120))))
    for index in (0, 5, 60, 119):
        shown.layer.point_at(index)
        card = shown.layer.card
        assert shown.page.rect().contains(card.geometry())
        assert not card.geometry().intersects(shown.layer.place_of(index).translated(shown.view.pos()))


def test_the_card_tells_what_the_draft_wanted(show: Show) -> None:
    trace = record("Water", " please", origins=("correction", "bonus"))
    trace.add_round(RoundEvent(1, "draft-model", 1, 1, 0, 1.0, 2.0, None, ((7, log(0.41)),)), {7: "Lemonade"})
    shown = show(trace)
    layer = shown.layer
    layer.card.tell(trace[0], layer.place_of(0))
    assert layer.card.wanted.text() == "draft wanted “Lemonade” (41.0 %)"
    assert describe_token(trace[0]).endswith(", draft wanted “Lemonade” (41.0 %)")
    layer.card.tell(trace[1], layer.place_of(1))
    assert not layer.card.wanted.isVisible()
    assert "wanted" not in describe_token(trace[1])
    assert wanted_words(Guess(9, " two", None)) == "draft wanted “␣two”", "an index knows no probability"


def test_text_around_the_record_has_no_colour(show: Show) -> None:
    trace = record("one", " two")
    before = show(trace, "Before: one two")
    assert before.letters(0) == "one"
    places = before.layer._places(before.text)
    assert [places.at(position) for position in range(9)] == [None] * 8 + [0]
    assert show(trace, "one two and more").letters(1) == " two"
    bare = show(TokenTrace(), "There is **no** token record")
    assert bare.tokens.note.isVisible()
    assert bare.view.toPlainText() == "There is no token record"


def test_thoughts_have_their_tokens(show: Show) -> None:
    """Whatever markers the model has for them: what is shown of the reply finds its tokens."""
    texts = ("<|think|>", "I", " think", "<|end|>", "Said", " **so**", "<|call|>", "{}")
    shown = show(record(*texts), shown="<think>\nI think\n</think>\n\nSaid **so**")
    shown.view.thoughts[0].header.click()
    QTest.qWait(100)
    assert [shown.letters(index) for index in range(len(texts))] == ["", "I", " think", "", "Said", " so", "", ""]


def test_a_reply_as_it_grows(qtbot: QtBot, theme: Theme) -> None:
    trace = TokenTrace()
    made = Shown(qtbot, theme, 400)
    for index in range(50):
        trace.add(TokenEvent(index, f"w{index} ", ORIGINS[index % 4], 1, index, -0.1))
        made.view.grow(f"w{index} ")
        made.tokens.follow(trace, trace.text, trace.text)
        QTest.qWait(2)
    qtbot.waitUntil(lambda: made.letters(49) == "w49")
    made.view.finish(trace.text)
    qtbot.waitUntil(lambda: made.view.is_settled)
    assert made.letters(3) == "w3 "
    assert {chip.word: chip.tokens for chip in made.tokens.legend.chips} == {
        "accepted": 13,
        "correction": 13,
        "bonus": 12,
        "plain": 12,
    }


def test_the_legend_takes_the_lines_it_needs(qtbot: QtBot, theme: Theme) -> None:
    legend = TokenLegend(theme)
    qtbot.addWidget(legend)
    legend.show_counts({"accepted": 1_200, "correction": 30, "bonus": 4, "plain": 5})
    legend.resize(600, 20)
    legend.show()
    wide = legend.height()
    legend.resize(140, 20)
    assert legend.height() > 2 * wide
    assert legend.accessibleName() == "accepted 1,200, correction 30, bonus 4, plain 5"
    legend.show_counts({"accepted": 1})
    assert "plain" not in legend.accessibleName()


def test_words_of_tokens() -> None:
    assert token_words(5, " a\n\tb") == "␣a↵⇥b"
    assert token_words(5, "") == "control token 5"
    assert token_words(5, None) == "token 5"
    assert token_words(5, "x" * 40) == "x" * 17 + "…"
    assert token_words(5, "\x07\u202e") == "��"
    assert [probability_words(logprob) for logprob in (0.0, -0.174, -3.0, -20.0, None)] == [
        "100 %",
        "84.0 %",
        "5.0 %",
        "< 0.1 %",
        "–",
    ]
