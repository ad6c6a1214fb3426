"""A transcript in a window of its own, filled with exchanges, for tests."""

from collections.abc import Iterator
from importlib.resources import files
from itertools import pairwise

from PySide6.QtWidgets import QApplication, QTextEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.settings.settings import Settings
from app.state.chat.transcript import Entry, Exchange
from app.system.resources import read_text
from app.views.chat.column import GAP, MARGIN
from app.views.chat.exchange import ExchangeView
from app.views.chat.transcript import TranscriptView
from app.views.widgets.paint_budget import PaintBudget
from app.views.widgets.theme import Theme

WORDS = "word after word, on and on, "


def asked(number: int, reply: str = "", **more: object) -> Exchange:
    """An exchange that is kept as messages 2 n and 2 n + 1."""
    exchange = Exchange(f"Question {number}? " + WORDS * (number % 5), question_id=2 * number, reply_id=2 * number + 1)
    reply = reply or "\n\n".join([WORDS * (1 + (number * 7 + part) % 9) for part in range(1 + number % 4)])
    exchange.add(reply + f" End of {number}.")
    exchange.status = "done"
    for name, value in more.items():
        setattr(exchange, name, value)
    return exchange


def talk(count: int) -> list[Entry]:
    """So many exchanges."""
    return [asked(number) for number in range(count)]


def transcript_in_window(qapp: QApplication, qtbot: QtBot) -> Iterator[TranscriptView]:
    """A transcript in a window of its own, with a field before it and one after it."""
    icons = str(files("resources").joinpath("icons"))
    theme = Theme(qapp, read_text("styles", "window.qss"), icons, Settings(theme="light"))
    window = QWidget()
    column = QVBoxLayout(window)
    before, transcript, after = QTextEdit(), TranscriptView(theme, PaintBudget()), QTextEdit()
    for name, widget in (("before", before), ("transcript", transcript), ("after", after)):
        column.addWidget(widget, int(widget is transcript))
        if widget is not transcript:
            widget.setObjectName(name)
            widget.setFixedHeight(30)
    window.resize(700, 640)
    window.show()
    window.activateWindow()
    qtbot.waitActive(window)
    yield transcript
    window.close()
    window.deleteLater()
    qapp.processEvents()


def settle(view: TranscriptView, qtbot: QtBot) -> None:
    """Wait until nothing is left to be made or drawn."""
    QApplication.processEvents()
    qtbot.waitUntil(lambda: not view._clock.isActive() and all(one.is_drawn for _, one in view._views))


def place_on_screen(view: TranscriptView, exchange: Entry) -> int:
    """Where an entry begins, counted from the viewport's top."""
    found = view._views.get(exchange)
    assert found is not None
    return found.y()


def seen(view: TranscriptView, exchange: Entry) -> ExchangeView:
    """The view of an exchange that has one."""
    found = view._views.get(exchange)
    assert isinstance(found, ExchangeView)
    return found


def in_sight(view: TranscriptView) -> list[Exchange]:
    """The exchanges in the viewport."""
    room = view.viewport().height()
    return [
        entry
        for entry in view.entries
        if isinstance(entry, Exchange)
        and (found := view.view_of(entry)) is not None
        and found.y() < room
        and found.y() + found.height() > 0
    ]


def check_stack(view: TranscriptView) -> None:
    """The views in sight stand one below the other, as tall as they need to be, without a hole."""
    shown = in_sight(view)
    numbers = [view.entries.index(exchange) for exchange in shown]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    views = [seen(view, exchange) for exchange in shown]
    for above, below in pairwise(views):
        assert below.y() == above.y() + above.height() + GAP
    for found in views:
        assert found.height() == found.needed
        assert found.isVisible()
    first, last = views[0], views[-1]
    assert first.y() <= MARGIN
    assert last.y() + last.height() >= min(view.viewport().height() - MARGIN - GAP, 40)


def shown_text(view: TranscriptView, exchange: Exchange) -> str:
    """A reply as it is shown."""
    return seen(view, exchange).reply.toPlainText()


def open_one(view: TranscriptView, qtbot: QtBot, exchange: Exchange) -> ExchangeView:
    """Show nothing but this exchange."""
    view.show_all([exchange])
    settle(view, qtbot)
    return seen(view, exchange)
