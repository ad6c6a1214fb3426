"""Show a list to choose from: lines of one or two rows; disabled ones are grey with the reason under them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import monotonic
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QFont, QFontMetrics, QGuiApplication, QKeyEvent, QPainter, QPaintEvent, QPalette, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionComboBox,
    QStyleOptionViewItem,
    QStylePainter,
    QWidget,
)

from app.state.models.selection import PickerLine
from app.views.widgets.keys import settle_hover
from app.words.models import shortage_words

Index = QModelIndex | QPersistentModelIndex
Words = Callable[[PickerLine], PickerLine]
PATH_ROLE = int(Qt.ItemDataRole.UserRole)
MORE_ROLE = PATH_ROLE + 1
DIM_ROLE = PATH_ROLE + 2
_DISPLAY = int(Qt.ItemDataRole.DisplayRole)
_CHOSEN = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable


class PickerLines(QAbstractListModel):
    """Hold hundreds of models, shown anew whenever memory changes; hardly any of them is looked at."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._choices: tuple[PickerLine, ...] = ()
        self._words: Words | None = None
        self._worded: dict[int, PickerLine] = {}
        self._kept: dict[tuple[int, int], object] = {}

    def show(self, choices: Sequence[PickerLine], words: Words | None) -> None:
        """Show these; `words` gives a line its words, where it has none yet."""
        self.beginResetModel()
        self._choices, self._words = tuple(choices), words
        self._worded, self._kept = {}, {}
        self.endResetModel()

    def place_of(self, key: object) -> int:
        """Return the last line with this key; -1: there is none."""
        return max((row for row, choice in enumerate(self._choices) if choice.key == key), default=-1)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802 - Qt's name and default
        return 0 if parent.isValid() else len(self._choices)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return the flags; an item with a problem cannot be chosen."""
        if index.isValid() and self._choices[index.row()].kind == "group":
            return Qt.ItemFlag.NoItemFlags
        if not index.isValid() or self._line(index.row()).problem is not None:
            return Qt.ItemFlag.ItemIsSelectable if index.isValid() else Qt.ItemFlag.NoItemFlags
        return _CHOSEN

    def data(self, index: Index, role: int = _DISPLAY) -> Any:
        if not index.isValid():
            return None
        kept = (index.row(), int(role))
        if kept in self._kept:
            return self._kept[kept]
        if role == PATH_ROLE:
            return self._choices[index.row()].key
        line = self._line(index.row())
        if role == _DISPLAY:
            return line.label
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleDescriptionRole):
            return line.problem or line.hint
        if role == MORE_ROLE:
            return _more(line)
        return line.shortage is not None if role == DIM_ROLE else None

    def setData(self, index: Index, value: Any, role: int = _DISPLAY) -> bool:  # noqa: N802 - Qt's name
        """Name a line otherwise."""
        if not index.isValid():
            return False
        self._kept[index.row(), int(role)] = value
        self.dataChanged.emit(index, index, [int(role)])
        return True

    def _line(self, row: int) -> PickerLine:
        line = self._worded.get(row)
        if line is None:
            line = self._choices[row]
            line = self._worded[row] = line if self._words is None else self._words(line)
        return line


def _more(line: PickerLine) -> str:
    """Return the small text under it."""
    if line.problem is not None:
        return line.problem
    if line.kind != "model":
        return line.hint
    return line.figures if line.shortage is None else shortage_words(*line.shortage)


__all__ = ["DIM_ROLE", "MORE_ROLE", "PATH_ROLE", "Picker", "shortened", "small_font"]

_POPUP_MOST, _MANY = 560, 60
_PAD_X, _PAD_Y, _BETWEEN = 8, 5, 2
_SMALL = 0.92
_FIGURES, _AND = " · ", " + "
_WRAP = int(Qt.TextFlag.TextWordWrap)
_LEAST_NAME = 12
"""Letters of a name that are left beside its figures."""
_TYPING_S = 1.0
"""Letters that come faster than this belong to one word."""
_AROUND = 40
"""The width of a popup's line beside its words: padding, frame and scroll bar."""


