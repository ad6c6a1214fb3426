"""A reply token by token: what stands where, what is painted, what the card tells."""

from collections.abc import Callable
from math import log
from time import perf_counter

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.settings.settings import Settings
from app.state.chat.rounds import Guess
from app.state.chat.trace import ORIGINS, TokenTrace
from app.views.tokens.card import describe_token, probability_words, token_words, wanted_words
from app.views.tokens.painter import TokenPlaces, length_of, showable
from app.views.tokens.reply import TokenLegend, TokenReply
from app.views.tokens.text import TokenText
from app.views.widgets.theme import Theme
from engine import Origin, RoundEvent, TokenEvent


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    """The light theme."""
    return Theme(qapp, "", settings=Settings(theme="light"))


def record(*texts: str, origins: tuple[Origin, ...] = ORIGINS) -> TokenTrace:
    """A record of these texts; origins take turns."""
    trace = TokenTrace()
    for index, text in enumerate(texts):
        origin = origins[index % len(origins)]
        drafted = -0.2 if origin == "accepted" else None
        top = ((index, -0.1), (900, -2.5))
        trace.add(TokenEvent(index, text, origin, index + 1, index, -0.1, drafted, top), {index: text, 900: "\n"})
    return trace


@pytest.fixture
def show(qtbot: QtBot, theme: Theme) -> Callable[..., TokenReply]:
    """A reply on the screen, all of it drawn."""
    pages: list[QWidget] = []

    def show_one(trace: TokenTrace, text: str | None = None, width: int = 400) -> TokenReply:
        page = QWidget()
        pages.append(page)
        qtbot.addWidget(page)
        reply = TokenReply(theme, page)
        layout = QVBoxLayout(page)
        layout.addWidget(reply)
        layout.addStretch(1)
        page.resize(width, 500)
        with qtbot.waitExposed(page):
            page.show()
        reply.follow(trace)
        reply.finish(trace.text if text is None else text)
        qtbot.waitUntil(lambda: reply.is_settled)
        return reply

    return show_one


Show = Callable[..., TokenReply]


def test_every_token_has_its_place(show: Show) -> None:
    texts = ("Hello", " wörld", "", "👩‍🚀", "\n", "\n\n", "\tcode", ".", "")
    text = show(record(*texts)).text
    assert text.toPlainText() == "".join(texts)
    for index, token in enumerate(texts):
        start, end = text._places.span(index)
        assert end - start == length_of(token)
        shown = "".join(text.document().characterAt(place) for place in range(start, end))
        assert shown.replace("\u2029", "\n").encode("utf-16-le", "surrogatepass") == token.encode("utf-16-le")


def test_the_token_under_the_mouse(show: Show) -> None:
    texts = ("Hello", " world", " and", "\n", "שלום", " עולם", "\n", "last", " line", "")
    text = show(record(*texts)).text
    for index in range(len(texts)):
        assert text.token_at(text.place_of(index).center()) == index
    below = text.place_of(8)
    assert text.token_at(QPoint(text.width() - 2, below.center().y())) is None, "no token beside the line"


def test_a_token_on_two_lines(show: Show) -> None:
    text = show(record("short ", "word" * 40, " end"), width=200).text
    pieces = text._painter.pieces_of(1)
    assert len(pieces) > 1
    assert len({piece.rect.top() for piece in pieces}) == len(pieces)


def test_each_origin_has_its_colour_and_its_line(show: Show, theme: Theme) -> None:
    reply = show(record("mmmmm", "nnnnn", "ooooo", "ppppp"))
    for name in ("light", "dark"):
        theme.set_mode(name)
        image = reply.text.grab().toImage()
        for index, origin in enumerate(ORIGINS[:4]):
            place = reply.text.place_of(index)
            # At the right edge, between the letters and the end, high up: no letter is there.
            color = image.pixelColor(place.center().x(), place.top() + 1).name()
            ground = getattr(theme.tokens, origin, None)
            assert ground is None or color == ground.lower(), (name, origin)
    theme.set_mode("light")


def test_keys_go_from_token_to_token_and_the_card_tells(show: Show) -> None:
    text = show(record("one", " two", "\n", "three", "")).text
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
        assert text.current == expected, key
    card = text.card
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


