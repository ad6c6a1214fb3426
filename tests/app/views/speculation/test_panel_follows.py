"""The Speculation panel belongs to a reply: the one that is selected, the last one otherwise, also of an old chat."""

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QToolTip

from app.settings.settings import Settings
from app.state.chat.rounds import RoundRecord
from app.state.speculation.metrics import Metrics
from engine import GenerationStats
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window

FOUR = Settings(lookahead=4)


def rounds(window: Window) -> str:
    """What the panel says."""
    window.wait(lambda: window.main.panel.is_drawn)
    return window.main.panel.counters["rounds"].text()


def test_it_is_folded_until_there_is_a_reply(open_window: OpenWindow) -> None:
    window = open_window(Script("word " * 30), settings=FOUR)
    panel = window.main.panel
    window.wait(panel.hint.isVisible)
    assert not panel._charts.isVisible()
    window.ask("One")
    window.wait(panel._charts.isVisible)
    assert not panel.hint.isVisible()
    sentences = [label.text() for label in panel._charts.findChildren(QLabel) if label.objectName() == "hint"]
    assert len([text for text in sentences if text]) == 4, "each plot says what it shows"
    assert "Time to first token" in panel._counters._names.values()


def test_it_follows_the_selected_reply(open_window: OpenWindow) -> None:
    window = open_window(Script(lambda messages: "word " * (12 if len(messages) < 2 else 60)), settings=FOUR)
    first, second = window.ask("The short one"), window.ask("The long one")
    panel = window.main.panel
    window.wait(lambda: panel.reply.toolTip() == "Reply to “The long one”")
    assert rounds(window) == str(window.stats(second).rounds)
    view = window.view(first)
    QTest.mouseClick(view.reply.texts[0].page.viewport(), Qt.MouseButton.LeftButton)
    window.wait(lambda: panel.reply.toolTip() == "Reply to “The short one”")
    assert rounds(window) == str(window.stats(first).rounds) != str(window.stats(second).rounds)
    assert panel.figures.rates[0], "its rounds are known from its record"
    third = window.ask("Another one")
    window.wait(lambda: panel.reply.toolTip() == "Reply to “Another one”")
    assert rounds(window) == str(window.stats(third).rounds)


def test_it_tells_of_the_last_reply_of_a_chat_that_is_opened_again(open_window: OpenWindow) -> None:
    window = open_window(Script("word " * 30), settings=FOUR)
    exchange = window.ask("One")
    wanted = str(window.stats(exchange).rounds)
    window.main.new_chat_wanted.emit()
    panel = window.main.panel
    window.wait(lambda: panel.hint.isVisible() and not panel.reply.toolTip())
    window.controller.open(next(iter(window.program.conversations._summaries)))
    window.wait(lambda: panel.reply.toolTip() == "Reply to “One”")
    assert rounds(window) == wanted
    assert panel.rate_figure.text() != "– % accepted"


def test_a_chat_without_a_reply_shows_none_while_another_one_is_written(open_window: OpenWindow) -> None:
    window = open_window(Script("word " * 250, round_s=0.02), settings=FOUR)
    window.send("One")
    panel, replies = window.main.panel, window.controller.replies
    window.wait(lambda: replies.metrics.rounds > 3)
    window.main.new_chat_wanted.emit()
    window.wait(lambda: panel.hint.isVisible() and not panel.reply.toolTip())
    assert panel.figures.empty
    window.wait(lambda: not window.controller.busy)
    assert panel.figures.empty, "nor when that has ended"
    assert replies.metrics.rounds > 3


def test_the_plot_of_a_kept_reply_ends_where_its_figure_says() -> None:
    stats = GenerationStats(rounds=20, proposed=20, accepted=20, bonus_tokens=20, total_ms=4_000.0)
    kept = Metrics.of_kept(stats, [RoundRecord(number, 1, 1, 10.0, 60.0, ()) for number in range(1, 21)])
    assert kept.speeds.seconds == pytest.approx(stats.emitted / stats.tokens_per_second)


def test_a_reply_that_goes_on_is_counted_as_a_whole(open_window: OpenWindow) -> None:
    script = Script("word " * 400, round_s=0.05)
    window = open_window(script, settings=FOUR)
    exchange = window.send("One")
    replies = window.controller.replies
    window.wait(lambda: replies.metrics.rounds > 3)
    window.controller.cancel()
    window.wait(lambda: exchange.ended)
    first = exchange.stats
    assert first is not None
    assert exchange.unfinished
    script.round_s, script.reply = 0.0, "word " * 40
    window.view(exchange).reply_actions.button("continue").click()
    window.wait(lambda: exchange.ended and exchange.finish_reason not in ("cancelled", None))
    whole = exchange.stats
    assert whole is not None
    assert whole.rounds == first.rounds + 17
    assert whole.emitted == first.emitted + 50
    assert (replies.metrics.rounds, replies.metrics.emitted) == (whole.rounds, whole.emitted)
    window.wait(lambda: window.view(exchange).summary.text().startswith(f"{whole.emitted} tokens · "))
    assert replies.metrics.speeds.seconds > first.emitted / first.tokens_per_second * 0.9


def test_a_reply_that_quitting_cut_has_the_figures_of_its_record(open_window: OpenWindow) -> None:
    window = open_window(Script("word " * 400, round_s=0.05), settings=FOUR)
    exchange = window.send("One")
    window.wait(lambda: window.controller.replies.metrics.rounds > 3)
    assert window.close()
    again = open_window(Script())
    again.controller.open(next(iter(again.program.conversations._summaries)))
    kept = again.first()
    assert kept.status == "interrupted"
    assert kept.stats is not None
    assert kept.stats.rounds > 3
    assert kept.stats.emitted >= 3 * kept.stats.rounds - 3
    assert rounds(again) == str(kept.stats.rounds)
    assert exchange.stats == kept.stats


def test_a_point_tells_its_value_under_the_mouse(open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(QToolTip, "showText", lambda _place, words, _widget: told.append(words))
    window = open_window(Script("word " * 60), settings=FOUR)
    window.ask("One")
    panel = window.main.panel
    window.wait(lambda: panel.plots is not None and panel.is_drawn and panel._charts.isVisible())
    assert panel.plots is not None
    plot = panel.plots[0]
    place = QPointF(plot.width() / 2, plot.height() / 2)
    none = Qt.MouseButton.NoButton
    event = QMouseEvent(
        QMouseEvent.Type.MouseMove, place, plot.mapToGlobal(place), none, none, Qt.KeyboardModifier.NoModifier
    )
    plot.mouseMoveEvent(event)
    assert told[0].startswith("round ")
    assert "%" in told[0]