def shortened(text: str, metrics: QFontMetrics, width: int) -> str:
    """Return a text that fits: whole, else elided in the middle of its name, before its figures (behind a ` · `).

    Size and quantisation tell files of one model apart; the beginning and the end of a name tell models of one family
    apart. Where they leave too little of the name the figures go. Of two names the end is cut.
    """
    if metrics.horizontalAdvance(text) <= width:
        return text
    name, dot, figures = text.rpartition(_FIGURES)
    if _AND in figures:
        return metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
    room = width - metrics.horizontalAdvance(dot + figures)
    if not name or room < _LEAST_NAME * metrics.averageCharWidth():
        return metrics.elidedText(name or text, Qt.TextElideMode.ElideMiddle, max(width, 0))
    return metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room) + dot + figures


class ChoiceDelegate(QStyledItemDelegate):
    """Draw a line: its label, and under it in small its details, in two rows at most.

    Attribute: width (that a row has for words).
    """

    width = _POPUP_MOST

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        drawn = QStyleOptionViewItem(option)
        self.initStyleOption(drawn, index)
        drawn.text = ""
        widget = drawn.widget
        if widget is None:
            return
        widget.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, drawn, painter, widget)
        place = drawn.rect.adjusted(_PAD_X, _PAD_Y, -_PAD_X, -_PAD_Y)
        enabled = bool(index.flags() & Qt.ItemFlag.ItemIsEnabled) and not index.data(DIM_ROLE)
        # The view's own palette has this half transparent.
        muted = QGuiApplication.palette().color(QPalette.ColorRole.PlaceholderText)
        painter.save()
        painter.setFont(drawn.font)
        painter.setPen(drawn.palette.color(QPalette.ColorRole.Text) if enabled else muted)
        height = QFontMetrics(drawn.font).height()
        side = QStyle.visualAlignment(drawn.direction, Qt.AlignmentFlag.AlignLeft)
        name = shortened(str(index.data() or ""), painter.fontMetrics(), place.width())
        self._draw(painter, QRect(place.left(), place.top(), place.width(), height), side, name)
        more = index.data(MORE_ROLE)
        if more:
            font = small_font(drawn.font)
            painter.setFont(font)
            painter.setPen(muted)
            below = place.adjusted(0, height + _BETWEEN, 0, 0)
            if self._small_height(font, str(more)) > QFontMetrics(font).height():
                painter.drawText(below, int(side | Qt.AlignmentFlag.AlignTop) | _WRAP, str(more))
            else:
                self._draw(painter, below, side, str(more))
        painter.restore()

    def _small_height(self, font: QFont, text: str) -> int:
        metrics = QFontMetrics(font)
        wanted = metrics.boundingRect(QRect(0, 0, self.width, 10_000), _WRAP, text).height()
        return min(wanted, 2 * metrics.lineSpacing())

    def _draw(self, painter: QPainter, place: QRect, side: Qt.AlignmentFlag, text: str) -> None:
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, place.width())
        painter.drawText(place, int(side | Qt.AlignmentFlag.AlignVCenter), shown)

    def sizeHint(  # noqa: N802 - Qt's
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        metrics = QFontMetrics(option.font)
        width, height = metrics.horizontalAdvance(str(index.data() or "")), metrics.height()
        more = index.data(MORE_ROLE)
        if more:
            small = QFontMetrics(small_font(option.font))
            width = max(width, small.horizontalAdvance(str(more)))
            height += _BETWEEN + self._small_height(small_font(option.font), str(more))
        return QSize(width + 2 * _PAD_X + 2, height + 2 * _PAD_Y)


def small_font(font: QFont) -> QFont:
    """Return the same font, as small as captions are."""
    small = QFont(font)
    if font.pointSizeF() > 0:
        small.setPointSizeF(font.pointSizeF() * _SMALL)
    else:
        small.setPixelSize(max(1, round(font.pixelSize() * _SMALL)))
    return small


class Picker(QComboBox):
    """Show a list to choose from; a passing wheel does not change it. Signal: chosen(data).

    Attribute: shows_whole (it would like as much room as what is chosen takes).
    """

    chosen = Signal(object)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setToolTip(name)
        self._lines = PickerLines(self)
        self.setModel(self._lines)
        self.setMaxVisibleItems(16)
        # The combo box's own delegate draws menu items, and those never look greyed.
        self._delegate = ChoiceDelegate(self)
        self.setItemDelegate(self._delegate)
        self.view().setTextElideMode(Qt.TextElideMode.ElideRight)
        self.view().setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.view().installEventFilter(self)
        self._typed, self._typed_at = "", 0.0
        container = self.view().parentWidget()
        if isinstance(container, QFrame):
            container.setFrameShape(QFrame.Shape.NoFrame)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.activated.connect(lambda _index: self.chosen.emit(self.currentData(PATH_ROLE)))
        self._shown: object = None
        self._chosen: object = None
        self._waiting: Callable[[], None] | None = None
        self.shows_whole = False
        self.currentTextChanged.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the room for the chosen line, or for a few letters."""
        hint = super().sizeHint()
        if not self.shows_whole:
            return hint
        metrics = self.fontMetrics()
        frame = hint.width() - self.minimumContentsLength() * metrics.horizontalAdvance("X")
        text = metrics.horizontalAdvance(self.currentText() or self.placeholderText())
        return QSize(max(hint.width(), text + frame + 8), hint.height())

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Leave the wheel to the widget below."""
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Cut a long text with an ellipsis, which a style sheet otherwise forgets."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        room = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        )
        text = option.currentText or self.placeholderText()
        option.currentText = shortened(text, self.fontMetrics(), room.width() - 4)
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def showPopup(self) -> None:  # noqa: N802 - Qt's name
        """Open the list, as wide as its lines, as far as there is room."""
        # Of so many lines some are long; to measure them all would be felt.
        wanted = _POPUP_MOST if self.count() > _MANY else self.view().sizeHintForColumn(0) + _AROUND
        most = min(_POPUP_MOST, max(self.window().width() - 32, self.width()))
        width = max(self.width(), min(wanted, most))
        self.view().setMinimumWidth(width)
        if self._delegate.width != width - _AROUND:
            self._delegate.width = width - _AROUND
            self.view().doItemsLayout()
        super().showPopup()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Move to the first and the last enabled line, and to the next one that contains the typed letters.

        Once the list is hidden, by whatever closes it, show what changed meanwhile.
        """
        if watched is self.view() and event.type() == QEvent.Type.Hide and self._waiting is not None:
            # Not at once: Qt has still to say which line was chosen.
            QTimer.singleShot(0, self, self._catch_up)
        if watched is self.view() and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            text = event.text()
            if event.key() in (Qt.Key.Key_Home, Qt.Key.Key_End):
                rows = range(self.count())
                return self._go_to(rows if event.key() == Qt.Key.Key_Home else rows[::-1])
            if text.isprintable() and text and not event.modifiers() & ~Qt.KeyboardModifier.ShiftModifier:
                return self._seek(text)
        return super().eventFilter(watched, event)

    def _seek(self, text: str) -> bool:
        """Move to the next line with the letters typed just now: models of one family begin alike."""
        now = monotonic()
        goes_on = now - self._typed_at < _TYPING_S
        if text == " " and not (goes_on and self._typed):
            return False
        self._typed = (self._typed if goes_on else "") + text.casefold()
        self._typed_at = now
        here = max(self.view().currentIndex().row(), 0)
        first = here if len(self._typed) > 1 else here + 1
        rows = [(first + step) % self.count() for step in range(self.count())]
        return self._go_to(row for row in rows if self._typed in self.itemText(row).casefold()) or True

    def _go_to(self, rows: Iterable[int]) -> bool:
        """Move to the first of these lines that is enabled."""
        for row in rows:
            index = self._lines.index(row, 0)
            if self._lines.flags(index) & Qt.ItemFlag.ItemIsEnabled:
                self.view().setCurrentIndex(index)
                self.view().scrollTo(index)
                return True
        return False

    def hidePopup(self) -> None:  # noqa: N802 - Qt's name
        super().hidePopup()
        settle_hover(self)

    def _catch_up(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting()

    def refill(self) -> None:
        """Show the line again that is chosen, in place of one that only asks for something."""
        self.setCurrentIndex(self._lines.place_of(self._chosen))

    def fill(
        self,
        choices: Sequence[PickerLine],
        chosen: object,
        missing: str,
        *,
        words: Callable[[PickerLine], PickerLine] | None = None,
    ) -> None:
        """Show these lines; those with a problem are greyed and say it. `missing`: shown where none is chosen.

        `words`: gives a line its words, where it has none yet. What only memory is too short for looks greyed too, but
        can be chosen: the load is announced. While the list is open it stays as it is.
        """
        self._waiting = None
        if self.view().isVisible():
            self._waiting = partial(self.fill, choices, chosen, missing, words=words)
            return
        state = (tuple(choices), chosen)
        if state == self._shown:
            return
        self._shown, self._chosen = state, chosen
        self._lines.show(choices, words)
        self.setCurrentIndex(self._lines.place_of(chosen))
        self.setPlaceholderText(missing)
