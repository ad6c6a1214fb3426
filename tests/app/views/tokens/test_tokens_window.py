"""Coloured tokens in the window: with the real demo pair, while a reply streams, when it is opened again."""

from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.settings.settings import Settings
from app.state.chat.intents import Continue
from app.state.chat.transcript import Exchange
from app.views.markdown.text import MarkdownPage
from app.views.tokens.reply import TokenReply
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window

Pair = tuple[Path, Path]
COLORED = Settings(lookahead=4, tokens_colored=True)


def ask(window: Window, text: str) -> Exchange:
    """Ask, and wait until the tokens of the reply are drawn."""
    exchange = window.send(text)
    window.wait(lambda: exchange.ended and not window.controller.busy, 60_000)
    settled(window, exchange)
    return exchange


def settled(window: Window, exchange: Exchange) -> None:
    window.wait(lambda: window.view(exchange).tokens is not None and window.view(exchange).reply.is_settled)


def page(window: Window, exchange: Exchange) -> MarkdownPage:
    return window.view(exchange).reply.texts[-1].page


def tail(window: Window, exchange: Exchange) -> MarkdownPage:
    """The page with the open end of a reply that is being written."""
    return window.view(exchange).reply.texts[-1].pages[-1]


def tokens(window: Window, exchange: Exchange) -> TokenReply:
    shown = window.view(exchange).tokens
    assert shown is not None
    return shown


def colored(reply: TokenReply, text: MarkdownPage) -> Counter[str]:
    """How many tokens are painted with each origin's colour."""
    painter = reply.layer.painter_of(text)
    height = text.document().size().height()
    painted = {piece.token for piece in painter.pieces(0.0, height)}
    return Counter(reply.trace.origin(index) for index in painted)


def test_the_tokens_of_the_bundled_pair(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair, settings=COLORED)
    exchange = ask(window, "What is Outrider?")
    stats, reply = window.stats(exchange), tokens(window, exchange)
    counted = dict(reply.trace.counts)
    assert counted == {
        "accepted": stats.accepted,
        "correction": stats.corrections,
        "bonus": stats.bonus_tokens,
        "plain": stats.plain_tokens,
        "forced": 0,
    }
    assert stats.accepted > 0
    silent = Counter(reply.trace.origin(index) for index in range(len(reply.trace)) if not reply.trace.text_of(index))
    text = page(window, exchange)
    unseen = Counter(
        reply.trace.origin(index)
        for index in range(len(reply.trace))
        if reply.trace.text_of(index) and len(set(reply.layer._places(text).span(index))) == 1
    )
    assert colored(reply, text) + silent + unseen == Counter({name: count for name, count in counted.items() if count})
    assert unseen.total() < len(reply.trace) / 4, "line ends and marks of Markdown"
    assert reply.legend.accessibleName().startswith(f"accepted {stats.accepted}, correction {stats.corrections}")
    check_records(reply)


def check_records(reply: TokenReply) -> None:
    """Probabilities are probabilities, and the greedy token of a temperature of 0 is among the best."""
    for index in range(len(reply.trace)):
        record = reply.trace[index]
        assert record.logprob <= 1e-6
        assert (record.draft_logprob is not None) == (record.origin == "accepted")
        assert len(record.alternatives) == 5
        assert all(other.text is not None for other in record.alternatives)
        logprobs = [other.logprob for other in record.alternatives]
        assert logprobs == sorted(logprobs, reverse=True)
        own = [other for other in record.alternatives if other.token == record.token]
        assert not own or own[0].logprob == pytest.approx(record.logprob, abs=1e-4)
        assert record.name is not None
        assert record.text == record.name or not record.text or "\\x" in record.name
        if record.origin != "correction":
            assert record.wanted is None
            continue
        assert record.wanted is not None, "what the draft had guessed in its place is known"
        assert record.wanted.token != record.token
        assert record.wanted.text is not None
        assert record.wanted.logprob is not None
        assert record.wanted.logprob <= 1e-6


def test_hovering_tells_about_a_token(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair, settings=COLORED)
    exchange = ask(window, "What is Outrider?")
    layer, text = tokens(window, exchange).layer, page(window, exchange)
    index = next(place for place in range(2, len(layer.trace)) if layer.trace.origin(place) == "accepted")
    QTest.mouseMove(text.viewport(), layer.place_of(index).center())
    window.wait(lambda: layer.current == index)
    card, record = layer.card, layer.trace[index]
    assert card.isVisible()
    assert card.parentWidget() is window.main
    assert card.whence.text() == f"accepted from the draft · round {record.round}"
    assert card.target.text().endswith("%")
    assert card.draft.text().endswith("%")
    assert [name.text() for name, _, _ in card.rows].count(card.name.text()) == 1
    QTest.mouseMove(window.main.bar, QPoint(2, 2))
    window.wait(lambda: not card.isVisible())


