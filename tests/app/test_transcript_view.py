"""The conversation on the screen: few widgets for many entries, what is read stays in place, messages are changed."""

from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import pairwise
from time import thread_time

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTextEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.resources import read_text
from app.state.transcript import Entry, Exchange, Notice, Problem
from app.views.column_view import GAP, KEPT, MARGIN
from app.views.message_views import ExchangeView
from app.views.theme import Theme
from app.views.transcript_view import TranscriptView
from helpers.app_window import OpenWindow
from helpers.scripted_decoder import Script

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
    return [asked(number) for number in range(count)]


@pytest.fixture
def view(qapp: QApplication, qtbot: QtBot) -> Iterator[TranscriptView]:
    """A transcript in a window of its own, with a field before it and one after it."""
    icons = str(files("resources").joinpath("icons"))
    theme = Theme(qapp, read_text("styles", "window.qss"), icons, "light")
    window = QWidget()
    column = QVBoxLayout(window)
    before, transcript, after = QTextEdit(), TranscriptView(theme), QTextEdit()
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


# Few widgets ----------------------------------------------------------------------------------------------------------


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
    for value in (0, *range(17, bar.maximum(), bar.maximum() // 8), bar.maximum()):
        bar.setValue(value)
        settle(view, qtbot)
        check_stack(view)
        assert len(view.viewport().findChildren(ExchangeView)) <= KEPT + 12
    assert sum(view.view_of(entry) is not None for entry in entries if isinstance(entry, Exchange)) <= KEPT + 12


def test_every_height_is_the_right_one_once_it_was_seen(view: TranscriptView, qtbot: QtBot) -> None:
    entries = talk(25)
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
    assert sorted(heights) == list(range(25))
    total = 2 * MARGIN + sum(heights.values()) + 24 * GAP
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


# What is read stays in place ------------------------------------------------------------------------------------------


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
    for step in [90] * 16 + [333] * 6:
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
        view.grow(growing, text)
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
    for part in range(8):
        bar.setValue(bar.maximum() * part // 10)
        settle(view, qtbot)
    assert text.textCursor().hasSelection()
    assert seen(view, second).question.editor is not None


def test_an_unfolded_thought_is_unfolded_when_its_view_comes_again(view: TranscriptView, qtbot: QtBot) -> None:
    thinking = asked(0, "<think>" + WORDS * 5 + "</think>\n\nSo it is.")
    view.show_all([thinking, *talk(200)[1:]])
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
    for part in range(12):
        bar.setValue(bar.maximum() * (11 - part) // 12 + 5_000)
        settle(view, qtbot)
    assert view.view_of(thinking) is None
    bar.setValue(0)
    settle(view, qtbot)
    assert not seen(view, thinking).reply.thoughts[0].folded
    qtbot.waitUntil(lambda: seen(view, thinking).height() == high)


# Other entries --------------------------------------------------------------------------------------------------------


def test_what_is_deleted_leaves_the_rest_in_place(view: TranscriptView, qtbot: QtBot) -> None:
    entries = talk(100)
    view.show_all(entries)
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle(view, qtbot)
    shown = in_sight(view)
    kept, gone = shown[0], shown[1]
    before, widget = place_on_screen(view, kept), view.view_of(kept)
    entries = [entry for entry in entries if entry is not gone and entry is not entries[3]]
    view.show_all(entries)
    settle(view, qtbot)
    assert place_on_screen(view, kept) == before
    assert view.view_of(kept) is widget
    assert view.view_of(gone) is None
    assert view.entries == tuple(entries)
    check_stack(view)


def test_another_branch_read_anew_from_the_store(view: TranscriptView, qtbot: QtBot) -> None:
    view.show_all(talk(60))
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle(view, qtbot)
    first, stepped = in_sight(view)[:2]
    place = view.entries.index(stepped)
    assert isinstance(stepped, Exchange)
    before, widget = place_on_screen(view, first), view.view_of(first)
    again = [asked(number) for number in range(place)]
    other = asked(place, "Another reply.", reply_id=9_999, reply_branch=(2, 2))
    view.show_all([*again, other, asked(500), asked(501)])
    settle(view, qtbot)
    assert view.view_of(again[place - 1]) is widget, "the same messages keep their view"
    assert place_on_screen(view, again[place - 1]) == before
    assert "Another reply." in shown_text(view, other)
    assert not view.following


def test_another_conversation_opens_at_its_end(view: TranscriptView, qtbot: QtBot) -> None:
    view.show_all(talk(60))
    view.verticalScrollBar().setValue(100)
    other = [asked(number) for number in range(1_000, 1_030)]
    view.show_all(other)
    settle(view, qtbot)
    bar = view.verticalScrollBar()
    assert view.following
    assert bar.value() == bar.maximum()
    assert in_sight(view)[-1] is other[-1]
    view.clear()
    assert not view.entries
    assert bar.maximum() == 0
    assert not view.jump_button.isVisible()
    view.add(Notice(Problem("No model was found.")))
    view.add(asked(1))
    settle(view, qtbot)
    notice = view._views.get(view.entries[0])
    assert notice is not None
    assert notice.y() == MARGIN
    assert notice.height() == notice.needed
    assert place_on_screen(view, view.entries[1]) == MARGIN + notice.height() + GAP


def test_a_reply_goes_on_where_it_ended(view: TranscriptView, qtbot: QtBot) -> None:
    cut = asked(1, "Once upon", status="interrupted")
    view.show_all([asked(0), cut])
    settle(view, qtbot)
    found = seen(view, cut)
    assert found.summary.text() == "The program ended while this was being written."
    with qtbot.waitSignal(view.continue_asked) as caught:
        qtbot.mouseClick(found.continue_button, Qt.MouseButton.LeftButton)  # type: ignore[no-untyped-call]
    assert caught.args == [cut]
    cut.go_on()
    view.refresh(cut)
    cut.add(" a time.")
    view.grow(cut, " a time.")
    cut.status = "done"
    view.end(cut)
    settle(view, qtbot)
    assert shown_text(view, cut).endswith("End of 1. a time.")
    assert shown_text(view, cut).count("Once upon") == 1


def shown_text(view: TranscriptView, exchange: Exchange) -> str:
    return seen(view, exchange).reply.toPlainText()


# Actions --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def click(qtbot: QtBot) -> Callable[[QWidget], None]:
    def press(widget: QWidget) -> None:
        assert widget.isVisible()
        qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)  # type: ignore[no-untyped-call]

    return press


def open_one(view: TranscriptView, qtbot: QtBot, exchange: Exchange) -> ExchangeView:
    view.show_all([exchange])
    settle(view, qtbot)
    return seen(view, exchange)


def test_a_question_is_edited(view: TranscriptView, qtbot: QtBot, click: Callable[[QWidget], None]) -> None:
    exchange = asked(0)
    found = open_one(view, qtbot, exchange)
    sent: list[tuple[object, str]] = []
    view.edit_asked.connect(lambda which, text: sent.append((which, text)))
    edit = found.question_actions.button("edit")

    click(edit)
    editor = found.question.editor
    assert editor is not None
    assert editor.edit.toPlainText() == exchange.question
    assert editor.edit.hasFocus()
    assert not edit.isVisible()
    qtbot.keyClicks(editor.edit, "more")  # type: ignore[no-untyped-call]
    qtbot.keyClick(editor.edit, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    assert found.question.editor is None
    assert found.question.text.isVisible()
    assert edit.isVisible()
    assert sent == []

    for keys in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier):
        click(edit)
        editor = found.question.editor
        assert editor is not None
        assert editor.edit.toPlainText() == exchange.question, "what was not sent is forgotten"
        qtbot.keyClick(editor.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
        qtbot.keyClicks(editor.edit, "and more")
        qtbot.keyClick(editor.edit, Qt.Key.Key_Return, keys)
        assert sent.pop() == (exchange, exchange.question + "\nand more")
        assert found.question.editor is None

    click(edit)
    editor = found.question.editor
    assert editor is not None
    editor.edit.clear()
    assert not editor.send_button.isEnabled()
    click(editor.cancel_button)
    click(edit)
    assert found.question.editor is not None
    view.set_busy(True)
    assert not found.question.editor.send_button.isEnabled()
    view.set_busy(False)
    click(found.question.editor.send_button)
    assert len(sent) == 1


def test_the_actions_of_a_finished_exchange(
    view: TranscriptView, qtbot: QtBot, click: Callable[[QWidget], None]
) -> None:
    exchange = asked(0)
    found = open_one(view, qtbot, exchange)
    said: list[tuple[object, ...]] = []
    view.regenerate_asked.connect(lambda which: said.append(("regenerate", which)))
    view.delete_asked.connect(lambda which: said.append(("delete", which)))
    click(found.reply_actions.button("regenerate"))
    click(found.question_actions.button("delete"))
    assert said == [("regenerate", exchange), ("delete", exchange)]
    click(found.reply_actions.button("copy"))
    assert QGuiApplication.clipboard().text() == exchange.reply
    click(found.question_actions.button("copy"))
    assert QGuiApplication.clipboard().text() == exchange.question
    assert not found.reply_actions.button("continue").isVisible(), "it ended by itself"
    assert not found.continue_button.isVisible()
    for row in (found.question_actions, found.reply_actions):
        for name in ("edit", "copy", "delete") if row is found.question_actions else ("regenerate", "copy"):
            assert row.button(name).toolTip() == row.button(name).accessibleName() != ""
            assert row.button(name).isEnabled()
    view.set_busy(True)
    assert not found.reply_actions.button("regenerate").isEnabled()
    assert not found.question_actions.button("edit").isEnabled()
    assert not found.question_actions.button("delete").isEnabled()
    assert found.reply_actions.button("copy").isEnabled(), "that changes nothing"
    another = asked(1)
    view.add(another)
    assert not seen(view, another).reply_actions.button("regenerate").isEnabled()
    view.set_busy(False)
    assert found.reply_actions.button("regenerate").isEnabled()


@pytest.mark.parametrize(("status", "finish"), [("done", "length"), ("cancelled", "cancelled"), ("interrupted", None)])
def test_a_reply_that_broke_off_can_be_continued(
    view: TranscriptView, qtbot: QtBot, click: Callable[[QWidget], None], status: str, finish: str | None
) -> None:
    exchange = asked(0, status=status, finish_reason=finish)
    found = open_one(view, qtbot, exchange)
    with qtbot.waitSignal(view.continue_asked) as caught:
        click(found.reply_actions.button("continue"))
    assert caught.args == [exchange]
    assert found.continue_button.isVisible() == (status == "interrupted")


def test_branches(view: TranscriptView, qtbot: QtBot, click: Callable[[QWidget], None]) -> None:
    exchange = asked(0, question_branch=(1, 2), reply_branch=(2, 3))
    found = open_one(view, qtbot, exchange)
    steps: list[tuple[object, str, int]] = []
    view.branch_asked.connect(lambda which, part, step: steps.append((which, part, step)))
    question, reply = found.question_actions.picker, found.reply_actions.picker
    assert (question.place.text(), reply.place.text()) == ("1/2", "2/3")
    assert not question.back.isEnabled()
    click(question.on)
    click(reply.back)
    click(reply.on)
    assert steps == [(exchange, "question", 1), (exchange, "reply", -1), (exchange, "reply", 1)]
    view.set_busy(True)
    assert not reply.back.isEnabled()
    view.set_busy(False)
    exchange.reply_branch, exchange.question_branch = (3, 3), (1, 1)
    view.refresh(exchange)
    assert reply.place.text() == "3/3"
    assert not reply.on.isEnabled()
    assert not question.isVisible(), "one version needs no arrows"


def test_the_focus_stays_on_the_arrow(view: TranscriptView, qtbot: QtBot) -> None:
    view.show_all([asked(0), asked(1, reply_branch=(1, 3)), asked(2)])
    settle(view, qtbot)
    seen(view, view.entries[1]).reply_actions.picker.on.setFocus()
    for number in (2, 3):
        other = asked(1, f"Reply {number}.", reply_id=100 + number, reply_branch=(number, 3))
        view.show_all([asked(0), other])
        settle(view, qtbot)
        picker = seen(view, other).reply_actions.picker
        assert QApplication.focusWidget() is (picker.on if number == 2 else picker.back)
    view.clear()
    assert QApplication.focusWidget() is view


def test_actions_come_with_the_mouse_and_the_keyboard(view: TranscriptView, qtbot: QtBot) -> None:
    view.show_all([asked(0), asked(1)])
    settle(view, qtbot)
    first, second = (seen(view, entry) for entry in view.entries)
    button = second.reply_actions.button("copy")
    assert not button.revealed
    QTest.mouseMove(second.window(), second.mapTo(second.window(), QPoint(5, 5)))
    qtbot.waitUntil(lambda: button.revealed)
    assert not first.reply_actions.button("copy").revealed
    first.reply_actions.button("copy").setFocus(Qt.FocusReason.TabFocusReason)
    assert first.reply_actions.button("copy").revealed
    assert first.question_actions.button("edit").revealed, "the whole message's"


# The keyboard ---------------------------------------------------------------------------------------------------------


def test_keys_scroll(view: TranscriptView, qtbot: QtBot) -> None:
    view.show_all(talk(100))
    settle(view, qtbot)
    bar = view.verticalScrollBar()
    text = seen(view, in_sight(view)[-1]).findChildren(QTextEdit)[-1]
    for target in (view, text):
        target.setFocus()
        assert QApplication.focusWidget() is target

        def press(key: Qt.Key, target: QWidget = target) -> int:
            before = bar.value()
            qtbot.keyClick(target, key)  # type: ignore[no-untyped-call]
            return bar.value() - before

        press(Qt.Key.Key_End)
        assert bar.value() == bar.maximum()
        assert press(Qt.Key.Key_Up) == -bar.singleStep()
        assert press(Qt.Key.Key_Down) == bar.singleStep()
        assert press(Qt.Key.Key_PageUp) == -view.viewport().height()
        assert not view.following
        assert press(Qt.Key.Key_PageDown) == view.viewport().height()
        press(Qt.Key.Key_Home)
        assert bar.value() == 0
        press(Qt.Key.Key_End)
        settle(view, qtbot)


def test_tab_goes_through_the_entries_in_their_order(view: TranscriptView, qtbot: QtBot) -> None:
    entries = talk(8)
    view.show_all(entries)
    settle(view, qtbot)
    view.verticalScrollBar().setValue(0)
    settle(view, qtbot)
    before, after = (view.window().findChild(QTextEdit, name) for name in ("before", "after"))
    for field in (before, after):
        assert field is not None
        field.setTabChangesFocus(True)
    assert before is not None
    before.setFocus()

    def tab(key: Qt.Key = Qt.Key.Key_Tab) -> QWidget:
        focus = QApplication.focusWidget()
        assert focus is not None
        qtbot.keyClick(focus, key)  # type: ignore[no-untyped-call]
        focus = QApplication.focusWidget()
        assert focus is not None
        return focus

    assert tab() is view
    stops: list[tuple[int, str]] = []
    focus = tab()
    while view.isAncestorOf(focus):
        numbers = [n for n, entry in enumerate(entries) if (one := view._views.get(entry)) and one.isAncestorOf(focus)]
        stops.append((numbers[0], focus.objectName()))
        top = focus.mapTo(view.viewport(), QPoint(0, 0)).y()
        assert -focus.height() < top < view.viewport().height(), "what has the focus is in sight"
        focus = tab()
        assert len(stops) < 100
    assert focus is after
    assert [number for number, _ in stops] == sorted(number for number, _ in stops)
    assert {number for number, _ in stops} == set(range(8))
    assert [name for number, name in stops if number == 3][1:4] == ["edit", "copy", "delete"]
    focus = tab(Qt.Key.Key_Backtab)
    backwards = 0
    while focus is not before:
        backwards += 1
        focus = tab(Qt.Key.Key_Backtab)
        assert backwards < 200
    assert backwards >= 1


# In the program -------------------------------------------------------------------------------------------------------


def test_escape_in_an_editor_closes_it_and_cancels_no_reply(open_window: OpenWindow) -> None:
    script = Script(lambda messages: "Short." if len(messages) == 1 else "A longer reply, " * 60, round_s=0.005)
    window = open_window(script)
    first = window.ask("First")
    window.click(window.view(first).question_actions.button("edit"))
    editor = window.view(first).question.editor
    assert editor is not None
    second = window.send("Second")
    window.wait(lambda: second.reply)
    editor.edit.setFocus()
    window.qtbot.keyClick(editor.edit, Qt.Key.Key_Return)  # type: ignore[no-untyped-call]
    assert window.view(first).question.editor is editor, "not while a reply is being written"
    window.qtbot.keyClick(editor.edit, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    assert window.view(first).question.editor is None
    window.ended(second)
    assert second.status == "done"


def test_an_editor_of_a_question_that_is_half_in_sight_comes_into_view(open_window: OpenWindow) -> None:
    window = open_window(Script("A line of its own.\n\n" * 40))
    window.main.resize(720, 480)
    view = window.view(window.ask("Write some lines"))
    port, bar = window.main.transcript.viewport(), window.main.transcript.verticalScrollBar()
    bar.setValue(bar.value() + view.question.mapTo(port, view.question.rect().topLeft()).y() + 20)
    view.question.edit()
    editor = view.question.editor
    assert editor is not None
    edit = editor.edit
    window.wait(lambda: 0 <= edit.mapTo(port, edit.rect().topLeft()).y() <= port.height() - edit.height())
