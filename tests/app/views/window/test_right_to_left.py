"""The window from right to left: what is mirrored, and what never is."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QTextEdit, QWidget
from pytestqt.qtbot import QtBot

from app.views.chat.actions import BranchPicker
from app.views.markdown.code_bars import CodeBar
from app.views.tokens.reply import TokenLegend
from app.views.widgets.icons import icon
from app.views.widgets.theme import Theme
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window

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
