"""Thinking in the window: the switch beside the prompt, Answer now, and what the model reads."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.state.chat.transcript import Exchange
from app.views.chat.tool_call import ToolCallView
from app.views.markdown.thought import ThoughtView
from app.views.window.prompt_dialog import PromptDialog
from engine import Message, ReasoningPart, TextPart, ToolCall
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window


def _choose(window: Window, word: str) -> None:
    menu = window.main.prompt.thinking.menu()
    next(action for action in menu.actions() if action.text() == word).trigger()


def _offered(window: Window) -> list[str]:
    return [action.text() for action in window.main.prompt.thinking.menu().actions()]


def _thoughts(window: Window, exchange: Exchange) -> Sequence[ThoughtView]:
    view = window.main.transcript.view_of(exchange)
    assert view is not None
    return view.reply.thoughts


def test_the_switch_is_there_where_the_model_can_be_told(open_window: OpenWindow, qtbot: QtBot) -> None:
    window = open_window(Script())
    window.ask("Hello?")
    assert window.main.prompt.thinking.isHidden()
    assert window.close()

    script = Script(thinking="on-off")
    window = open_window(script)
    button = window.main.prompt.thinking
    qtbot.waitUntil(button.isVisible)
    assert _offered(window) == ["as the model does", "on", "off"]
    assert button.accessibleName() == "Thinking: as the model does"
    window.ask("Hello?")
    assert "thinking" not in script.options[-1]
    _choose(window, "off")
    assert button.accessibleName() == "Thinking: off"
    window.ask("Again?")
    assert script.options[-1]["thinking"] == "off"
    first = window.controller.conversations.open
    assert first is not None
    window.controller.new_chat()
    window.ask("In another chat?")
    assert script.options[-1]["thinking"] == "off", "remembered for the model"
    _choose(window, "on")
    window.controller.open(first.id)
    assert button.accessibleName() == "Thinking: off", "remembered for the conversation"
    assert window.close()

    script = Script(thinking="on-off")
    window = open_window(script)
    qtbot.waitUntil(lambda: window.main.prompt.thinking.accessibleName() == "Thinking: off")
    window.controller.new_chat()
    assert window.main.prompt.thinking.accessibleName() == "Thinking: on"
    assert window.close()

    window = open_window(Script(thinking="effort"))
    qtbot.waitUntil(window.main.prompt.thinking.isVisible)
    assert _offered(window) == ["as the model does", "low", "medium", "high"]
    assert window.main.prompt.thinking.accessibleName() == "Thinking: as the model does", "it knows no such switch"


def test_a_thought_that_the_prompt_opened_can_be_ended(open_window: OpenWindow, qtbot: QtBot) -> None:
    script = Script(reply="so it goes on and on and on and on and on</think>\n\nThe answer.", opened=True, round_s=0.1)
    window = open_window(script)
    window.controller.send("Why?")
    exchange = window.last()
    qtbot.waitUntil(lambda: exchange.status == "writing")
    qtbot.waitUntil(lambda: len(_thoughts(window, exchange)) == 1)
    view = window.main.transcript.view_of(exchange)
    assert view is not None
    assert not view.reply.texts, "nothing of the thought is shown as an answer"
    thought = _thoughts(window, exchange)[0]
    assert thought.answer.isVisible()
    QTest.mouseClick(thought.answer, Qt.MouseButton.LeftButton)
    assert script.hurried == 1
    assert not thought.answer.isEnabled()
    window.ended(exchange)
    qtbot.waitUntil(lambda: view.reply.is_settled)
    assert thought.folded
    assert not thought.answer.isVisible()
    assert _thoughts(window, exchange) == [thought], "it was not drawn anew"
    assert view.reply.texts[0].to_plain_text() == "The answer."
    window.ask("And?")
    assert script.prompts[-1][1] == Message(
        "assistant", [ReasoningPart("so it goes on and on and on and on and on"), TextPart("The answer.")]
    )


def test_a_thought_that_was_switched_off_leaves_no_fold(open_window: OpenWindow, qtbot: QtBot) -> None:
    window = open_window(Script(reply="<think>\n\n</think>\n\nThe answer."))
    exchange = window.ask("Why?")
    view = window.main.transcript.view_of(exchange)
    assert view is not None
    qtbot.waitUntil(lambda: view.reply.is_settled)
    assert not view.reply.thoughts
    assert view.reply.toPlainText() == "The answer."


def test_tool_calls_are_folded_and_can_be_copied(open_window: OpenWindow, qtbot: QtBot) -> None:
    call = ToolCall("1", "search", {"word": "fox & hare"})
    script = Script(reply="I look it up.", tool_calls=(call,))
    window = open_window(script)
    exchange = window.ask("Where?")
    view = window.main.transcript.view_of(exchange)
    assert view is not None
    (shown,) = view.findChildren(ToolCallView)
    assert shown.folded
    assert shown.header.accessibleName() == "Tool call: search"
    assert shown.header.accessibleDescription() == "collapsed"
    window.click(shown.header)
    assert shown.body is not None
    qtbot.waitUntil(shown.body.isVisible)
    assert shown.body.toPlainText() == '{\n  "word": "fox & hare"\n}'
    window.click(shown.copy)
    assert QGuiApplication.clipboard().text() == shown.text
    assert window.close()

    window = open_window(script)
    qtbot.waitUntil(lambda: len(window.controller.transcript.entries) == 1)
    window.ask("And?")
    assert script.prompts[-1][1] == Message("assistant", [TextPart("I look it up."), call]), "it was kept"


def test_what_the_model_reads_is_shown(open_window: OpenWindow, qtbot: QtBot) -> None:
    window = open_window(Script(reply="Yes.", thinking="on-off"))
    exchange = window.ask("Really?")
    _choose(window, "off")
    view = window.main.transcript.view_of(exchange)
    assert view is not None
    for row, text in (
        (view.question_actions, "<user>Really?<end>"),
        (view.reply_actions, "<user>Really?<end><assistant>Yes.<end>"),
    ):
        window.click(row.button("prompt"))
        qtbot.waitUntil(lambda: bool(window.main.findChildren(PromptDialog)))
        (dialog,) = window.main.findChildren(PromptDialog)
        assert dialog.text.toPlainText() == text
        marked = [mark.cursor.selectedText() for mark in dialog.text.extraSelections()]
        assert "".join(marked) == text.replace("Really?", "").replace("Yes.", "")
        window.click(dialog.copy_button)
        assert QGuiApplication.clipboard().text() == text
        dialog.close()
        qtbot.waitUntil(lambda: not window.main.findChildren(PromptDialog))
