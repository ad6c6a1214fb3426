"""Ask about a tool call, below the reply that makes it: the tool, the arguments, and the server."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.state.chat.tool_use import ToolField, ToolQuestion
from app.views.markdown.auto_height_text import AutoHeightText
from app.views.widgets.boxes import in_column, in_grid
from app.views.widgets.flow_layout import FlowLayout
from app.views.widgets.icons import icon
from app.views.widgets.theme import Theme, fixed_font
from engine import Permission

_LINE, _MOST_LINES = 60, 6
_PLAIN = Qt.TextFormat.PlainText


class ArgumentField(QPlainTextEdit):
    """Show an argument of a call as text that can be changed, a few lines tall."""

    def __init__(self, shown: ToolField, parent: QWidget) -> None:
        super().__init__(shown.text, parent)
        self._shown, self._before = shown, self.toPlainText()
        self.setAccessibleName(shown.name)
        self.setTabChangesFocus(True)
        self.setFont(fixed_font())
        lines = min(max(shown.text.count("\n") + 1, len(shown.text) // _LINE + 1), _MOST_LINES)
        frame = 2 * (self.document().documentMargin() + self.frameWidth() + 7)
        self.setFixedHeight(int(lines * self.fontMetrics().lineSpacing() + frame))

    def changed(self) -> dict[str, Any]:
        """Return the argument by its name if it was changed. Raises ValueError if it is to be JSON, and is none."""
        text = self.toPlainText()
        if text == self._before:
            return {}
        return {self._shown.name: text if self._shown.is_text else json.loads(text)}


class ToolCard(QFrame):
    """Show waiting, running or too many tool calls. All text of a model or a server is plain text.

    What the model gave as arguments can be changed before the call is allowed.

    Attributes: buttons, in their order; fields, by the names of arguments. Signals: answered(Permission, mapping of the
    arguments that were changed), cancelled(), more_wanted().
    """

    answered = Signal(object, object)
    cancelled = Signal()
    more_wanted = Signal()

    def __init__(self, question: ToolQuestion, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.question = question
        self.buttons: list[QPushButton] = []
        self.fields: dict[str, ArgumentField] = {}
        self.setObjectName("toolCard")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = theme
        self._icon = QLabel(self)
        self.problem = QLabel(self)
        self.problem.setTextFormat(_PLAIN)
        self.problem.setWordWrap(True)
        self.problem.setObjectName("fieldError")
        self.problem.hide()
        self.title = AutoHeightText(self)
        self.title.setObjectName("noticeText")
        self.title.setPlainText(self._title())
        self.title.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(self._title())
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(self.title, 1)
        column = in_column(head, spacing=8, margins=(12, 12, 12, 12), parent=self)
        if question.stage in ("asking", "running"):
            self._add_form(column)
        self._add_buttons(column)
        theme.changed.connect(self._draw_icon)
        self._draw_icon()

    def _title(self) -> str:
        question = self.question
        words = {
            "asking": self.tr("The model wants to call a tool: {title} · {server}"),
            "running": self.tr("A tool is running: {title} · {server}"),
            "limit": self.tr(
                "%n tool call(s) were made for this question. The next one: {title} · {server}", "", question.made
            ),
            "unknown": self.tr("There is no tool {title} here now, so it was not called."),
        }
        return words[question.stage].format(title=question.title, server=question.server)

    def _add_form(self, column: QVBoxLayout) -> None:
        """Show each argument by its name, none of it as markup."""
        grid = in_grid(across=12, down=4, stretch=1, margins=(26, 0, 0, 0))
        for row, each in enumerate(self.question.fields):
            value, name = self._value(each), QLabel(self)
            name.setTextFormat(_PLAIN)
            name.setObjectName("hint")
            name.setText(name.fontMetrics().elidedText(each.name, Qt.TextElideMode.ElideRight, 160))
            name.setToolTip("")
            name.setContentsMargins(0, 7 if each.name in self.fields else 0, 0, 0)  # Beside the words of its field.
            grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(value, row, 1)
        more = ""
        if self.question.more:
            more = self.tr("and %n more argument(s)", "", self.question.more)
        elif not self.question.fields:
            more = self.tr("Without arguments")
        if more:
            rest = QLabel(more, self)
            rest.setObjectName("hint")
            grid.addWidget(rest, len(self.question.fields), 0, 1, 2)
        column.addLayout(grid)
        column.addWidget(self.problem)

    def _value(self, shown: ToolField) -> QWidget:
        if self.question.stage == "asking" and not shown.cut:
            self.fields[shown.name] = ArgumentField(shown, self)
            return self.fields[shown.name]
        cut = "\n" + self.tr("… and %n more character(s)", "", shown.cut) if shown.cut else ""
        value = AutoHeightText(self)
        value.setObjectName("noticeText")
        value.setAccessibleName(shown.name)
        value.setFont(fixed_font())
        value.setPlainText(shown.text + cut)
        return value

    def _add_buttons(self, column: QVBoxLayout) -> None:
        row = FlowLayout()
        question = self.question
        if question.stage == "asking":
            for permission in question.answers:
                button = self._button(self._word(permission), partial(self._answer, permission))
                button.setToolTip(self._meaning(permission))
                row.addWidget(button)
        elif question.stage == "running":
            row.addWidget(self._button(self.tr("Cancel"), self.cancelled.emit))
        elif question.stage == "limit":
            row.addWidget(self._button(self.tr("Go on"), self.more_wanted.emit))
            row.addWidget(self._button(self.tr("End here"), self.cancelled.emit))
        if self.buttons:
            indented = QHBoxLayout()  # A flow has no margins of its own.
            indented.setContentsMargins(26, 4, 0, 0)
            indented.addLayout(row)
            column.addLayout(indented)

    def _answer(self, permission: Permission) -> None:
        """Emit the answer, unless an edited argument is invalid."""
        changed: dict[str, Any] = {}
        for name, value in self.fields.items() if permission is not Permission.never else ():
            try:
                changed |= value.changed()
            except (ValueError, RecursionError):
                self.problem.setText(self.tr("{name} must be JSON, as it was.").format(name=name))
                self.problem.show()
                value.setFocus()
                return
        self.answered.emit(permission, changed)

    def _button(self, words: str, act: Callable[[], object]) -> QPushButton:
        button = QPushButton(words, self)
        button.setAutoDefault(False)
        button.setAccessibleDescription(self._title())
        button.clicked.connect(lambda _on: act())
        self.buttons.append(button)
        return button

    def _word(self, permission: Permission) -> str:
        words = {
            Permission.once: self.tr("Once"),
            Permission.chat: self.tr("In this chat"),
            Permission.always: self.tr("Always for this tool"),
            Permission.never: self.tr("Never"),
        }
        return words[permission]

    def _meaning(self, permission: Permission) -> str:
        words = {
            Permission.once: self.tr("Run this call, and ask again for the next one"),
            Permission.chat: self.tr("Run this call and all others of this tool in this chat until the program ends"),
            Permission.always: self.tr("Run this call and all others of this tool, in all chats"),
            Permission.never: self.tr("Never run this tool in any chat; the model is informed. The settings change it"),
        }
        return words[permission]

    def _draw_icon(self) -> None:
        warns = self.question.stage in ("limit", "unknown")
        name, color = ("warning-circle", "muted") if warns else ("wrench", "accent")
        self._icon.setPixmap(icon(self._theme, name, color).pixmap(18, 18))


_BEGIN = "data:image/svg+xml;base64,"
_MOST = 700_000
_ELEMENT = re.compile(r"<(svg|rect|text|path|polyline)((?: [a-z-]+[a-zA-Z]*=\"[^\"<>&]*\")*)/?>|</(svg|text)>")
_ATTRIBUTES = {
    *("xmlns", "width", "height", "viewBox", "font-family", "font-size", "fill", "x", "y", "d", "dy", "text-anchor"),
    *("points", "stroke", "stroke-width", "stroke-linecap"),
}


def plot_of(address: str) -> bytes | None:
    """Return the SVG of a plot in an address; None if we could not have drawn it."""
    if not address.startswith(_BEGIN) or len(address) > _MOST:
        return None
    try:
        data = base64.b64decode(address[len(_BEGIN) :], validate=True)
        text = data.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    for found in _ELEMENT.finditer(text):
        names = re.findall(r" ([a-zA-Z-]+)=", found[2] or "")
        if not _ATTRIBUTES.issuperset(names) or "url" in (found[2] or ""):
            return None
    left = _ELEMENT.sub("", text)
    return data if "<" not in left and text.startswith("<svg ") else None


class ToolPicture(QWidget):
    """Show a plot, as wide as there is room for, at most as wide as it was drawn."""

    def __init__(self, svg: bytes, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._renderer = QSvgRenderer(QByteArray(svg), self)
        self._size = self._renderer.defaultSize().boundedTo(QSize(2_000, 2_000))
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName(self.tr("Plot"))

    def hasHeightForWidth(self) -> bool:  # noqa: N802 - Qt's name
        """Keep the proportions."""
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        across = min(width, self._size.width())
        return round(self._size.height() * across / max(self._size.width(), 1))

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return self._size

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        across = min(self.width(), self._size.width())
        left = self.width() - across if self.layoutDirection() == Qt.LayoutDirection.RightToLeft else 0
        painter = QPainter(self)
        self._renderer.render(painter, QRectF(left, 0, across, self.heightForWidth(across)))
        painter.end()
