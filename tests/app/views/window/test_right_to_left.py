"""The window from right to left: what is mirrored, and what never is."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QTextEdit, QWidget
from pytestqt.qtbot import QtBot

from app.views.chat.actions import BranchPicker
from app.views.markdown.code_bars import CodeBar
from app.views.markdown.table_bar import TableBar, TableScroll
from app.views.tokens.reply import TokenLegend
from app.views.widgets.icons import icon
from app.views.widgets.theme import Theme
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window
from helpers.window.reply_view import Reply

HEBREW = "שלום עולם, זה טקסט."
QUOTED = "ציטוט 1"
REPLY = f"{HEBREW}\n\nAnd English.\n\n> {QUOTED}\n\n```python\nx = 1\n```"


@pytest.fixture
def mirrored(qapp: QApplication) -> Iterator[None]:
    """As a translation from right to left has it."""
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    yield
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


def _left(window: Window, widget: QWidget) -> int:
    return widget.mapTo(window.main, QPoint(0, 0)).x()


def test_the_window_is_mirrored(mirrored: None, open_window: OpenWindow) -> None:
    window = open_window(Script())
    places = [_left(window, part) for part in (window.main.panel, window.main.transcript, window.main.left)]
    assert places == sorted(places), "the panel is on the left, the conversations on the right"
    bar = window.main.bar
    assert _left(window, bar.lookahead) < _left(window, bar.draft) < _left(window, bar.target)
    assert _left(window, window.prompt.button) < _left(window, window.prompt.edit)


def test_time_goes_from_left_to_right(mirrored: None, open_window: OpenWindow) -> None:
    window = open_window(Script())
    plots = window.main.panel.plots
    assert plots is not None
    for plot in plots:
        item = plot.getPlotItem()
        axis, field = item.getAxis("left").geometry(), item.getViewBox().geometry()
        assert axis.right() <= field.left() + 1.0


@pytest.mark.parametrize("direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft])
def test_paragraphs_go_in_their_own_direction(
    mirrored: None, open_window: OpenWindow, qapp: QApplication, direction: Qt.LayoutDirection
) -> None:
    qapp.setLayoutDirection(direction)
    window = open_window(Script(REPLY))
    exchange = window.ask("Hi")
    found, margins = {}, {}
    for text in window.view(exchange).findChildren(QTextEdit):
        block = text.document().begin()
        while block.isValid():
            found[block.text().strip()] = block.textDirection()
            margins[block.text()] = block.blockFormat().leftMargin(), block.blockFormat().rightMargin()
            block = block.next()
    assert found[HEBREW] == Qt.LayoutDirection.RightToLeft
    assert margins[QUOTED] == (0.0, 16.0), "beside its line"
    assert found["And English."] == Qt.LayoutDirection.LeftToRight
    assert found["x = 1"] == Qt.LayoutDirection.LeftToRight
    window.wait(lambda: window.main.findChildren(CodeBar))
    code = window.main.findChildren(CodeBar)[0]
    assert code.copy_button.x() > code.width() / 2, "code is not mirrored"


def test_arrows_point_away_from_the_number(mirrored: None, qapp: QApplication) -> None:
    theme = Theme(qapp, "")
    picker = BranchPicker(theme, "Before", "After")
    pictures = [button.icon().pixmap(16, 16).toImage() for button in (picker.back, picker.on)]
    wanted = [icon(theme, name, "muted").pixmap(16, 16).toImage() for name in ("caret-right", "caret-left")]
    assert pictures == wanted


def test_the_legend_of_the_tokens_begins_at_the_right(mirrored: None, qapp: QApplication, qtbot: QtBot) -> None:
    legend = TokenLegend(Theme(qapp, ""))
    qtbot.addWidget(legend)
    legend.resize(600, 30)
    legend.show_counts({"accepted": 6})
    picture = legend.grab().toImage()
    row = picture.height() // 2
    ground = picture.pixelColor(picture.width() // 2, row)
    drawn = [x for x in range(picture.width()) if picture.pixelColor(x, row) != ground]
    assert min(drawn) > picture.width() // 2


TABLE = "| שם | מחיר |\n|:--|---|\n| תפוח **אדום** | 5 |\n| אגס | 7 |"


def test_a_table_is_read_from_its_first_column(qapp: QApplication, qtbot: QtBot) -> None:
    """It stands at the right with its first column there; copied and sorted it is as it was written."""
    reply = Reply(qapp, qtbot)
    view = reply.finish(f"{HEBREW}\n\n{TABLE}\n\n| a | b |\n|---|---|\n| c | d |")
    mirrored, plain = view.texts[0].bars
    assert isinstance(mirrored, TableBar)
    frame = mirrored.box.frame
    assert frame.cellAt(0, 1).firstCursorPosition().block().text() == "שם"
    layout = frame.document().documentLayout()
    right = layout.blockBoundingRect(frame.cellAt(0, 1).firstCursorPosition().block()).right()
    assert view.width() - 30 < right <= view.width()
    assert mirrored.geometry().right() > view.width() - 5
    assert plain.geometry().left() == 0
    assert max(mirrored.width(), plain.width()) < view.width() / 2, "the buttons are over the table"
    mirrored.copy_button.click()
    assert QGuiApplication.clipboard().text().splitlines() == ["שם,מחיר", "תפוח אדום,5", "אגס,7"]
    mirrored.make_menu().actions()[1].trigger()
    mirrored.sort(1, falling=True)
    assert isinstance(mirrored.over, TableScroll)
    assert mirrored.over.toPlainText().split() == ["מחיר", "שם", "7", "אגס", "5", "תפוח", "אדום"]
    assert mirrored.over.width() == view.width()
    # Each token is where its text is, in every cell.
    page = view.texts[0].page
    source, shown = view.texts[0].source[0], page.toPlainText()
    for word in ("שם", "מחיר", "תפוח", "אדום", "אגס", "5", "7", "a", "d"):
        begin = source.index(word, source.index("| שם"))
        place, end = page.writer.map.shown_of(begin, begin + len(word))
        assert shown[place:end] == word
        (part,) = page.writer.map.between(place, place + 1)
        assert part.source(place) == begin
    bar = source.index("שם") + 1
    place, end = page.writer.map.shown_of(bar, bar + 5)
    assert shown[place:end] == "ם", "of a token in two cells the part in the first"
