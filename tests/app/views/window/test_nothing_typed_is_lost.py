"""What a person typed, chose or deleted is kept with its chat, comes back, and nothing acts that was not chosen."""

import threading
from pathlib import Path
from typing import Any

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLineEdit

from app.state.chat.attachments import Attachment, NotAttached
from app.state.chat.intents import Delete, ShowPrompt
from app.state.settings.generation import GenerationChoice
from app.store.store import Store
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window


def number(window: Window, title: str) -> int:
    """The id of a chat."""
    return next(each.id for each in window.program.conversations.summaries() if each.title == title)


def names(window: Window) -> list[str]:
    return [each.name for each in window.program.attachments.attachments]


def on_disk(path: Path, conversation: int) -> dict[int, str]:
    """The drafts that would be found after a kill of the program now."""
    return Store.of(path).drafts(conversation)


def test_each_chat_has_its_prompt_and_its_edits(open_window: OpenWindow, tmp_path: Path) -> None:
    """Typed, another chat, back; and what is on the disk a moment later, as after a kill; and after a restart."""
    window = open_window(Script("A reply."))
    box = window.prompt.edit
    first = window.ask("One")
    window.type("for one")
    (tmp_path / "note.txt").write_text("A note.")
    window.program.attachments.add([tmp_path / "note.txt"])
    window.wait(lambda: window.program.attachments.attachments)
    view = window.view(first)
    view.question.edit()
    assert view.question.editor is not None
    view.question.editor.edit.setPlainText("One, in other words")
    view._edit_reply()
    assert view.reply_editor is not None
    view.reply_editor.edit.setPlainText("Another reply.")
    window.main.new_chat_wanted.emit()
    assert (box.toPlainText(), window.program.attachments.attachments) == ("", ())
    window.type("for none yet")
    one, store = number(window, "One"), tmp_path / "conversations.sqlite3"
    window.wait(lambda: on_disk(store, 0) == {0: "for none yet"})
    assert first.question_id is not None
    assert first.reply_id is not None
    kept = on_disk(store, one)
    assert kept[0] == "for one"
    assert (kept[first.question_id], kept[first.reply_id]) == ("One, in other words", "Another reply.")
    window.controller.open(one)
    assert box.toPlainText() == "for one"
    assert [each.name for each in window.program.attachments.attachments] == ["note.txt"]
    assert window.close()
    _after_a_restart(open_window(Script("A reply.")), store, one)


