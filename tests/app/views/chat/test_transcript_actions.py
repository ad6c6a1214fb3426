"""What can be done with a message: edit, copy, delete, continue, branches; and with which keys."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTextEdit, QWidget
from pytestqt.qtbot import QtBot

from app.state.chat.intents import Continue, Delete, Edit, EntryIntent, KeepDraft, Regenerate, ShowVersion
from app.views.chat.transcript import TranscriptView
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow
from helpers.window.transcript import asked, in_sight, open_one, seen, settle, talk


@pytest.fixture
def click(qtbot: QtBot) -> Callable[[QWidget], None]:
    def press(widget: QWidget) -> None:
        assert widget.isVisible()
        qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)  # type: ignore[no-untyped-call]

    return press


def test_a_question_is_edited(view: TranscriptView, qtbot: QtBot, click: Callable[[QWidget], None]) -> None:
    exchange = asked(0)
    found = open_one(view, qtbot, exchange)
    sent: list[EntryIntent] = []
    view.intent.connect(lambda each: None if isinstance(each, KeepDraft) else sent.append(each))
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
        assert sent.pop() == Edit(exchange, exchange.question + "\nand more")
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
    said: list[EntryIntent] = []
    view.intent.connect(said.append)
    click(found.reply_actions.button("regenerate"))
    click(found.question_actions.button("delete"))
    assert said == [Regenerate(exchange), Delete(exchange)]
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
    with qtbot.waitSignal(view.intent) as caught:
        click(found.reply_actions.button("continue"))
    assert caught.args == [Continue(exchange)]
    assert found.continue_button.isVisible() == (status == "interrupted")


@pytest.mark.parametrize("status", ["interrupted", "cancelled", "failed"])
def test_a_question_without_a_reply_can_be_asked_again(
    view: TranscriptView, qtbot: QtBot, click: Callable[[QWidget], None], status: str
) -> None:
    exchange = asked(0, status=status, _parts=[])
    found = open_one(view, qtbot, exchange)
    view.set_busy(True)
    assert not found.again_button.isEnabled()
    view.set_busy(False)
    with qtbot.waitSignal(view.intent) as caught:
        click(found.again_button)
    assert caught.args == [Regenerate(exchange)]
    assert not open_one(view, qtbot, asked(1)).again_button.isVisible()


def test_branches(view: TranscriptView, qtbot: QtBot, click: Callable[[QWidget], None]) -> None:
    exchange = asked(0, question_branch=(1, 2), reply_branch=(2, 3))
    found = open_one(view, qtbot, exchange)
    steps: list[EntryIntent] = []
    view.intent.connect(steps.append)
    question, reply = found.question_actions.picker, found.reply_actions.picker
    assert (question.place.text(), reply.place.text()) == ("1/2", "2/3")
    assert not question.back.isEnabled()
    click(question.on)
    click(reply.back)
    click(reply.on)
    assert steps == [
        ShowVersion(exchange, "question", 1),
        ShowVersion(exchange, "reply", -1),
        ShowVersion(exchange, "reply", 1),
    ]
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
    QTest.mouseMove(second.window(), QPoint(15, 15))  # Another test may have left it where this message is.
    qtbot.waitUntil(lambda: not button.revealed)
    QTest.mouseMove(second.window(), second.mapTo(second.window(), QPoint(5, 5)))
    qtbot.waitUntil(lambda: button.revealed)
    assert not first.reply_actions.button("copy").revealed
    first.reply_actions.button("copy").setFocus(Qt.FocusReason.TabFocusReason)
    assert first.reply_actions.button("copy").revealed
    assert first.question_actions.button("edit").revealed, "the whole message's"


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
        assert len(stops) < 200
    assert focus is after
    assert [number for number, _ in stops] == sorted(number for number, _ in stops)
    assert {number for number, _ in stops} == set(range(8))
    assert [name for number, name in stops if number == 3][1:5] == ["edit", "copy", "prompt", "delete"]
    focus = tab(Qt.Key.Key_Backtab)
    backwards = 0
    while focus is not before:
        backwards += 1
        focus = tab(Qt.Key.Key_Backtab)
        assert backwards < 200
    assert backwards >= 1


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
