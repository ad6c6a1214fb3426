"""Replies can be edited and deleted, questions are rendered, and what the end of the program broke off says so."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.views.markdown.text import MarkdownPage
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow


def test_an_edited_reply_stands_beside_the_old_one_and_is_what_the_model_reads(open_window: OpenWindow) -> None:
    script = Script("The capital is Bonn.")
    window = open_window(script)
    exchange = window.ask("One")
    view = window.view(exchange)
    view.build_actions()
    view.reply_actions.button("edit").click()
    editor = view.reply_editor
    assert editor is not None
    assert editor.edit.toPlainText() == "The capital is Bonn."
    assert view.reply.isHidden()
    editor.edit.setPlainText("The capital is **Berlin**.")
    QTest.keyClick(editor.edit, Qt.Key.Key_Return)
    window.wait(lambda: window.last() is not exchange)
    edited = window.last()
    window.wait(lambda: window.view(edited).reply.is_settled)
    assert (edited.reply, edited.reply_branch) == ("The capital is **Berlin**.", (2, 2))
    assert window.shown(edited) == "The capital is Berlin."
    window.ask("Two")
    assert [message.content for message in script.prompts[-1]][-3:] == ["One", "The capital is **Berlin**.", "Two"]


def test_escape_leaves_the_reply_as_it_was(open_window: OpenWindow) -> None:
    window = open_window(Script("As it is."))
    exchange = window.ask("One")
    view = window.view(exchange)
    view.build_actions()
    view.reply_actions.button("edit").click()
    assert view.reply_editor is not None
    view.reply_editor.edit.setPlainText("Otherwise")
    QTest.keyClick(view.reply_editor.edit, Qt.Key.Key_Escape)
    assert view.reply_editor is None
    assert view.reply.isVisible()
    assert window.last().reply == "As it is."


def test_a_deleted_reply_leaves_its_question_and_comes_back(open_window: OpenWindow) -> None:
    window = open_window(Script("As it is."))
    exchange = window.ask("One")
    view = window.view(exchange)
    view.build_actions()
    view.reply_actions.button("delete").click()
    window.wait(lambda: window.last() is not exchange)
    left = window.last()
    assert (left.question, left.reply) == ("One", "")
    window.main.notice.offer.click()
    window.wait(lambda: window.last().reply == "As it is.")


def test_a_question_is_rendered_where_it_is_markdown(open_window: OpenWindow) -> None:
    window = open_window(Script("Yes."))
    exchange = window.ask("Is **this** bold, and `this` code?\n\n- one\n- two")
    text = window.view(exchange).question.text
    assert isinstance(text, MarkdownPage)
    assert "**" not in text.toPlainText()
    assert "this code?" in text.toPlainText()
    plain = window.ask("def f(x):\n    return x ** 2 ** 3")
    assert window.view(plain).question.text.toPlainText() == "def f(x):\n    return x ** 2 ** 3"


def test_a_reply_that_the_end_of_the_program_broke_off_was_not_cancelled(open_window: OpenWindow) -> None:
    window = open_window(Script("word " * 200, round_s=0.05))
    exchange = window.send("Write")
    window.wait(lambda: len(exchange.reply) > 10)
    window.close()
    assert exchange.status == "interrupted"
    assert exchange.reply