def test_the_card_tells_what_the_draft_wanted(show: Show) -> None:
    trace = record("Water", " please", origins=("correction", "bonus"))
    trace.add_round(RoundEvent(1, "draft-model", 1, 1, 0, 1.0, 2.0, None, ((7, log(0.41)),)), {7: "Lemonade"})
    text = show(trace).text
    text.card.tell(trace[0], text.place_of(0))
    assert text.card.wanted.text() == "draft wanted “Lemonade” (41.0 %)"
    assert describe_token(trace[0]).endswith(", draft wanted “Lemonade” (41.0 %)")
    text.card.tell(trace[1], text.place_of(1))
    assert not text.card.wanted.isVisible()
    assert "wanted" not in describe_token(trace[1])
    assert wanted_words(Guess(9, " two", None)) == "draft wanted “␣two”", "an index knows no probability"


def test_the_card_stays_in_the_window(show: Show) -> None:
    reply = show(record(*(f"word{number} " for number in range(120))))
    text, window = reply.text, reply.window()
    for index in (0, 5, 60, 119):
        text.point_at(index)
        assert window.rect().contains(text.card.geometry())
        assert not text.card.geometry().intersects(text.place_of(index).translated(text.mapTo(window, QPoint(0, 0))))


def test_text_around_the_record_has_no_colour(show: Show) -> None:
    trace = record("one", " two")
    reply = show(trace, "Before: one two")
    assert reply.text.toPlainText() == "Before: one two"
    assert reply.text._places.span(0) == (8, 11)
    behind = show(trace, "one two and more")
    assert behind.text.toPlainText() == "one two and more"
    bare = show(TokenTrace(), "There is no token record")
    assert bare.note.isVisible()
    assert bare.text.toPlainText() == "There is no token record"


def test_a_reply_as_it_grows(qtbot: QtBot, show: Show) -> None:
    trace = TokenTrace()
    reply = show(record("x"))
    reply.follow(trace)
    for index in range(50):
        trace.add(TokenEvent(index, f"w{index} ", ORIGINS[index % 4], 1, index, -0.1))
        reply.grow()
        QTest.qWait(2)
    reply.finish(trace.text)
    qtbot.waitUntil(lambda: reply.is_settled)
    assert reply.text.toPlainText() == trace.text
    assert reply.legend.counts == {"accepted": 13, "correction": 13, "bonus": 12, "plain": 12}


def test_an_endless_line_costs_the_same_at_its_end(qtbot: QtBot, theme: Theme) -> None:
    trace = TokenTrace()
    page = QWidget()
    qtbot.addWidget(page)
    text = TokenText(theme, page)
    text.resize(600, 100)
    page.show()
    text.follow(trace)
    spent: list[float] = []
    for step in range(100):
        for index in range(100 * step, 100 * step + 100):
            trace.add(TokenEvent(index, "word ", ORIGINS[index % 4], 1, index, -0.1))
        began = perf_counter()
        text._flush()
        spent.append(perf_counter() - began)
    text.finish(trace.text)
    qtbot.waitUntil(lambda: text.is_settled)
    assert text.toPlainText().replace("\n", "") == trace.text
    assert text.document().blockCount() > 10, "parted"
    early, late = sorted(spent[10:40])[15], sorted(spent[70:])[15]
    assert late < 3 * early + 0.002
    for index in (0, 4_999, 9_998):
        start, end = text._places.span(index)
        assert "".join(text.document().characterAt(place) for place in range(start, end)) == "word "
    text.resize(300, 100)
    qtbot.waitUntil(lambda: text.is_settled)
    assert text.shown == 10_000


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
    assert showable("a\x00b\ufdd0\ud800\t\n") == "a���\t\n".replace("a�", "a�b", 1)


def test_places_of_tokens() -> None:
    places = TokenPlaces()
    for start, end in ((0, 2), (2, 2), (2, 5)):
        places.add(start, end)
    assert [places.at(position) for position in range(6)] == [0, 0, 2, 2, 2, None]
    places.shift(2)
    assert places.span(2) == (3, 6)
    assert places.at(2) is None
