"""The conversation on the screen: few widgets for many entries, and what is read stays in place."""

from time import thread_time

from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTextEdit
from pytestqt.qtbot import QtBot

from app.state.chat.transcript import Exchange
from app.views.chat.column import GAP, KEPT, MARGIN
from app.views.chat.exchange import ExchangeView
from app.views.chat.transcript import TranscriptView
from helpers.window.transcript import WORDS, asked, check_stack, in_sight, place_on_screen, seen, settle, talk


def test_thousands_of_entries_have_few_widgets(view: TranscriptView, qtbot: QtBot) -> None:
    entries = talk(5_000)
    began = thread_time()
    view.show_all(entries)
    QApplication.processEvents()
    assert thread_time() - began < 0.3, "more than it may take on a slow machine"
    assert view.following
    bar = view.verticalScrollBar()
    assert bar.value() == bar.maximum() > 100_000
    settle(view, qtbot)
    check_stack(view)
    assert entries[-1] in in_sight(view)
    for value in (0, *range(17, bar.maximum(), bar.maximum() // 3), bar.maximum()):
        bar.setValue(value)
        settle(view, qtbot)
        check_stack(view)
        assert len(view.viewport().findChildren(ExchangeView)) <= KEPT + 12
    assert sum(view.view_of(entry) is not None for entry in entries if isinstance(entry, Exchange)) <= KEPT + 12


def test_every_height_is_the_right_one_once_it_was_seen(view: TranscriptView, qtbot: QtBot) -> None:
    entries = talk(12)
    view.show_all(entries)
    bar = view.verticalScrollBar()
    heights: dict[int, int] = {}
    while True:
        settle(view, qtbot)
        for exchange in in_sight(view):
            heights[view.entries.index(exchange)] = seen(view, exchange).needed
        if bar.value() == 0:
            break
        bar.setValue(bar.value() - 450)
    settle(view, qtbot)
    assert sorted(heights) == list(range(12))
    total = 2 * MARGIN + sum(heights.values()) + 11 * GAP
    assert bar.maximum() == total - view.viewport().height()


def test_dragging_far_makes_only_what_is_stopped_at(view: TranscriptView, qtbot: QtBot) -> None:
    view.show_all(talk(3_000))
    settle(view, qtbot)
    bar = view.verticalScrollBar()
    for step in range(100):
        bar.setValue(bar.maximum() * (100 - step) // 100)
    QApplication.processEvents()
    assert len(view._views) < 30
    settle(view, qtbot)
    check_stack(view)


def test_scrolling_up_moves_what_is_read_by_just_that_much(view: TranscriptView, qtbot: QtBot) -> None:
    entries = talk(200)
    for place in range(0, 200, 3):
        # Guessed wrongly by far, either way.
        entries[place] = asked(
            place, "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 12 if place % 2 else "- x\n" * 3 + "i" * 900
        )
    view.show_all(entries)
    bar = view.verticalScrollBar()
    settle(view, qtbot)
    for step in [90] * 6 + [333] * 4:
        watched = in_sight(view)[0]
        before, value = place_on_screen(view, watched), bar.value()
        bar.setValue(value - step)
        assert place_on_screen(view, watched) == before + step
        settle(view, qtbot)
        assert place_on_screen(view, watched) == before + step


def test_a_height_that_changes_above_moves_nothing_in_sight(view: TranscriptView, qtbot: QtBot) -> None:
    view.show_all(talk(30))
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle(view, qtbot)
    above, watched = in_sight(view)[0], in_sight(view)[-1]
    found = seen(view, above)
    bar.setValue(bar.value() + found.y() + found.height() + 5)
    settle(view, qtbot)
    assert above not in in_sight(view)
    before, high = place_on_screen(view, watched), bar.maximum()
    found.question.edit()
    qtbot.waitUntil(lambda: bar.maximum() > high)
    settle(view, qtbot)
    assert place_on_screen(view, watched) == before


def test_another_width_keeps_the_entry_at_the_top(view: TranscriptView, qtbot: QtBot) -> None:
    view.show_all(talk(300))
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle(view, qtbot)
    top = in_sight(view)[0]
    for width in (520, 460, 700):
        view.window().resize(width, 640)
        settle(view, qtbot)
        assert in_sight(view)[0] is top
        check_stack(view)
    view.jump_to_end()
    view.window().resize(500, 400)
    settle(view, qtbot)
    assert bar.value() == bar.maximum()


def test_other_colours_move_nothing(view: TranscriptView, qtbot: QtBot) -> None:
    view.show_all([asked(number, "\n\n".join([WORDS * 4] * 30)) for number in range(8)])
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle(view, qtbot)
    watched = in_sight(view)[0]
    before, high = place_on_screen(view, watched), bar.maximum()
    view._views._theme.set_mode("dark")
    for _ in range(20):
        QTest.qWait(20)
        assert place_on_screen(view, watched) == before
    settle(view, qtbot)
    qtbot.waitUntil(lambda: all(one.needed == one.height() for _, one in view._views))
    assert (place_on_screen(view, watched), bar.maximum()) == (before, high)


def test_a_growing_reply_is_followed_or_left_alone(view: TranscriptView, qtbot: QtBot) -> None:
    entries = talk(20)
    growing = Exchange("And?")
    view.show_all([*entries, growing])
    bar = view.verticalScrollBar()
    assert view.following

    def grow() -> None:
        high = bar.maximum()
        text = "A line of its own.\n\n" * 12
        growing.add(text)
        view.grow(growing)
        qtbot.waitUntil(lambda: bar.maximum() > high + 100)

    grow()
    assert bar.value() == bar.maximum()
    bar.setValue(bar.value() - 700)
    settle(view, qtbot)
    assert view.jump_button.isVisible()
    watched = in_sight(view)[0]
    before, value = place_on_screen(view, watched), bar.value()
    grow()
    assert (bar.value(), place_on_screen(view, watched)) == (value, before)
    bar.setValue(0)
    settle(view, qtbot)
    assert view.view_of(growing) is not None, "what grows keeps its view"
    view.jump_button.click()
    assert bar.value() == bar.maximum()
    assert not view.jump_button.isVisible()
    growing.status = "done"
    view.end(growing)
    settle(view, qtbot)
    assert bar.value() == bar.maximum()
    check_stack(view)


def test_a_long_reply_has_its_room_before_it_is_drawn(view: TranscriptView, qtbot: QtBot) -> None:
    long = asked(1, "\n\n".join(WORDS * 6 for _ in range(400)))
    view.show_all([asked(0), long, asked(2)])
    view._go_to(40)
    found = seen(view, long)
    assert not found.is_drawn, "not in one go"
    assert found.height() > 10_000
    settle(view, qtbot)
    assert found.height() == found.needed
    assert view.verticalScrollBar().value() == 40


def test_what_is_selected_or_edited_is_not_taken_away(view: TranscriptView, qtbot: QtBot) -> None:
    entries = talk(300)
    view.show_all(entries)
    settle(view, qtbot)
    first, second = in_sight(view)[-2:]
    text = seen(view, first).findChildren(QTextEdit)[-1]
    cursor = text.textCursor()
    cursor.select(QTextCursor.SelectionType.Document)
    text.setTextCursor(cursor)
    seen(view, second).question.edit()
    bar = view.verticalScrollBar()
    for part in range(4):
        bar.setValue(bar.maximum() * part // 5)
        settle(view, qtbot)
    assert text.textCursor().hasSelection()
    assert seen(view, second).question.editor is not None


def test_an_unfolded_thought_is_unfolded_when_its_view_comes_again(view: TranscriptView, qtbot: QtBot) -> None:
    thinking = asked(0, "<think>" + WORDS * 5 + "</think>\n\nSo it is.")
    view.show_all([thinking, *talk(60)[1:]])
    bar = view.verticalScrollBar()
    bar.setValue(0)
    settle(view, qtbot)
    thought = seen(view, thinking).reply.thoughts[0]
    low = seen(view, thinking).height()
    assert thought.folded
    thought.header.click()
    qtbot.waitUntil(lambda: seen(view, thinking).height() > low and not thought.busy)
    settle(view, qtbot)
    high = seen(view, thinking).height()
    for part in range(6):
        bar.setValue(bar.maximum() * (5 - part) // 6 + 5_000)
        settle(view, qtbot)
    assert view.view_of(thinking) is None
    bar.setValue(0)
    settle(view, qtbot)
    assert not seen(view, thinking).reply.thoughts[0].folded
    qtbot.waitUntil(lambda: seen(view, thinking).height() == high)


def test_what_the_engine_notes_stands_under_the_figures(view: TranscriptView, qtbot: QtBot) -> None:
    entries = talk(2)
    first, last = (entry for entry in entries if isinstance(entry, Exchange))
    last.notes = ("It was joined.", "It was left out.")
    view.show_all(entries)
    settle(view, qtbot)
    shown = seen(view, last).summary.text().splitlines()
    assert shown[-2:] == ["It was joined.", "It was left out."]
    assert len(seen(view, first).summary.text().splitlines()) <= 1
