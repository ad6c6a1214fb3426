"""Code whose lines are too long: wrapped, or as they are with a scroll bar."""

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.views.markdown.code_scroll import CodeScroll
from app.views.markdown.text import MarkdownPage
from app.views.widgets.theme import LIGHT
from helpers.window.reply_view import Reply


def test_long_lines_of_code_wrap_or_scroll(qapp: QApplication, qtbot: QtBot) -> None:
    reply = Reply(qapp, qtbot)
    long = "x = '" + "long " * 60 + "'"
    view = reply.finish(f"Before\n\n```python\ny = 1\n{long}\n```\n\nBehind\n\n```c\nint z;\n```")
    first, second = view.code_bars
    reply.qtbot.waitUntil(first.wrap_button.isVisible)
    assert first.wrap_button.accessibleName() == "Wrap long lines (python)"
    assert not second.wrap_button.isVisible(), "nothing there is too long"
    whole, below = reply.shown, second.y()
    first.wrap_button.click()
    (code,) = view.findChildren(CodeScroll)
    reply.qtbot.waitUntil(lambda: second.y() < below)
    assert code.isVisible()
    assert code.toPlainText() == f"y = 1\n{long}"
    assert code.y() == first.geometry().bottom() + 1
    assert code.geometry().bottom() < second.y()
    bar = code.horizontalScrollBar()
    assert bar.isVisible()
    assert bar.maximum() > 0
    text = view.findChild(MarkdownPage)
    assert text is not None
    assert text.horizontalScrollBar().maximum() == 0, "only the code moves"
    assert reply.shown == whole
    assert LIGHT.code_string.lower() in code.toHtml().lower(), "in its colours"
    first.wrap_button.click()
    reply.qtbot.waitUntil(lambda: second.y() == below)
    assert not code.isVisible()
    first.wrap_button.click()
    text.over = lambda _page, _area: None
    assert first.wrap_button.isChecked(), "the colours of tokens are seen on wrapped code"
    assert second.y() == below


def test_long_code_in_several_pieces_scrolls_as_one(qapp: QApplication, qtbot: QtBot) -> None:
    reply = Reply(qapp, qtbot)
    code = "\n".join(f"line {number} " + "wide " * 40 for number in range(600))
    view = reply.finish(f"```\n{code}\n```\n\nBehind")
    (bar,) = view.code_bars
    assert len(bar.box.frames) > 1
    qtbot.waitUntil(bar.wrap_button.isVisible)
    bar.wrap_button.click()
    (scroll,) = view.findChildren(CodeScroll)
    assert scroll.toPlainText() == code
    lines = scroll.document().blockCount()
    assert lines == 600
    assert abs(scroll.document().size().height() - scroll.viewport().height()) < 60, "no blank room, nothing cut"
