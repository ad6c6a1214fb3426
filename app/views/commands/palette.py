"""Show the command palette: type some letters of a command, Enter runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QInputMethodEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QApplication, QFrame, QLabel, QLineEdit, QListView, QWidget
from shiboken6 import isValid

from app.views.commands.commands import Commands
from app.views.commands.palette_rows import LINE_ROLE, CommandPainter, Line, PaletteRows
from app.views.widgets.boxes import in_column
from app.views.widgets.keys import keeps_escape
from app.views.widgets.theme import Theme

_WIDTH, _MARGIN, _BELOW = 600, 24, 24
_ROWS = 12
_TITLES, _TITLES_AT_FIRST = 2_000, 8
"""Conversations that are searched, and those shown before anything is typed."""
_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


@dataclass(frozen=True, slots=True)
class Title:
    """Hold the title of a conversation that can be opened."""

    text: str
    open: Callable[[], object]


class CommandPalette(QWidget):
    """Cover the whole window: a card with a field and the lines that match it.

    Escape, or a click beside the card, closes it; the keyboard is back where it was.
    Attributes: field, list, rows.
    """

    def __init__(
        self, commands: Commands, titles: Callable[[], Sequence[Title]], theme: Theme, window: QWidget
    ) -> None:
        """Build the palette. `titles` returns the conversations, latest first."""
        super().__init__(window)
        self._commands = commands
        self._window = window
        self._titles = titles
        self._lines: list[Line] = []
        self._before: QWidget | None = None
        self._composing = False
        self.card = QFrame(self)
        self.card.setObjectName("palette")
        self.card.setAccessibleName(self.tr("Command palette"))
        self.field = QLineEdit(self.card)
        self.field.setObjectName("paletteField")
        self.field.setPlaceholderText(self.tr("Type a command…"))
        self.field.setAccessibleName(self.tr("Command"))
        self.field.setToolTip(self.tr("Up and Down to choose, Enter to run, Esc to close"))
        self.rows = PaletteRows(self)
        self.list = self._make_list(theme)
        self.nothing = QLabel(self.tr("Nothing found"), self.card)
        self.nothing.setObjectName("hint")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        layout = self._column = in_column(spacing=8, margins=(8, 8, 8, 8), parent=self.card)
        for widget in (self.field, self.list, self.nothing):
            layout.addWidget(widget)
        self.field.textChanged.connect(self._find)
        self.field.installEventFilter(self)
        window.installEventFilter(self)
        theme.changed.connect(self._fit_font)
        self.hide()

    def _make_list(self, theme: Theme) -> QListView:
        view = PaletteList(self.card)
        view.setAccessibleName(self.tr("Commands"))
        view.setItemDelegate(CommandPainter(theme, view))
        view.setModel(self.rows)
        view.clicked.connect(self._take)
        view.selectionModel().currentChanged.connect(self._tell)
        return view

    # Coming and going -------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Show it, ready for typing; close it if it is open."""
        if self.isVisible():
            self.leave()
            return
        self._before = QApplication.focusWidget()
        self._lines = [*self._command_lines(), *self._title_lines()]
        self.field.clear()
        self._find("")
        self._lay_out()
        self.show()
        self.raise_()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def leave(self) -> None:
        """Close it; the keyboard goes back to where it was."""
        before, self._before = self._before, None
        self.hide()
        if before is not None and isValid(before) and before.isVisible():
            before.setFocus(Qt.FocusReason.OtherFocusReason)

    def _fit_font(self) -> None:
        if self.isVisible():
            QTimer.singleShot(0, self, self._lay_out)

    def _lay_out(self) -> None:
        room = self._window.rect()
        self.setGeometry(room)
        height = self.list.sizeHintForRow(0) if self.rows.lines else 0
        top = min(64, room.height() // 12)
        around = self.field.sizeHint().height() + 24
        most = room.height() - top - around - _BELOW
        self.list.setFixedHeight(max(min(len(self.rows.lines), _ROWS, most // max(height, 1)), 1) * height)
        width = min(_WIDTH, room.width() - 2 * _MARGIN)
        self._column.activate()
        self.card.setGeometry(QRect((room.width() - width) // 2, top, width, self.card.sizeHint().height()))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Keep the window's size, let the field's keys choose a line, and close when the focus goes elsewhere."""
        if not self.isVisible():
            return False
        if watched is self._window and event.type() == QEvent.Type.Resize:
            self._lay_out()
        elif watched is self.field:
            if event.type() == QEvent.Type.FocusOut and QApplication.activePopupWidget() is None:
                gone = QApplication.focusWidget()
                if gone is not None and not self.isAncestorOf(gone):
                    self.hide()
            elif isinstance(event, QInputMethodEvent):
                self._composing = bool(event.preeditString())
            elif isinstance(event, QKeyEvent):
                return self._handle_key(event)
        return False

    def _handle_key(self, event: QKeyEvent) -> bool:
        key, pressed = Qt.Key(event.key()), event.type() == QEvent.Type.KeyPress
        if keeps_escape(event):
            return True
        if not pressed or self._composing:
            return False
        if key == Qt.Key.Key_Escape:
            self.leave()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._take()
        elif key in _MOVES:
            QApplication.sendEvent(self.list, event)
        elif key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            step = Qt.Key.Key_Down if key == Qt.Key.Key_Tab else Qt.Key.Key_Up
            QApplication.sendEvent(self.list, QKeyEvent(event.type(), step, Qt.KeyboardModifier.NoModifier))
        else:
            return False
        return True

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Close on a click beside the card."""
        event.accept()
        if not self.card.geometry().contains(event.position().toPoint()):
            self.leave()

    # Finding and doing ------------------------------------------------------------------------------------------------

    def _command_lines(self) -> list[Line]:
        lines = []
        for section in self._commands.sections():
            word = self._commands.section_words(section)
            for command in self._commands.of(section):
                if command.quiet:
                    continue
                possible = command.enabled is None or command.enabled()
                checked = command.checked is not None and command.checked()
                keys = "".join(command.shortcuts[:1])
                run, destroys = command.action.trigger, command.key in self._commands.destructive
                lines.append(Line(command.text, word, keys, run, possible, checked, destroys=destroys))
        return lines

    def _title_lines(self) -> list[Line]:
        word = self.tr("Chat")
        return [Line(each.text, word, "", each.open, title=True) for each in self._titles()[:_TITLES]]

    def _find(self, text: str) -> None:
        query = text.strip()
        if query:
            found = ((line, line.found(query)) for line in self._lines)
            hits = [(hit.score, line.marked(hit.places)) for line, hit in found if hit is not None]
            shown = [line for _, line in sorted(hits, key=lambda pair: (pair[1].destroys, -pair[0]))]
        else:
            titles = [line for line in self._lines if line.title]
            shown = [line for line in self._lines if not line.title] + titles[:_TITLES_AT_FIRST]
        self.rows.show(shown)
        self.nothing.setVisible(not shown)
        self.list.setVisible(bool(shown))
        first = next((row for row, line in enumerate(shown) if line.possible and not line.destroys), None)
        if first is not None:
            self.list.setCurrentIndex(self.rows.index(first))
            self.list.scrollToTop()
        if self.isVisible():
            self._lay_out()

    def _take(self) -> None:
        line = self.list.currentIndex().data(LINE_ROLE)
        if isinstance(line, Line) and line.possible:
            self.leave()
            line.run()

    def _tell(self, current: QModelIndex) -> None:
        """Announce the line to screen readers, though the keyboard stays in the field."""
        words = current.data(Qt.ItemDataRole.AccessibleTextRole)
        if words and self.isVisible() and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.field, words))


class PaletteList(QListView):
    """Show the lines. The keyboard stays in the field above; the mouse chooses here."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("paletteList")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMouseTracking(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self._mouse: QPoint | None = None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Choose the line under the mouse once the mouse moves: lines also come to lie below a resting one."""
        super().mouseMoveEvent(event)
        place = event.globalPosition().toPoint()
        index = self.indexAt(event.position().toPoint())
        if self._mouse not in (None, place) and index.isValid() and index.flags() & Qt.ItemFlag.ItemIsEnabled:
            self.setCurrentIndex(index)
        self._mouse = place
