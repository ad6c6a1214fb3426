"""A reply by itself in a window, for tests of how replies are drawn."""

from importlib.resources import files

from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.settings.settings import Settings
from app.views.markdown.reply import ReplyView
from app.views.widgets.paint_budget import PaintBudget
from app.views.widgets.theme import Theme

WIDTH = 700


class Reply:
    """A reply and its window."""

    def __init__(self, qapp: QApplication, qtbot: QtBot, mode: str = "light") -> None:
        self.qtbot = qtbot
        sheet = (files("resources") / "styles" / "window.qss").read_text(encoding="utf-8")
        self.theme = Theme(qapp, sheet, "", Settings(theme=mode))
        self.window = QWidget()
        self.window.resize(WIDTH, 600)
        self.view = ReplyView(self.theme, PaintBudget(), self.window)
        self.view.resize(WIDTH, 0)
        qtbot.addWidget(self.window)
        self.window.show()

    def finish(self, text: str, timeout: int = 60_000) -> ReplyView:
        """Give all of a reply; wait until it is drawn."""
        self.view.finish(text)
        self.qtbot.waitUntil(lambda: self.view.is_settled, timeout=timeout)
        return self.view

    def stream(self, text: str, piece: int = 7) -> ReplyView:
        """Let a reply grow, and wait until what came is drawn."""
        for at in range(0, len(text), piece):
            self.view.grow(text[at : at + piece])
            if at % (piece * 8) == 0:
                self.qtbot.wait(1)
        self.qtbot.waitUntil(lambda: not self.view._unread and not any(part.busy for part in self.view._parts))
        self.qtbot.wait(80)
        return self.view

    @property
    def shown(self) -> str:
        """The text as it is shown."""
        return self.view.toPlainText()