def _after_a_restart(again: Window, store: Path, one: int) -> None:
    again.wait(lambda: again.prompt.edit.toPlainText() == "for one")
    assert [each.text for each in again.program.attachments.attachments] == ["A note."]
    again.wait(lambda: again.main.transcript.view_of(again.first()) is not None)
    view = again.view(again.first())
    assert view.question.editor is not None
    assert view.reply_editor is not None
    assert view.question.editor.edit.toPlainText() == "One, in other words"
    assert view.reply_editor.edit.toPlainText() == "Another reply."
    assert not view.reply.isVisible()
    again.qtbot.keyClick(view.question.editor.edit, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    assert view.question.editor is None
    view.reply_editor.send_button.click()
    assert again.first().reply == "Another reply."
    again.wait(lambda: sorted(on_disk(store, one)) == [-1, 0])
    again.key(Qt.Key.Key_Return)
    again.wait(lambda: not again.controller.busy)
    again.wait(lambda: not on_disk(store, one))
    again.main.new_chat_wanted.emit()
    assert again.prompt.edit.toPlainText() == "for none yet"
    again.main.prompt_sent.emit("A starter")
    assert again.prompt.edit.toPlainText() == "for none yet", "it goes on in the chat that begins with another text"
    again.wait(lambda: not on_disk(store, 0))


def test_a_file_that_is_read_late_goes_with_its_chat(open_window: OpenWindow, monkeypatch: Any, tmp_path: Path) -> None:
    """Files keep the order in which they were chosen, whoever is read first, and another chat does not get them."""
    gate = threading.Event()

    def read(path: Path, **_: object) -> Attachment:
        if path.name == "slow":
            assert gate.wait(30)
        return Attachment(path.name, path.name)

    monkeypatch.setattr("app.control.attachments.read_file", read)
    window = open_window(Script("A reply."))
    files = window.program.attachments
    window.ask("One")
    files.add([tmp_path / "slow", tmp_path / "quick", tmp_path / "third"])
    window.wait(lambda: len(files.attachments) == 2)
    window.main.new_chat_wanted.emit()
    gate.set()
    window.wait(lambda: not files._reading)
    assert files.attachments == ()
    window.controller.open(number(window, "One"))
    assert set(names(window)) == {"slow", "quick", "third"}
    gate.clear()
    window.main.new_chat_wanted.emit()
    files.add([tmp_path / "slow", tmp_path / "quick"])
    window.wait(lambda: files.attachments)
    gate.set()
    window.wait(lambda: not files.pending)
    assert names(window) == ["slow", "quick"]
    # The keys go to the prompt: what is typed then removes nothing more.
    window.click(window.prompt.chips.chips[0])
    focus = window.main.focusWidget()
    assert focus is window.prompt.edit
    QTest.keyClicks(focus, "a b")
    assert names(window) == ["quick"]
    window.prompt.chips.chips[0].setFocus()
    QTest.keyClick(window.prompt.chips.chips[0], Qt.Key.Key_Space)
    assert window.main.focusWidget() is window.prompt.edit
    assert window.prompt.edit.toPlainText() == "a b"


def test_deletions_are_undone_one_after_the_other(open_window: OpenWindow) -> None:
    window = open_window(Script("A reply."))
    chats = window.program.conversations
    for title in ("One", "Two", "Three"):
        window.main.new_chat_wanted.emit()
        window.ask(title)
    window.ask("More")
    window.ask("Most")
    entries = window.controller.transcript.entries
    for place in (2, 1):
        window.main.transcript.intent.emit(Delete(entries[place]))  # type: ignore[arg-type]
    window.main.notice.offer.click()
    window.main.notice.offer.click()
    assert [each.question for each in window.controller.transcript.entries] == ["Three", "More", "Most"]  # type: ignore[union-attr]
    for title in ("Three", "One", "Two"):
        chats.delete(number(window, title))
    window.main.left._undo_timer.timeout.emit()
    assert not window.main.left.undo_bar.isVisible()
    command = window.main.commands["conversations.undo"]
    assert command.text == "Undo deleting “Two”"
    for left in (2, 1, 0):
        command.action.trigger()
        assert len(chats._deleted) == left
    assert command.text == "Undo deleting a chat"
    assert {each.title for each in chats.summaries()} == {"One", "Two", "Three"}
    # A click in the list leaves the keyboard there; letters go to the prompt.
    rows = window.main.left.list
    index = rows.model().index(1, 0)
    QTest.mouseClick(
        rows.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, rows.visualRect(index).center()
    )
    assert window.main.focusWidget() is rows
    QTest.keyClick(rows, Qt.Key.Key_Delete)
    assert len(chats.summaries()) == 2
    QTest.keyClick(rows, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert len(chats.summaries()) == 3
    QTest.keyClick(rows, Qt.Key.Key_F2)
    assert rows.state() == rows.State.EditingState
    field = rows.findChild(QLineEdit, "rename")
    assert field is not None
    QTest.keyClick(field, Qt.Key.Key_Escape)
    rows.setFocus()
    QTest.keyClick(rows, Qt.Key.Key_H)
    assert window.prompt.edit.toPlainText() == "h"
    assert window.main.focusWidget() is window.prompt.edit


def test_what_cannot_act_says_why_and_a_double_click_sends(open_window: OpenWindow) -> None:
    script = Script("word " * 300, round_s=0.01)
    window = open_window(script)
    notice = window.main.notice
    window.type("Go on")
    button = window.prompt.button
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    exchange = window.first()
    window.wait(lambda: exchange.status == "writing")
    view = window.view(exchange)
    for row, names in ((view.question_actions, ("edit", "prompt", "delete")), (view.reply_actions, ("regenerate",))):
        for name in names:
            assert not row.button(name).isEnabled()
            assert "once the reply is written" in row.button(name).toolTip()
    assert view.question_actions.button("copy").isEnabled()
    window.main.commands.run("models.unload")
    assert "once the reply is written" in notice.text.text()
    window.main.new_chat_wanted.emit()
    window.main.transcript.intent.emit(ShowPrompt(exchange, "question"))
    assert "in another chat" in notice.text.text()
    window.controller.open(number(window, "Go on"))
    window.controller.cancel()
    window.ended(exchange)
    window.wait(lambda: window.models.list.loaded.target is None)
    assert window.view(exchange).question_actions.button("edit").toolTip() == "Edit and send again"


def test_what_is_pasted_is_text_or_a_sentence(open_window: OpenWindow, tmp_path: Path, monkeypatch: Any) -> None:
    window = open_window(Script("A reply."))
    notice, box = window.main.notice, window.prompt.edit
    page, picture, nothing = QMimeData(), QMimeData(), QMimeData()
    page.setHtml("<style>x</style><p>Some <b>bold</b> text<img src='file:///x.png'></p>")
    picture.setImageData(QImage(4, 4, QImage.Format.Format_RGB32))
    nothing.setHtml("<p><img src='file:///x.png'></p>")
    assert box.canInsertFromMimeData(page)
    box.insertFromMimeData(page)
    assert box.toPlainText() == "Some bold text"
    assert box.canInsertFromMimeData(picture)
    box.insertFromMimeData(picture)
    window.wait(lambda: window.program.attachments.attachments)
    window.click(window.prompt.chips.chips[0])
    assert box.canInsertFromMimeData(nothing)
    box.insertFromMimeData(nothing)
    assert notice.isVisible()
    assert notice.text.text().count(".") == 1
    window.main.new_chat_wanted.emit()
    window.ask("One")
    assert not notice.isVisible(), "it went with its chat"
    window.program.attachments.refused.emit(NotAttached("x", "binary"))
    assert notice.isVisible()
    asked: list[str] = []

    def choose(_parent: object, _title: str, folder: str) -> tuple[list[str], str]:
        asked.append(folder)
        return [str(tmp_path / "x.txt")], ""

    (tmp_path / "x.txt").write_text("good")
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", choose)
    window.main.commands.run("chat.attach")
    window.main.commands.run("chat.attach")
    assert asked[0] != asked[1] == str(tmp_path)
    window.wait(lambda: window.program.attachments.attachments)
    assert not notice.isVisible(), "the next file was a good one"


def test_enter_while_the_text_is_counted(open_window: OpenWindow) -> None:
    """A short text in the place of one that was too long is sent once it is counted, with one press of Enter."""
    window = open_window(Script("A reply.", context=350))
    context = window.program.context
    window.prompt.edit.setPlainText("z" * 4_000)
    window.wait(lambda: context.use is not None and not context.use.fits and context.settled)
    window.key(Qt.Key.Key_Return)
    assert not window.controller.transcript.entries
    window.prompt.edit.setPlainText("short")
    window.key(Qt.Key.Key_Return)
    window.wait(lambda: window.controller.transcript.entries)
    assert window.first().question == "short"
    assert window.prompt.edit.toPlainText() == ""
    window.ended(window.first())
    window.prompt.edit.setPlainText("z" * 4_000)
    window.wait(lambda: context.use is not None and not context.use.fits and context.settled)
    window.prompt.edit.setPlainText("y" * 4_000)
    window.key(Qt.Key.Key_Return)
    window.wait(lambda: context.settled)
    assert window.prompt.edit.toPlainText() == "y" * 4_000, "the new one is too long as well"
    assert window.main.context_notice.isVisible()


def test_what_a_reset_or_a_deletion_took_comes_back(open_window: OpenWindow) -> None:
    window = open_window(Script("A reply."))
    window.ask("One")
    choices = window.controller.choices
    window.main.commands.run("chat.generation")
    from app.views.settings.dialog import SettingsDialog  # noqa: PLC0415

    dialog = window.main.findChild(SettingsDialog)
    assert dialog is not None
    page = dialog.generation
    choices.choose(GenerationChoice(system="Be brief.", stop=("END",), temperature=0.3))
    page.presets.save_wanted.emit("Mine")
    assert not dialog.undo_button.isVisible()
    dialog.reset_button.click()
    assert choices.own.system == ""
    page.presets.delete_wanted.emit("Mine")
    assert dialog.undo_button.text() == "Undo: deleting Mine"
    assert not page.presets.saved.own
    choices.choose(GenerationChoice(temperature=0.9))
    dialog.undo_button.click()
    assert [each.name for each in page.presets.saved.own] == ["Mine"]
    dialog.undo_button.click()
    assert (choices.own.system, choices.own.stop) == ("Be brief.", ("END",))
    assert choices.own.temperature == 0.9, "what was chosen since stays"
    assert not dialog.undo_button.isVisible()
    assert [each["name"] for each in window.program.settings.presets] == ["Mine"]
    dialog.close()
