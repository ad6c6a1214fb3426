"""Messages that are sent while a reply is being written: they wait, in their order, and can be sent at once."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.settings.settings import Settings
from app.state.chat.attachments import Attachment, join_question, split_question
from app.state.chat.transcript import Exchange
from app.state.conversations.conversation import WAITING
from engine import Message
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window


def exchanges(window: Window) -> list[Exchange]:
    return [entry for entry in window.controller.transcript if isinstance(entry, Exchange)]


def enter(window: Window, text: str) -> None:
    window.type(text)
    window.key(Qt.Key.Key_Return)


def waits(window: Window) -> list[str]:
    return [row.words.accessibleName() for row in window.main.waiting.rows.values()]


def test_six_messages_are_answered_in_their_order(open_window: OpenWindow) -> None:
    script = Script(lambda messages: f"Reply to {messages[-1].content}. " * 4, round_s=0.03)
    window = open_window(script)
    first = window.send("zero")
    window.wait(lambda: first.reply)
    for number in range(6):
        enter(window, f"message {number}")
        assert window.prompt.edit.toPlainText() == ""
    assert first.status == "writing"
    view = window.main.waiting
    assert view.isVisible()
    assert waits(window) == [f"message {number}" for number in range(4)]
    assert view.more.text() == "and 2 more"
    row = list(view.rows.values())
    assert not row[0].up.isEnabled()
    row[1].up.click()
    assert waits(window)[:2] == ["message 1", "message 0"]
    next(iter(view.rows.values())).down.click()
    list(view.rows.values())[3].edit.click()
    editor = list(view.rows.values())[3].editor
    assert editor is not None
    assert editor.hasFocus()
    QTest.keyClicks(editor, "changed")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    window.wait(lambda: len(exchanges(window)) == 7 and exchanges(window)[-1].ended and not window.controller.busy)
    asked = ["zero", "message 0", "message 1", "message 2", "changed", "message 4", "message 5"]
    assert [each.question for each in exchanges(window)] == asked
    assert [each.status for each in exchanges(window)] == ["done"] * 7
    assert len(script.prompts[-1]) == 13
    assert script.prompts[-1][-2] == Message("assistant", "Reply to message 4. " * 4)
    assert not view.isVisible()


def test_stop_and_send_now_leaves_the_partial_reply(open_window: OpenWindow) -> None:
    script = Script("word " * 200, round_s=0.02)
    window = open_window(script)
    first = window.send("zero")
    window.wait(lambda: len(first.reply) > 40)
    for text in ("one", "two", "three"):
        enter(window, text)
    numbers = list(window.main.waiting.rows)
    window.main.waiting.rows[numbers[1]].send.click()
    script.round_s = 0.0
    window.wait(lambda: len(exchanges(window)) == 4 and exchanges(window)[-1].ended and not window.controller.busy)
    assert [each.question for each in exchanges(window)] == ["zero", "two", "one", "three"]
    assert first.status == "cancelled"
    assert 40 < len(first.reply) < 1000
    assert script.prompts[1][1] == Message("assistant", first.reply)


def test_what_waits_is_kept_back_behind_a_reply_that_is_stopped(open_window: OpenWindow) -> None:
    script = Script("word " * 200, round_s=0.02)
    window = open_window(script)
    first = window.send("zero")
    window.wait(lambda: len(first.reply) > 20)
    enter(window, "one")
    enter(window, "two")
    window.main.waiting.rows[list(window.main.waiting.rows)[1]].drop.click()
    assert waits(window) == ["one"]
    window.controller.cancel()
    window.wait(lambda: first.ended and not window.controller.busy)
    assert waits(window) == ["one"]
    assert window.main.waiting.title.text().startswith("On hold")
    row = next(iter(window.main.waiting.rows.values()))
    row.edit.click()
    assert row.editor is not None
    QTest.keyClicks(row.editor, "another")
    QTest.keyClick(row.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert waits(window) == ["another"], "there is nothing to steer in it"
    script.round_s = 0.0
    next(iter(window.main.waiting.rows.values())).send.click()
    window.wait(lambda: len(exchanges(window)) == 2 and exchanges(window)[-1].status == "done")
    assert not window.main.waiting.isVisible()


def test_they_wait_while_another_chat_is_shown(open_window: OpenWindow) -> None:
    script = Script(lambda messages: f"Reply to {messages[-1].content}. " * 4, round_s=0.03)
    window = open_window(script)
    first = window.send("zero")
    window.wait(lambda: first.reply)
    chat = window.controller.conversations.open
    assert chat is not None
    enter(window, "one")
    window.controller.new_chat()
    assert not window.main.waiting.isVisible()
    other = window.send("elsewhere")
    window.wait(lambda: other.ended and not window.controller.replies.queue)
    assert [message.text for message in chat.path][::2] == ["zero", "one"]
    assert chat.path[-1].text == "Reply to one. " * 4
    assert len(exchanges(window)) == 1
    window.controller.open(chat.id)
    assert [each.question for each in exchanges(window)] == ["zero", "one"]
    assert [len(prompt) for prompt in script.prompts] == [1, 1, 3]


def test_steering_goes_on_with_words_of_the_reader(open_window: OpenWindow) -> None:
    script = Script("word " * 200, round_s=0.02)
    window = open_window(script)
    first = window.send("zero")
    window.wait(lambda: len(first.reply) > 40)
    window.type("But then came the end")
    assert window.prompt.steer_button.isVisible()
    assert window.prompt.queue_button.isVisible()
    script.reply = " and so on."
    window.key(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    script.round_s = 0.0
    window.wait(lambda: first.status == "done" and not window.controller.busy)
    options = script.options[-1]
    assert options["forced"] == (" But then came the end",) or options["forced"] == ("But then came the end",)
    assert len(options["prefix"]) >= 10
    assert script.prompts[-1] == script.prompts[0]
    assert first.reply.startswith("word word")
    assert first.reply.endswith(" and so on.")
    assert len(exchanges(window)) == 1
    chat = window.controller.conversations.open
    assert chat is not None
    assert chat[first.reply_id or 0].text == first.reply
    assert window.prompt.edit.toPlainText() == ""
    assert not window.prompt.steer_button.isVisible()


def test_what_waits_when_the_program_ends_stands_in_the_prompt(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script("word " * 200, round_s=0.02)
    window = open_window(script)
    first = window.send("zero")
    window.wait(lambda: len(first.reply) > 20)
    file = Attachment("a.txt", "text of a file")
    for text in ("one", join_question("two", (file,))):
        window.controller.send(text)
    window.type("half a mess")
    assert window.close()
    window = open_window(Script(), settings=Settings(conversation=1))
    window.wait(lambda: len(exchanges(window)) == 1)
    assert window.prompt.edit.toPlainText() == "one\n\ntwo\n\nhalf a mess"
    assert split_question(window.prompt.question)[1][0].text == "text of a file"
    assert waits(window) == []
    chat = window.controller.conversations.open
    assert chat is not None
    assert WAITING not in {part for part, text in chat.drafts.items() if text}