def test_ctrl_t_switches_all_replies_and_is_remembered(open_window: OpenWindow) -> None:
    window = open_window(Script("Some **bold** words. " * 5))
    first, second = window.ask("One"), window.ask("Two")
    assert "**" not in window.shown(first)
    window.key(Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    assert window.main.bar.tokens_button.isChecked()
    for exchange in (first, second):
        settled(window, exchange)
        assert "**" not in window.shown(exchange), "it stays rendered"
    assert window.main._settings.tokens_colored
    window.main.bar.tokens_button.click()
    assert window.view(first).tokens is None
    assert window.view(first).reply.isVisible()
    assert "**" not in window.shown(first)


def longer(exchange: Exchange, length: int) -> bool:
    """True if the reply has more characters than this."""
    return len(exchange.reply) > length


def test_switching_while_a_reply_streams_loses_nothing(open_window: OpenWindow, qtbot: QtBot) -> None:
    window = open_window(Script("word and word " * 60, round_s=0.004))
    exchange = window.send("Write")
    for length in (100, 250, 400, 550):
        qtbot.waitUntil(partial(longer, exchange, length), timeout=10_000)
        window.main.bar.tokens_button.click()
    window.ended(exchange)
    assert window.view(exchange).tokens is None
    assert window.shown(exchange).strip() == exchange.reply.strip()
    window.main.bar.tokens_button.click()
    settled(window, exchange)
    assert tokens(window, exchange).trace.text == exchange.reply


def test_a_reply_without_a_record_says_so(open_window: OpenWindow) -> None:
    window = open_window(Script("A reply."), settings=COLORED)
    exchange = ask(window, "One")
    exchange.trace = None
    exchange.reply_id = None
    window.main.bar.tokens_button.click()
    window.main.bar.tokens_button.click()
    shown = tokens(window, exchange)
    assert shown.note.isVisible()
    assert shown.legend.isHidden()
    assert window.shown(exchange) == "A reply."


def test_the_record_is_there_when_the_conversation_is_opened_again(open_window: OpenWindow) -> None:
    window = open_window(Script("A reply of several tokens."), settings=COLORED)
    exchange = ask(window, "One")
    counts = dict(tokens(window, exchange).trace.counts)
    window.main.new_chat_wanted.emit()
    exchange.trace = None
    window.wait(lambda: not window.controller.transcript.entries)
    window.controller.open(next(iter(window.program.conversations._summaries)))
    again = window.first()
    assert again is not exchange
    settled(window, again)
    assert dict(tokens(window, again).trace.counts) == counts


def test_keys_go_through_the_tokens_of_a_long_reply(open_window: OpenWindow) -> None:
    window = open_window(Script("A line of its own.\n" * 120), settings=COLORED)
    exchange = ask(window, "Write")
    transcript, layer, text = window.main.transcript, tokens(window, exchange).layer, page(window, exchange)
    bar = transcript.verticalScrollBar()
    assert bar.value() == bar.maximum() > 1_000
    text.setFocus(Qt.FocusReason.TabFocusReason)
    assert layer.current == 0
    assert layer.card.isVisible()
    assert bar.value() < 200, "the first token is brought into view"
    QTest.keyClick(text, Qt.Key.Key_End)
    assert layer.current == len(layer.trace) - 1
    assert bar.value() > 1_000
    QTest.keyClick(text, Qt.Key.Key_Up)
    QTest.keyClick(text, Qt.Key.Key_Left)
    assert layer.current is not None
    place = layer.place_of(layer.current)
    assert (
        transcript.viewport().rect().contains(window.view(exchange).reply.mapTo(transcript.viewport(), place.center()))
    )
    assert layer.card.isVisible()
    value = bar.value()
    QTest.keyClick(text, Qt.Key.Key_PageUp)
    assert bar.value() < value, "other keys scroll"
    assert not layer.card.isVisible(), "what it stood beside is gone"


def test_escape_hides_the_card_and_cancels_nothing(open_window: OpenWindow) -> None:
    window = open_window(Script("word " * 60, round_s=0.05), settings=COLORED)
    exchange = window.send("Write")
    window.wait(lambda: window.view(exchange).tokens is not None and len(tokens(window, exchange).trace) > 6)
    window.wait(lambda: window.view(exchange).reply.texts and window.view(exchange).reply.texts[-1].pages)
    layer, text = tokens(window, exchange).layer, tail(window, exchange)
    text.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(text, Qt.Key.Key_Right)
    assert layer.current is not None
    QTest.keyClick(text, Qt.Key.Key_Escape)
    assert layer.current is None
    assert window.controller.busy
    QTest.keyClick(text, Qt.Key.Key_Escape)
    window.wait(lambda: exchange.ended)
    assert exchange.status == "cancelled"


def test_a_click_on_a_token_keeps_the_keys_there(open_window: OpenWindow) -> None:
    window = open_window(Script("A reply of several tokens."), settings=COLORED)
    exchange = ask(window, "One")
    layer, text = tokens(window, exchange).layer, page(window, exchange)
    QTest.mouseClick(text.viewport(), Qt.MouseButton.LeftButton, pos=layer.place_of(3).center())
    assert layer.current == 3
    QTest.keyClick(text, Qt.Key.Key_Right)
    assert layer.current == 4


def test_a_continued_reply_goes_on_in_colours(open_window: OpenWindow) -> None:
    script = Script("word " * 100, round_s=0.02)
    window = open_window(script, settings=COLORED)
    exchange = window.send("Write")
    window.wait(lambda: window.view(exchange).tokens is not None and len(tokens(window, exchange).trace) > 10)
    window.controller.cancel()
    window.wait(lambda: exchange.ended and not window.controller.busy)
    settled(window, exchange)
    first = len(tokens(window, exchange).trace)
    begun, script.reply, script.round_s = exchange.reply, " and the end.", 0.0
    window.controller.carry_out(Continue(exchange))
    window.wait(lambda: exchange.ended and not window.controller.busy)
    settled(window, exchange)
    shown = tokens(window, exchange)
    assert exchange.reply == f"{begun} and the end."
    assert window.shown(exchange) == exchange.reply
    assert len(shown.trace) == first + 4
