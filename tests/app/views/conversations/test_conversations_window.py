"""Conversations in the window: kept, found again, renamed, deleted, branched."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLineEdit

from app.settings.settings import Settings
from app.state.chat.intents import Continue, Delete, Edit, Regenerate, ShowVersion
from app.state.chat.transcript import Exchange
from app.store.conversations import ConversationStore
from app.store.store import Store
from app.views.conversations.rows import ROW_ROLE
from engine import Message
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow
from helpers.window.chats import ECHO, LONG, key, number, questions, stand_on, titles


def test_a_conversation_is_there_again_after_a_restart(open_window: OpenWindow) -> None:
    window = open_window(Script("Fine, **thanks**."))
    first = window.ask("How are you?")
    assert titles(window) == ["Today", "How are you?"]
    summary = window.view(first).summary.text()
    assert window.close()
    again = open_window(Script())
    again.wait(lambda: len(again.controller.transcript) == 1)
    exchange = again.first()
    assert (exchange.question, exchange.reply, exchange.status) == ("How are you?", "Fine, **thanks**.", "done")
    again.wait(lambda: again.view(exchange).reply.is_settled)
    assert again.shown(exchange) == "Fine, thanks."
    assert again.view(exchange).summary.text() == summary, "with its figures"
    assert exchange.models == "big + small"
    assert titles(again) == ["Today", "How are you?"]
    assert again.program.conversations.list.open_id == number(again, "How are you?")


def test_a_new_chat_forgets_nothing(open_window: OpenWindow) -> None:
    script = Script(ECHO)
    window = open_window(script)
    window.ask("The first")
    window.main.left.new_chat_button.click()
    assert window.main.welcome.isVisible()
    window.ask("The second")
    assert script.prompts[-1] == (Message("user", "The second"),)
    assert titles(window) == ["Today", "The second", "The first"]
    window.main.left.chosen.emit(number(window, "The first"))
    assert questions(window) == ["The first"]
    window.ask("More")
    assert [message.content for message in script.prompts[-1]] == ["The first", "Reply to The first", "More"]
    assert titles(window) == ["Today", "The first", "The second"], "the latest is first"
    assert window.close()
    again = open_window(Script())
    again.wait(lambda: questions(again) == ["The first", "More"])


def test_renaming_in_the_list(open_window: OpenWindow) -> None:
    window = open_window(Script())
    window.ask("A question")
    stand_on(window, "A question")
    panel = window.main.left
    key(window, panel.list, Qt.Key.Key_F2)
    field = panel.list.findChild(QLineEdit, "rename")
    assert field is not None
    assert field.text() == "A question"
    field.setText("  Another\n name ")
    key(window, field, Qt.Key.Key_Return)
    window.wait(lambda: titles(window) == ["Today", "Another name"])
    window.ask("And more")
    assert titles(window) == ["Today", "Another name"], "a title that was given stays"
    assert window.close()
    assert titles(open_window(Script())) == ["Today", "Another name"]


def test_a_click_opens_two_rename_and_several_are_chosen(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(Script())
    for text in ("One", "Two"):
        window.controller.new_chat()
        window.ask(text)
    panel = window.main.left
    row = window.program.conversations.list.row_of(number(window, "One"))
    assert row is not None
    place = panel.list.visualRect(panel.rows.index(row)).center()
    mouse, left = window.qtbot, Qt.MouseButton.LeftButton
    mouse.mouseClick(panel.list.viewport(), left, pos=place)  # type: ignore[no-untyped-call]
    assert questions(window) == ["One"]
    assert panel.list.hasFocus(), "F2 and Del are for it; letters go to the prompt"
    mouse.mouseDClick(panel.list.viewport(), left, pos=place)  # type: ignore[no-untyped-call]
    mouse.mouseRelease(panel.list.viewport(), left, pos=place)  # type: ignore[no-untyped-call]
    field = panel.list.findChild(QLineEdit, "rename")
    assert field is not None
    assert field.hasFocus()
    window.qtbot.keyClicks(field, "Uno")  # type: ignore[no-untyped-call]
    key(window, field, Qt.Key.Key_Return)
    window.wait(lambda: titles(window) == ["Today", "Two", "Uno"])

    # Several are chosen, exported, deleted; none is opened by that.
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path))
    (tmp_path / "Uno.md").write_text("mine", encoding="utf-8")
    other = window.program.conversations.list.row_of(number(window, "Two"))
    assert other is not None
    place = panel.list.visualRect(panel.rows.index(other)).center()
    mouse.mouseClick(panel.list.viewport(), left, Qt.KeyboardModifier.ControlModifier, place)  # type: ignore[no-untyped-call]
    assert [item.title for item in panel.list.selected()] == ["Two", "Uno"]
    assert questions(window) == ["One"]
    menu = panel.make_menu(window.program.conversations.list.item(number(window, "Two")))
    words = [action.text() for action in menu.actions() if action.text()]
    assert words == ["Move to project", "2 chats: Export as Markdown…", "2 chats: Export as JSON…", "Delete 2 chats"]
    menu.actions()[1].trigger()
    window.wait(lambda: window.program.conversations.files.activity.work == "idle" and (tmp_path / "Uno 2.md").exists())
    assert "Two" in (tmp_path / "Two.md").read_text(encoding="utf-8")
    window.wait(lambda: "Uno 2.md" in window.main.notice.text.text())
    assert window.main.notice.isVisible(), "that it was written is said"
    assert (tmp_path / "Uno.md").read_text(encoding="utf-8") == "mine"
    key(window, panel.list, Qt.Key.Key_Delete)
    assert titles(window) == []
    for _ in range(2):
        panel.undo_button.click()
    assert titles(window) == ["Today", "Two", "Uno"], "Undo brings back as many as were deleted"


def test_pinning(open_window: OpenWindow) -> None:
    window = open_window(Script())
    for text in ("One", "Two"):
        window.controller.new_chat()
        window.ask(text)
    menu = window.main.left.make_menu(window.program.conversations.list.item(number(window, "One")))
    next(action for action in menu.actions() if action.text() == "Pin").trigger()
    assert titles(window) == ["Pinned", "One", "Today", "Two"]
    assert window.close()
    again = open_window(Script())
    assert titles(again) == ["Pinned", "One", "Today", "Two"]
    again.main.left.pin_wanted.emit(number(again, "One"), False)
    assert "Pinned" not in titles(again)


def test_deleting_and_undoing(open_window: OpenWindow) -> None:
    window = open_window(Script(ECHO))
    window.ask("One")
    window.controller.new_chat()
    window.ask("Two")
    panel = window.main.left
    stand_on(window, "One")
    key(window, panel.list, Qt.Key.Key_Delete)
    assert titles(window) == ["Today", "Two"]
    assert panel.undo_bar.isVisible()
    assert questions(window) == ["Two"], "the open one stays"
    panel.undo_button.click()
    assert titles(window) == ["Today", "Two", "One"]
    assert not panel.undo_bar.isVisible()
    stand_on(window, "Two")
    key(window, panel.list, Qt.Key.Key_Delete)
    assert window.main.welcome.isVisible(), "it was open"
    panel.undo_button.click()
    assert questions(window) == ["Two"]
    assert window.main.transcript.isVisible()
    panel.delete_wanted.emit(number(window, "One"))
    panel.delete_wanted.emit(number(window, "Two"))
    panel.undo_wanted.emit()
    assert titles(window) == ["Today", "Two"], "the last one comes back"
    assert window.close()
    again = open_window(Script())
    assert titles(again) == ["Today", "Two"]


def test_searching(open_window: OpenWindow) -> None:
    window = open_window(Script(lambda messages: "It is about **zebras** and grass." if len(messages) > 1 else "No."))
    window.ask("Animals")
    window.ask("More of them")
    window.controller.new_chat()
    window.ask("Cars")
    panel = window.main.left
    window.main.search()
    assert panel.search.hasFocus()
    window.qtbot.keyClicks(panel.search, "zebr")  # type: ignore[no-untyped-call]
    window.wait(lambda: titles(window) == ["Animals"])
    item = panel.rows.index(0).data(ROW_ROLE)
    start, end = item.hits[0]
    assert item.snippet[start:end] == "zebr"
    key(window, panel.search, Qt.Key.Key_Return)
    assert questions(window) == ["Animals", "More of them"]
    panel.search.setText("no such word")
    window.wait(panel.nothing.isVisible)
    assert titles(window) == []
    key(window, panel.search, Qt.Key.Key_Escape)
    assert titles(window) == ["Today", "Cars", "Animals"]
    assert not panel.nothing.isVisible()
    key(window, panel.search, Qt.Key.Key_Escape)
    assert window.prompt.edit.hasFocus(), "a second Escape goes back to the prompt"


def test_the_list_is_used_with_the_keyboard(open_window: OpenWindow) -> None:
    window = open_window(Script())
    for text in ("One", "Two", "Three"):
        window.controller.new_chat()
        window.ask(text)
    panel = window.main.left
    panel.search.setFocus()
    key(window, panel.search, Qt.Key.Key_Down)
    assert panel.list.hasFocus()
    key(window, panel.list, Qt.Key.Key_Down)
    key(window, panel.list, Qt.Key.Key_Down)
    assert questions(window) == ["Three"], "going over them opens none"
    key(window, panel.list, Qt.Key.Key_Return)
    assert questions(window) == ["One"]
    for _ in range(3):
        key(window, panel.list, Qt.Key.Key_Up)
    assert panel.search.hasFocus()


def test_editing_makes_a_branch(open_window: OpenWindow) -> None:
    script = Script(ECHO)
    window = open_window(script)
    window.ask("One")
    second = window.ask("Two")
    window.ask("Three")
    window.main.transcript.intent.emit(Edit(second, "Two, better"))
    edited = window.last()
    window.ended(edited)
    assert questions(window) == ["One", "Two, better"]
    assert edited.question_branch == (2, 2)
    assert [message.content for message in script.prompts[-1]] == ["One", "Reply to One", "Two, better"]
    window.main.transcript.intent.emit(ShowVersion(edited, "question", -1))
    assert questions(window) == ["One", "Two", "Three"]
    shown = window.controller.transcript.entries[1]
    assert isinstance(shown, Exchange)
    assert shown.question_branch == (1, 2)
    assert window.close()
    again = open_window(Script())
    again.wait(lambda: questions(again) == ["One", "Two", "Three"])


def test_another_reply_stands_beside_the_first(open_window: OpenWindow) -> None:
    replies = iter(["The first", "The second", "The third"])
    script = Script(lambda _messages: next(replies))
    window = open_window(script)
    exchange = window.ask("Say something")
    window.main.transcript.intent.emit(Regenerate(exchange))
    other = window.first()
    window.ended(other)
    assert (other.reply, other.reply_branch) == ("The second", (2, 2))
    assert script.prompts[-1] == (Message("user", "Say something"),)
    window.main.transcript.intent.emit(ShowVersion(other, "reply", -1))
    assert (window.first().reply, window.first().reply_branch) == ("The first", (1, 2))
    window.wait(lambda: window.view(window.first()).summary.text().startswith("3 tokens"))
    window.ask("Go on")
    assert [message.content for message in script.prompts[-1]] == ["Say something", "The first", "Go on"]


def test_a_cancelled_reply_is_continued(open_window: OpenWindow) -> None:
    script = Script(LONG, round_s=0.005)
    window = open_window(script)
    exchange = window.send("Go on")
    window.wait(lambda: exchange.reply)
    window.controller.cancel()
    window.ended(exchange)
    begun = exchange.reply
    assert window.close()
    script = Script(" And so on.")
    again = open_window(script)
    again.wait(lambda: len(again.controller.transcript) == 1)
    exchange = again.first()
    assert str(exchange.status) == "cancelled"
    before = 0 if exchange.trace is None else len(exchange.trace)
    again.main.transcript.intent.emit(Continue(exchange))
    again.ended(exchange)
    assert script.prompts == [(Message("user", "Go on"), Message("assistant", begun))]
    assert exchange.reply == begun + " And so on."
    assert exchange.status == "done"
    assert exchange.trace is not None
    assert len(exchange.trace) > before
    assert exchange.trace.text == exchange.reply
    assert again.close()
    last = open_window(Script())
    last.wait(lambda: last.first().reply == begun + " And so on.")


def test_a_deleted_message_comes_back(open_window: OpenWindow) -> None:
    window = open_window(Script(ECHO))
    for text in ("One", "Two", "Three"):
        window.ask(text)
    second = window.controller.transcript.entries[1]
    assert isinstance(second, Exchange)
    window.main.transcript.intent.emit(Delete(second))
    assert questions(window) == ["One"]
    assert window.main.notice.isVisible()
    window.main.notice.offer.click()
    assert questions(window) == ["One", "Two", "Three"]
    assert not window.main.notice.isVisible()
    window.main.transcript.intent.emit(Delete(window.first()))
    assert window.main.welcome.isVisible()
    assert window.close()
    again = open_window(Script())
    assert questions(again) == []
    assert titles(again) == ["Today", "One"]


def test_a_reply_goes_on_while_another_chat_is_open(open_window: OpenWindow) -> None:
    script = Script(LONG, round_s=0.004)
    window = open_window(script)
    exchange = window.send("A long one")
    window.wait(lambda: exchange.reply)
    window.controller.new_chat()
    assert not window.controller.busy
    assert window.program.conversations.list.writing == {number(window, "A long one")}
    size = len(exchange.reply)
    window.wait(lambda: len(exchange.reply) > size)
    other = window.send("A question meanwhile")
    assert window.controller.busy
    assert other.status == "waiting"
    window.wait(lambda: window.controller.activity.work == "queued")
    window.controller.open(number(window, "A long one"))
    assert window.first() is exchange
    window.controller.open(number(window, "A question meanwhile"))
    script.reply = "Short."
    window.ended(other)
    assert (exchange.reply, other.reply) == (LONG, "Short.")
    assert exchange.status == "done"
    assert window.program.conversations.list.writing == frozenset()


def test_a_question_that_waits_can_be_cancelled(open_window: OpenWindow) -> None:
    window = open_window(Script(LONG, round_s=0.004))
    exchange = window.send("A long one")
    window.wait(lambda: exchange.reply)
    window.controller.new_chat()
    other = window.send("Never mind")
    window.controller.cancel()
    window.wait(lambda: other.ended)
    assert other.status == "cancelled"
    assert not exchange.ended, "the other one is left alone"
    window.controller.new_chat()
    window.controller.cancel()
    assert not exchange.ended
    window.program.conversations.delete(number(window, "A long one"))
    window.wait(lambda: exchange.ended)


def test_closing_keeps_what_was_written(open_window: OpenWindow) -> None:
    window = open_window(Script(LONG, round_s=0.005))
    exchange = window.send("Go on")
    window.wait(lambda: len(exchange.reply) > 100)
    assert window.close()
    again = open_window(Script())
    again.wait(lambda: len(again.controller.transcript) == 1)
    assert again.first().reply == exchange.reply
    assert again.first().status == "interrupted", "nobody cancelled it"


def test_a_question_that_waited_when_the_program_ended_can_be_asked_again(open_window: OpenWindow) -> None:
    window = open_window(Script(LONG, round_s=0.02))
    window.send("Go on")
    window.controller.new_chat()
    window.send("And this?")
    assert window.close()
    again = open_window(Script("Yes."))
    again.wait(lambda: len(again.controller.transcript) == 1)
    exchange = again.first()
    assert (exchange.question, exchange.answered) == ("And this?", False)
    view = again.view(exchange)
    again.wait(view.again_button.isVisible)
    again.click(view.again_button)
    again.ended(again.first())
    assert again.first().reply == "Yes."
    assert not again.view(again.first()).again_button.isVisible()


def test_a_reply_that_was_broken_off_is_shown_as_that(open_window: OpenWindow, tmp_path: Path) -> None:
    keeper = ConversationStore(Store.open(tmp_path / "conversations.sqlite3"), lambda _error: None)
    conversation = keeper.new()
    question = keeper.ask(conversation, "What happened?")
    reply = keeper.begin_reply(conversation, question.id, target="t", draft="", settings={})
    keeper.append(conversation, reply.id, "It was going w")
    keeper.close(5.0)
    window = open_window(Script("ell."), settings=Settings(conversation=conversation.id))
    window.wait(lambda: len(window.controller.transcript) == 1)
    exchange = window.first()
    assert (exchange.status, exchange.reply) == ("interrupted", "It was going w")
    window.wait(lambda: window.view(exchange).reply.is_settled)
    window.view(exchange).continue_button.click()
    window.ended(exchange)
    assert exchange.reply == "It was going well."
